//! The tools of an agent, and how their calls are carried out.
mod receipt;

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use fugato_graph::{BoxError, Context, Effect, EffectError, Meter, Note, digest};
use fugato_state::{Question, State, ToolCall, ToolSchema};
use fugato_stream::EventKind;
use fugato_tool::{
    Access, Admitted, Called, ConfirmCard, Detail, GateChain, GatePolicy, GatedCall, InDoubt,
    Registry, Round, ToolContext, ToolFailure, ToolResult, Verdict, Visibility,
};
use serde_json::Value;

use receipt::Receipt;

/// The tools of an agent, and under which conditions their calls are carried out.
///
/// A round of calls is judged on the state at the start of the step: is the tool visible, do the
/// arguments fit, what do the gates say. What a gate wants confirmed is asked of a person before
/// anything of the round is done. Then the calls run as a [`Round`] runs them, each through an
/// effect of its tool's class.
///
/// *Contract*
/// - **paired**: every call has exactly one result, in the order of the calls.
/// - **no guess**: a call that was carried out is not carried out again, whatever died in between.
/// - **no hole**: what is refused, blocked, declined, late or broken is a result, too.
/// - **in order**: a write sees what the writes before it in the same round have changed.
pub struct Toolbox<S: State> {
    registry: Registry<S, S::Update>,
    gates: Arc<GateChain<S>>,
    visible: Option<Arc<Visible<S>>>,
    key: Option<Arc<Key<S>>>,
    confirm: Option<Arc<Confirm<S>>>,
    live: bool,
}

type Confirm<S> = dyn Fn(&S, &ToolCall) -> bool + Send + Sync;
type Visible<S> = dyn Fn(&S) -> Visibility + Send + Sync;
type Key<S> = dyn Fn(&S, &ToolCall) -> String + Send + Sync;

/// How far the calls of a round came.
#[derive(Debug)]
#[non_exhaustive]
pub enum Carried<U> {
    /// Nothing was done yet: a person has to agree to these first. The node returns them as what
    /// it asks, and is called again with the answers.
    Asks(Vec<Question>),
    /// Every call has its result, in the order of the calls.
    Done(Vec<Called<U>>),
}

/// How long an action may take whose tool sets no limit.
const PATIENCE: Duration = Duration::from_secs(30);
/// A tool's own limit strikes first: it knows what late means.
const GRACE: Duration = Duration::from_secs(1);

impl<S: State> Toolbox<S> {
    /// These tools, without gates.
    pub fn new(registry: Registry<S, S::Update>) -> Self {
        Self {
            registry,
            gates: Arc::new(GateChain::new()),
            visible: None,
            key: None,
            confirm: None,
            live: false,
        }
    }

    /// What has to be asked before a call is carried out.
    #[must_use]
    pub fn gates(mut self, gates: GateChain<S>) -> Self {
        self.gates = Arc::new(gates);
        self
    }

    /// Where it says which tools are visible. Without it, those that belong to no domain are.
    #[must_use]
    pub fn visible(mut self, visible: impl Fn(&S) -> Visibility + Send + Sync + 'static) -> Self {
        self.visible = Some(Arc::new(visible));
        self
    }

    /// Like [`visible`](Self::visible), if nobody said so before.
    #[must_use]
    pub(crate) fn or_visible(
        mut self,
        visible: impl Fn(&S) -> Visibility + Send + Sync + 'static,
    ) -> Self {
        self.visible.get_or_insert_with(|| Arc::new(visible));
        self
    }

    /// What an action is called in the whole thread. Whoever performs an action of this name later,
    /// in another task, another graph or another run, is given its receipt. Without it, an action
    /// belongs to its call, and only attempts of one task share it.
    ///
    /// The same name with other arguments is an error.
    #[must_use]
    pub fn keyed_by(
        mut self,
        key: impl Fn(&S, &ToolCall) -> String + Send + Sync + 'static,
    ) -> Self {
        self.key = Some(Arc::new(key));
        self
    }

    /// Has a person agree to the calls that this names, beside those that the gates name.
    #[must_use]
    pub fn confirm_if(
        mut self,
        confirm: impl Fn(&S, &ToolCall) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.confirm = Some(Arc::new(confirm));
        self
    }

    /// What tools that read bring holds for the moment only, so it must not be found again later.
    ///
    /// Planned work that is [looking](crate::plan::PlannedWork::looking) keeps what was looked at up
    /// to date, so its steps and observations say no more than that it was looked up; and why a step
    /// was refused is left out of them once a person was waited for. In a loop of model and tools,
    /// what was read is left out of the conversation once something was to be written: a person may
    /// have been waited for, and the world is another. Events tell what was read then.
    #[must_use]
    pub fn live_reads(mut self) -> Self {
        self.live = true;
        self
    }

