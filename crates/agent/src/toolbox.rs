//! The tools of an agent, and the execution of their calls.
//!
//! A [`Toolbox`] joins a registry of tools with gates, visibility and keys, and carries out rounds
//! of calls in effects, so that a crash repeats nothing. Loops, plans and sequences call through
//! it; a node of your own calls [`Toolbox::execute`], and [`Toolbox::one_call`] is a node for one
//! call. A [`ToolUse`] is what a state keeps of a call.
mod agreement;
mod gate;
mod receipt;
mod round_state;
mod tool_use;

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc, time::Duration};

use fugato_graph::{BoxError, BudgetUnit, Context, Effect, EffectError, Outcome, digest};
use fugato_state::{Lang, Question, State, ToolCall, ToolSchema};
use fugato_stream::EventKind;
use fugato_tool::{
    Access, AdmittedCall, AnsweredCall, CatalogueDetail, ConfirmCard, GateChain, GatePolicy,
    GatedCall, Refusal, Registry, Round, ToolContext, ToolFailure, ToolResult, ToolSpec,
    UnknownOutcome, Verdict, Visibility,
};
use serde_json::Value;

use receipt::Receipt;
use round_state::{RoundEnd, RoundState};

pub use tool_use::{ToolUse, for_people};

/// The tools of an agent, with the conditions for their calls.
///
/// A round of calls is judged on the state at the start of the step: visibility of the tool,
/// validity of the arguments, and verdicts of the gates. Calls that a gate wants confirmed are put
/// to a person before any call of the round runs. Then the calls run as a [`Round`] runs them, each
/// in an effect of its tool's class. A tool that [asks](fugato_tool::ToolOutput::ask) parks the
/// thread: the calls after it wait for the answer, and those before it keep their results.
///
/// *Contract*
/// - **paired**: every call has exactly one result, in the order of the calls.
/// - **no guess**: a call that was carried out is not carried out again after a crash.
/// - **asked once**: a call to which a person agreed, and that has begun, is not asked about anew after
///   a crash.
/// - **no hole**: a call that is refused, blocked, declined, late or broken has a result, too.
/// - **in order**: a write sees the updates of the earlier writes in the same round.
#[derive_where::derive_where(Clone)]
#[derive(derive_more::Debug)]
#[debug("Toolbox {{ registry: {registry:?}, gates: {gates:?}, .. }}")]
pub struct Toolbox<S: State> {
    registry: Registry<S, S::Update>,
    gates: Arc<GateChain<S>>,
    visible: Option<Arc<VisibleTools<S>>>,
    key: Option<Arc<Key<S>>>,
    user: Option<Arc<User<S>>>,
    confirm: Option<Arc<Confirm<S>>>,
    preview: Option<Arc<Preview<S>>>,
    live: bool,
}

type Confirm<S> = dyn Fn(&S, &ToolCall) -> bool + Send + Sync;
type Preview<S> = dyn Fn(&S, &ToolCall) -> Option<String> + Send + Sync;
type VisibleTools<S> = dyn Fn(&S) -> Visibility + Send + Sync;
type Key<S> = dyn Fn(&S, &ToolCall) -> String + Send + Sync;
type User<S> = dyn Fn(&S) -> Option<String> + Send + Sync;

/// The default timeout of an action.
const PATIENCE: Duration = Duration::from_secs(30);
/// The grace period after a tool's own timeout, which comes first and has the better error.
const GRACE: Duration = Duration::from_secs(1);

impl<S: State> Toolbox<S> {
    /// Creates a toolbox of these tools, without gates.
    pub fn new(registry: Registry<S, S::Update>) -> Self {
        Self {
            registry,
            gates: Arc::new(GateChain::new()),
            visible: None,
            key: None,
            user: None,
            confirm: None,
            preview: None,
            live: false,
        }
    }