    pub(crate) fn has_live_reads(&self) -> bool {
        self.live
    }

    /// The registry.
    pub fn registry(&self) -> &Registry<S, S::Update> {
        &self.registry
    }

    /// What a model server is told about the tools that are visible now.
    pub fn schemas(&self, state: &S) -> Vec<ToolSchema> {
        self.registry.schemas(&self.visibility(state))
    }

    /// What is visible now: a digest of what a model server is told of each tool, by name.
    pub fn fingerprints(&self, state: &S) -> BTreeMap<String, String> {
        let of = |schema: ToolSchema| {
            let told = serde_json::to_vec(&schema).unwrap_or_default();
            (schema.name, digest(&told))
        };
        self.schemas(state).into_iter().map(of).collect()
    }

    /// The same as text, for a prompt.
    pub fn catalogue(&self, state: &S, detail: Detail) -> String {
        self.registry.catalogue(&self.visibility(state), detail)
    }

    /// The call as the tool knows it, if it may be called now: the one to store and to show.
    pub fn canonical(&self, call: ToolCall, state: &S) -> ToolCall {
        match self.registry.admit(&call, &self.visibility(state)) {
            Ok(admitted) => admitted.call().clone(),
            Err(_) => call,
        }
    }

    /// The calls as they are judged on this state, before anything is asked or done.
    pub fn round(&self, calls: &[ToolCall], state: &S) -> Round<S, S::Update> {
        let round = self.registry.round(calls, &self.visibility(state));
        let round = round.judged(&*self.gates, state);
        match &self.confirm {
            None => round,
            Some(confirm) => round.judged(&asks(&**confirm), state),
        }
    }

    /// What a tool does to its state; none if there is no such tool, or it is not visible.
    pub fn access(&self, tool: &str, state: &S) -> Option<Access> {
        let visibility = self.visibility(state);
        let mut visible = self.registry.visible(&visibility);
        visible
            .find(|spec| spec.name == tool || spec.aliases.iter().any(|alias| alias == tool))
            .map(|spec| spec.access)
    }

    /// Returns whether there is a tool now that writes.
    pub(crate) fn can_write(&self, state: &S) -> bool {
        let visibility = self.visibility(state);
        let mut visible = self.registry.visible(&visibility);
        visible.any(|spec| spec.access == Access::Write)
    }

    /// Carries out the calls of a round, or says what has to be asked before.
    ///
    /// The node's own task is the address of what is done: called again, it finds the receipts.
    pub async fn carry_out(
        &self,
        cx: &Context<S>,
        calls: &[ToolCall],
    ) -> Result<Carried<S::Update>, BoxError> {
        let mut round = self.round(calls, cx.state());
        let cards: Vec<ConfirmCard> = round.cards().cloned().collect();
        let mut questions = vec![];
        for card in cards {
            let id = &card.call.id;
            let question = question(&card)?;
            match agreed(cx, &question, id).await? {
                Some(true) => _ = round.approve(id),
                Some(false) => _ = round.decline(id, DECLINED),
                None => questions.push(question),
            }
        }
        if !questions.is_empty() {
            return Ok(Carried::Asks(questions));
        }
        let sight = Sight::of(cx);
        let done = round.run(|admitted| self.act(cx, &sight, admitted)).await?;
        // What was settled without being carried out begins and ends for the reader, too.
        let settled = done.iter().filter(|called| !sight.began(&called.call.id));
        settled.for_each(|called| began(cx, &called.call, String::new()));
        Ok(Carried::Done(done))
    }

    /// Carries one call out, as often as the class of its tool allows.
    async fn act(
        &self,
        cx: &Context<S>,
        sight: &Sight<S>,
        admitted: Admitted<S, S::Update>,
    ) -> Result<ToolResult<S::Update>, BoxError> {
        let call = admitted.call().clone();
        cx.spend(Meter::ToolCalls, 1);
        sight.begin(&call.id);
        began(cx, &call, admitted.preview());
        let limit = admitted.spec().timeout.map(|limit| limit + GRACE);
        let mut effect = Effect::from(admitted.spec().effect).timeout(limit.unwrap_or(PATIENCE));
        let state = sight.now();
        let key = match &self.key {
            Some(key) => {
                effect = effect.whole_thread();
                key(&state, &call)
            }
            None => call.id.clone(),
        };
        // What is done has the name and the arguments of the call; its id only says who asked.
        let input = (call.name, call.arguments);
        let visibility = self.visibility(&state);
        let action = move |key: String| async move {
            let cx = ToolContext::new(&*state)
                .visibility(&visibility)
                .idempotency_key(&key);
            admitted.act(cx).await.map(Receipt::Result)
        };
        let result = match cx.effect(key, effect, &input, action).await {
            Ok(receipt) => ToolResult::from(receipt),
            // A result would be kept, and this is none.
            Err(EffectError::Failed { source, .. }) if is_unsettled(&source) => return Err(source),
            Err(EffectError::Failed { source, .. }) => {
                ToolFailure::failed(source.to_string()).into()
            }
            Err(other) => return Err(other.into()),
        };
        sight.after(&result.updates)?;
        Ok(result)
    }

    fn visibility(&self, state: &S) -> Visibility {
        let visible = self.visible.as_ref();
        visible.map_or_else(Visibility::new, |visible| visible(state))
    }
}

/// A gate that asks for consent where the state says so.
fn asks<S>(confirm: &Confirm<S>) -> impl GatePolicy<S> {
    move |gated: &GatedCall<'_>, state: &S| {
        if !confirm(state, gated.call) {
            return Verdict::Allow;
        }
        Verdict::NeedConfirm(ConfirmCard::of(gated))
    }
}

/// What the next call of a round sees, and which calls there were.
struct Sight<S>(Mutex<(Arc<S>, HashSet<String>)>);

impl<S: State> Sight<S> {
    fn of(cx: &Context<S>) -> Self {
        Self(Mutex::new((cx.snapshot(), HashSet::new())))
    }

    fn lock(&self) -> MutexGuard<'_, (Arc<S>, HashSet<String>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, call: &str) {
        self.lock().1.insert(call.to_owned());
    }

    fn began(&self, call: &str) -> bool {
        self.lock().1.contains(call)
    }

    fn now(&self) -> Arc<S> {
        Arc::clone(&self.lock().0)
    }

    fn after(&self, updates: &[S::Update]) -> Result<(), serde_json::Error> {
        if updates.is_empty() {
            return Ok(());
        }
        let mut next = S::clone(&self.now());
        for update in updates {
            // Updates need not be cloneable; each can be written and read.
            next.apply(serde_json::from_value(serde_json::to_value(update)?)?);
        }
        self.lock().0 = Arc::new(next);
        Ok(())
    }
}

fn began<S: State>(cx: &Context<S>, call: &ToolCall, preview: String) {
    cx.emit(EventKind::ToolStarted {
        call: call.id.clone(),
        name: call.name.clone(),
        preview,
    });
}

/// What the reader of the stream is told of a call that was answered.
pub fn finished<U>(called: &Called<U>) -> Note {
    Note(EventKind::ToolFinished {
        call: called.call.id.clone(),
        name: called.call.name.clone(),
        status: called.result.status,
        summary: called.result.summary.clone(),
        result: Some(Value::String(called.result.text.clone())),
    })
}

/// Whether calling again under the same key finds out what became of a call.
fn is_unsettled(error: &BoxError) -> bool {
    let doubt = error.downcast_ref::<InDoubt>();
    doubt.is_some_and(|doubt| doubt.failure.unsettled)
}

/// The result of a call that a person did not agree to.
pub(crate) const DECLINED: &str = "the person does not agree; do not try it again without asking";

/// Whether the person agreed to what this card shows. What would come of the call may have changed
/// since, and is asked anew then; but not of what was done already, or may have been.
async fn agreed<S: State>(
    cx: &Context<S>,
    question: &Question,
    call: &String,
) -> Result<Option<bool>, serde_json::Error> {
    let consent = cx.consent::<bool>(question)?;
    if consent.is_none()
        && cx.answer::<bool>(&question.key)? == Some(true)
        && cx.deeds().await.contains(call)
    {
        return Ok(Some(true));
    }
    Ok(consent)
}

fn question_key(call: &str) -> String {
    format!("confirm/{call}")
}

/// What the person agrees to has a digest: an answer that approves something else is refused.
fn question(card: &ConfirmCard) -> Result<Question, serde_json::Error> {
    let prompt = serde_json::to_value(card)?;
    let shown = digest(prompt.to_string().as_bytes());
    let key = question_key(&card.call.id);
    Ok(Question::new::<bool>(key, prompt).digest(shown))
}

impl<S: State> Clone for Toolbox<S> {
    fn clone(&self) -> Self {
        Self {
            registry: self.registry.clone(),
            gates: Arc::clone(&self.gates),
            visible: self.visible.clone(),
            key: self.key.clone(),
            confirm: self.confirm.clone(),
            live: self.live,
        }
    }
}

impl<S: State> fmt::Debug for Toolbox<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox")
            .field("registry", &self.registry)
            .field("gates", &self.gates)
            .finish_non_exhaustive()
    }
}