    fugato_state::setters! {
        /// Sets the gates of the calls.
        pub fn gates(gates: GateChain<S>) { gates = Arc::new(gates) }

        /// Sets the visibility by the state. Without it, the tools that belong to no domain are
        /// visible.
        pub fn visible(visible: impl Fn(&S) -> Visibility + Send + Sync + 'static) {
            visible = Some(Arc::new(visible))
        }

        /// Does the same as [`visible`](Self::visible), unless that was set before.
        pub(crate) fn or_visible(visible: impl Fn(&S) -> Visibility + Send + Sync + 'static) {
            visible.get_or_insert_with(|| Arc::new(visible))
        }

        /// Sets the user on whose behalf the tools are called, by the state: what
        /// [`ToolContext::user_id`] returns. A loop of model and tools knows the user of its
        /// [`RunContext`](fugato_state::RunContext).
        pub fn user(user: impl Fn(&S) -> Option<String> + Send + Sync + 'static) {
            user = Some(Arc::new(user))
        }

        /// Does the same as [`user`](Self::user), unless that was set before.
        pub(crate) fn or_user(user: impl Fn(&S) -> Option<String> + Send + Sync + 'static) {
            user.get_or_insert_with(|| Arc::new(user))
        }

        /// Sets the key of an action in the whole thread. A later action with the same key, in
        /// another task, graph or run, gets the stored receipt. Without it, an action belongs to
        /// its call, and only the attempts of one task share it.
        ///
        /// The same key with other arguments is an error.
        pub fn keyed_by(key: impl Fn(&S, &ToolCall) -> String + Send + Sync + 'static) {
            key = Some(Arc::new(key))
        }

        /// Requires confirmation of the calls for which this function returns true, in addition to
        /// the gates.
        pub fn confirm_if(confirm: impl Fn(&S, &ToolCall) -> bool + Send + Sync + 'static) {
            confirm = Some(Arc::new(confirm))
        }

        /// Sets the line about a call that begins, for the person. Without it, or if it returns
        /// none, the line is that of the tool.
        pub fn preview(
            preview: impl Fn(&S, &ToolCall) -> Option<String> + Send + Sync + 'static,
        ) {
            preview = Some(Arc::new(preview))
        }
    }

    /// Marks the results of reads as valid only at the moment, so they must not be used later.
    ///
    /// Planned work that is [looking](crate::plan::PlannedWork::looking) keeps these facts up to
    /// date, so its steps and observations only say that a look was taken; and the reasons of
    /// refused steps are removed after a wait for a person. In a loop of model and tools, the
    /// results of reads are removed from the conversation once something was to be written: there
    /// may have been a wait for a person, and the facts may have changed. Events keep the results
    /// of that time.
    #[must_use]
    pub fn live_reads(mut self) -> Self {
        self.live = true;
        self
    }

    pub(crate) fn has_live_reads(&self) -> bool {
        self.live
    }

    /// Returns the registry.
    pub fn registry(&self) -> &Registry<S, S::Update> {
        &self.registry
    }

    /// Returns the schemas of the visible tools, for a model server.
    pub fn schemas(&self, state: &S) -> Vec<ToolSchema> {
        self.registry.schemas(&self.visibility(state))
    }

    /// Returns a digest of the schema of each visible tool, by name.
    pub fn fingerprints(&self, state: &S) -> BTreeMap<String, String> {
        let of = |schema: ToolSchema| {
            let told = serde_json::to_vec(&schema).unwrap_or_default();
            (schema.name, digest(&told))
        };
        self.schemas(state).into_iter().map(of).collect()
    }

    /// Returns the visible tools as text, for a prompt.
    pub fn catalogue(&self, state: &S, detail: CatalogueDetail) -> String {
        self.registry.catalogue(&self.visibility(state), detail)
    }

    /// Returns the call with its canonical name and arguments, for storage and display; a call that
    /// is not allowed now is returned unchanged.
    pub fn canonical(&self, call: ToolCall, state: &S) -> ToolCall {
        match self.registry.admit(&call, &self.visibility(state)) {
            Ok(admitted) => admitted.call().clone(),
            Err(_) => call,
        }
    }

    /// Returns a call as it would be carried out on this state, and the verdict of the gates, before
    /// anything is asked or done. A node that asks the person by the wiring keeps the call in its
    /// state with the answer, and a gate that knows the answer allows it later.
    ///
    /// # Errors
    /// The reason why the call is invalid as it is, for the model.
    pub fn admit(
        &self,
        call: &ToolCall,
        state: &S,
    ) -> Result<(AdmittedCall<S, S::Update>, Verdict), Refusal> {
        let admitted = self.registry.admit(call, &self.visibility(state))?;
        let verdict = match (admitted.judged(&*self.gates, state), &self.confirm) {
            (Verdict::Allow, Some(confirm)) => admitted.judged(&asks(&**confirm), state),
            (verdict, _) => verdict,
        };
        Ok((admitted, verdict))
    }

    /// Returns the calls as judged on this state, before anything is asked or done.
    pub fn round(&self, calls: &[ToolCall], state: &S) -> Round<S, S::Update> {
        self.judged(self.registry.round(calls, &self.visibility(state)), state)
    }

    fn judged(&self, round: Round<S, S::Update>, state: &S) -> Round<S, S::Update> {
        let round = round.judged(&*self.gates, state);
        match &self.confirm {
            None => round,
            Some(confirm) => round.judged(&asks(&**confirm), state),
        }
    }

    /// Returns the access of a tool; none if there is no such tool, or it is not visible.
    pub fn access(&self, tool: &str, state: &S) -> Option<Access> {
        let visibility = self.visibility(state);
        let mut visible = self.registry.visible(&visibility);
        visible
            .find(|spec| spec.name == tool || spec.aliases.iter().any(|alias| alias == tool))
            .map(|spec| spec.access)
    }

    /// Returns what people call what a tool does, in the language that is spoken now.
    pub fn title(&self, tool: &str) -> Option<&str> {
        self.registry.spec(tool).map(ToolSpec::title)
    }

    /// Returns true if a tool that writes is visible.
    pub(crate) fn can_write(&self, state: &S) -> bool {
        let visibility = self.visibility(state);
        let mut visible = self.registry.visible(&visibility);
        visible.any(|spec| spec.access == Access::Write)
    }

    /// Carries out the calls of a round, and continues with their results, in the order of the
    /// calls. If a person has to confirm some of them first, nothing is done, and it breaks with
    /// the questions: the outcome that the node returns. The node is called again with the answers.
    /// It breaks with the question of a tool, too; what was done by then is not done again.
    ///
    /// Effects are keyed within the node's own task: a repeated call of this method gets the
    /// receipts.
    pub async fn execute(
        &self,
        cx: &Context<S>,
        calls: &[ToolCall],
    ) -> Result<ControlFlow<Outcome<S::Update>, Vec<AnsweredCall<S::Update>>>, BoxError> {
        let round = self.registry.round(calls, &self.visibility(cx.state()));
        let mut round = self.judged(self.resumed(cx, round).await?, cx.state());
        let cards: Vec<ConfirmCard> = round.cards().cloned().collect();
        let (sight, mut questions) = (RoundState::of(cx), vec![]);
        for card in cards {
            let id = &card.call.id;
            let question = question(&card)?;
            match cx.consent::<bool>(&question)? {
                Some(true) => _ = round.approve(id),
                Some(false) => _ = round.decline(id, declined()),
                None => questions.push(question),
            }
        }
        if !questions.is_empty() {
            return Ok(ControlFlow::Break(sight.asks(questions)?));
        }
        let done = match round.run(|admitted| self.act(cx, &sight, admitted)).await {
            Ok(done) => done,
            Err(RoundEnd::Asks) => return Ok(ControlFlow::Break(sight.asks(questions)?)),
            Err(RoundEnd::Failed(error)) => return Err(error),
        };
        // Calls that were settled without an effect begin and end in the stream, too.
        let settled = done.iter().filter(|called| !sight.began(&called.call.id));
        settled.for_each(|called| began(cx, &called.call, String::new()));
        Ok(ControlFlow::Continue(done))
    }

    /// Carries out one call, as often as the class of its tool allows.
    async fn act(
        &self,
        cx: &Context<S>,
        sight: &RoundState<S>,
        admitted: AdmittedCall<S, S::Update>,
    ) -> Result<ToolResult<S::Update>, RoundEnd> {
        let call = admitted.call().clone();
        sight.begin(&call.id);
        let preview = self.preview.as_ref();
        let preview = preview.and_then(|preview| preview(cx.state(), &call));
        began(cx, &call, preview.unwrap_or_else(|| admitted.preview()));
        let result = match sight.known(&call.id)? {
            Some(result) => result,
            None => self.execute_as_effect(cx, sight, admitted, &call).await?,
        };
        sight.settle(cx, &call.id, result)
    }

    async fn execute_as_effect(
        &self,
        cx: &Context<S>,
        sight: &RoundState<S>,
        admitted: AdmittedCall<S, S::Update>,
        call: &ToolCall,
    ) -> Result<ToolResult<S::Update>, BoxError> {
        let agreed = admitted.agreed_version().map(str::to_owned);
        self.record_agreement(cx, call, agreed).await?;
        cx.spend(BudgetUnit::ToolCalls, 1);
        let limit = admitted.spec().timeout.map(|limit| limit + GRACE);
        let mut effect = Effect::from(admitted.spec().effect).timeout(limit.unwrap_or(PATIENCE));
        let state = sight.now();
        let key = match &self.key {
            Some(key) => {
                effect = effect.whole_thread();
                key(&state, call)
            }
            None => call.id.clone(),
        };
        // An effect is identified by the name and the arguments of the call, not by its id.
        let input = (&call.name, &call.arguments);
        let visibility = self.visibility(&state);
        let user = self.user.as_ref().and_then(|user| user(&state));
        let thread = cx.thread().clone();
        let action = move |key: String| async move {
            let mut cx = ToolContext::new(&*state)
                .visibility(&visibility)
                .thread(&thread)
                .idempotency_key(&key);
            if let Some(user) = &user {
                cx = cx.user(user);
            }
            admitted.act(cx).await.map(Box::new).map(Receipt::Result)
        };
        match cx.effect(key, effect, &input, action).await {
            Ok(receipt) => Ok(receipt.into()),
            // A result would be stored, and this call has none.
            Err(EffectError::Failed { source, .. }) if is_unsettled(&source) => Err(source),
            Err(EffectError::Failed { source, .. }) => {
                Ok(ToolFailure::failed(source.to_string()).into())
            }
            Err(other) => Err(other.into()),
        }
    }

    fn visibility(&self, state: &S) -> Visibility {
        let visible = self.visible.as_ref();
        visible.map_or_else(Visibility::new, |visible| visible(state))
    }
}

/// Returns a gate that requires confirmation by a function of the state.
fn asks<S>(confirm: &Confirm<S>) -> impl GatePolicy<S> {
    move |gated: &GatedCall<'_>, state: &S| {
        if !confirm(state, gated.call) {
            return Verdict::Allow;
        }
        Verdict::NeedConfirm(ConfirmCard::of(gated))
    }
}

fn began<S: State>(cx: &Context<S>, call: &ToolCall, preview: String) {
    cx.emit(EventKind::ToolStarted {
        call: call.id.clone(),
        name: call.name.clone(),
        preview,
    });
}

/// Returns the event of a finished call, as a note.
pub fn finished<U>(called: &AnsweredCall<U>) -> EventKind {
    EventKind::ToolFinished {
        call: called.call.id.clone(),
        name: called.call.name.clone(),
        status: called.result.status,
        summary: called.result.summary.clone(),
        result: Some(Value::String(called.result.text.clone())),
    }
}

/// Returns true if a repeated call with the same key can find out the result.
fn is_unsettled(error: &BoxError) -> bool {
    let doubt = error.downcast_ref::<UnknownOutcome>();
    doubt.is_some_and(|doubt| doubt.failure.unsettled)
}

/// The result of a call that a person did not agree to, in both languages.
const DECLINED: [&str; 2] = [
    "the person does not agree; do not try it again without asking",
    "用户没有同意；没有再问过就不要再试",
];

/// Returns the result of a call that a person did not agree to.
pub(crate) fn declined() -> &'static str {
    let [en, zh] = DECLINED;
    Lang::current().pick(en, zh)
}

/// Returns true for the result of a call that a person did not agree to.
pub fn is_declined(result: &str) -> bool {
    DECLINED.contains(&result)
}

fn question_key(call: &str) -> String {
    format!("confirm/{call}")
}

/// Returns the question for a card, with a digest: an answer to another card is refused.
fn question(card: &ConfirmCard) -> Result<Question, serde_json::Error> {
    let prompt = serde_json::to_value(card)?;
    let shown = digest(prompt.to_string().as_bytes());
    let key = question_key(&card.call.id);
    Ok(Question::new::<bool>(key, prompt).digest(shown))
}
