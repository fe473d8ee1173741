//! The endpoints without their wire: requests become runs, and runs become answers.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    Answers, Graph, RunError, RunResult, Runner, RunnerOptions,
    agent::fallback::{FallbackStep, GraphFallback},
    axum::{Caller, Consent, UserMessage, consent},
    graph::{Attribution, BoxError, Run, RunErrorKind, RunFallback, ThreadStatus},
    state::{Interrupt, InterruptId, State as _, ThreadId, say},
    store::ThreadStore,
    words::Phrases,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    answer::under_a_card,
    card::CardReply,
    deps::Deps,
    graph,
    ledger::LedgerError,
    legacy,
    response::Response,
    state::{Request, RequestKind, Runtime, Steward, Update},
};

/// Takes requests, and answers them. Cheap to clone.
#[derive(derive_more::Debug, Clone)]
#[debug("Clerk {{ runtime: {runtime:?}, .. }}")]
pub struct StewardService {
    deps: Deps,
    runtime: Runtime,
    graph: Runner<Steward>,
    legacy: Runner<Steward>,
}

/// A person's consent to a card, or their refusal: it names the interrupt of the server and the
/// digest of what was shown. Nothing else is a confirmation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// The question: `pending_interrupt.id`.
    pub interrupt_id: String,
    /// The digest of what was shown: `pending_interrupt.digest`.
    pub digest: String,
    /// True if they agree, which is the default.
    #[serde(default = "yes")]
    pub approved: bool,
}

fn yes() -> bool {
    true
}

/// A request is not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClerkError {
    /// It cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// The conversation belongs to another employee.
    #[error("{}", say!(
        "this conversation is about somebody else's documents: only they can go on with it",
        "这个会话属于别人的单据：只有本人可以继续"
    ))]
    SomebodyElses,
    /// Another action waits for a person first.
    #[error("{}", say!(
        "an action of this conversation waits for a person: confirm it, or cancel it",
        "这个会话有一个操作在等待确认：请先确认或取消"
    ))]
    Waiting {
        /// The open interrupts.
        pending: Vec<Interrupt>,
    },
    /// The documents cannot be looked up.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// It did not go well.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The answer cannot be written.
    #[error("{}", say!("the answer cannot be written", "无法写出回答"))]
    Answer(#[from] serde_json::Error),
}

impl StewardService {
    /// Creates a clerk over a store of threads.
    pub fn new<T: ThreadStore + 'static>(
        deps: &Deps,
        store: &Arc<T>,
        options: &RunnerOptions,
        runtime: Runtime,
    ) -> Result<Self, BoxError> {
        let run = |graph| Runner::new(graph, store.clone()).options(options.clone());
        Self::over(deps, runtime, run)
    }

    /// Creates a clerk over any runners of the graphs; both paths have to run on the same log.
    pub fn over(
        deps: &Deps,
        runtime: Runtime,
        run: impl Fn(Graph<Steward>) -> Runner<Steward>,
    ) -> Result<Self, BoxError> {
        let main = run(graph::target(deps)?);
        #[expect(
            deprecated,
            reason = "it stands in until the condition of its removal holds"
        )]
        let legacy = run(legacy::legacy(deps)?);
        let fell = |fall: &FallbackStep| Update::FellBack {
            reason: fall.reason.clone(),
        };
        Ok(Self {
            deps: deps.clone(),
            runtime,
            legacy: legacy.clone().fallback(OtherPath(main.clone())),
            graph: main.fallback(GraphFallback::graph("legacy", legacy).record(fell)),
        })
    }

    /// Returns the runner of its conversations.
    pub fn runner(&self) -> &Runner<Steward> {
        self.path(self.runtime)
    }

    /// Returns the path that is switched on.
    pub fn runtime(&self) -> Runtime {
        self.runtime
    }

    /// Returns the dependencies of its graphs.
    pub fn deps(&self) -> &Deps {
        &self.deps
    }

    /// Carries a request out, on the path that is switched on.
    pub async fn request(&self, thread: &ThreadId, request: Request) -> Result<Value, ClerkError> {
        self.on(self.runtime, thread).request(&request).await
    }

    /// Returns a conversation on this path, whatever is switched on.
    pub fn on<'a>(&'a self, runtime: Runtime, thread: &'a ThreadId) -> StewardThread<'a> {
        StewardThread {
            clerk: self,
            runner: self.path(runtime),
            thread,
        }
    }

    fn path(&self, runtime: Runtime) -> &Runner<Steward> {
        match runtime {
            Runtime::Graph => &self.graph,
            Runtime::Legacy => &self.legacy,
        }
    }
}

/// The path for answers to cards that it has raised itself. No failure comes to it.
struct OtherPath(Runner<Steward>);

#[async_trait]
impl RunFallback<Steward> for OtherPath {
    async fn take_over(
        &self,
        _: &Runner<Steward>,
        _: &ThreadId,
        error: RunError,
    ) -> Result<Run<Steward>, RunError> {
        Err(error)
    }

    fn backup(&self) -> Option<&Runner<Steward>> {
        Some(&self.0)
    }
}

/// A conversation, on one of the paths.
#[derive(derive_more::Debug)]
#[debug("Conversation {{ thread: {thread:?}, .. }}")]
pub struct StewardThread<'a> {
    clerk: &'a StewardService,
    runner: &'a Runner<Steward>,
    thread: &'a ThreadId,
}

impl StewardThread<'_> {
    /// Carries a request out. A repeat gets the result of the first request, whatever waits by now.
    pub async fn request(&self, request: &Request) -> Result<Value, ClerkError> {
        self.card(&request.employee).await?;
        if let Some(answer) = self.answered_before(request).await? {
            return Ok(answer);
        }
        let ended = match self.begin(request).await {
            Err(error) => match error.kind {
                RunErrorKind::Waiting { .. } => {
                    return self.runner.in_place(self.under_a_card(request)).await;
                }
                // It has answered a card since the check for that.
                RunErrorKind::RequestChanged { .. } => {
                    let answer = self.answered_before(request).await?;
                    return answer.ok_or_else(|| error.into());
                }
                // A crash has left an unfinished run: it is completed before another one begins.
                RunErrorKind::Unfinished => return self.recovered(request).await,
                RunErrorKind::FailedBefore { .. } => return self.again(request, error).await,
                _ => return Err(error.into()),
            },
            Ok(ended) => ended,
        };
        Ok(self.answer(&ended))
    }

    /// Carries an action out, and answers its question if the request has a confirmation.
    ///
    /// The first request gets a question, and nothing is written; the same request with a
    /// confirmation continues. A repeat of a completed request gets its result.
    pub async fn execute(
        &self,
        request: &Request,
        confirmation: Option<Confirmation>,
    ) -> Result<Value, ClerkError> {
        let is_action = matches!(request.kind, RequestKind::Execute { .. });
        if is_action && request.client_trace_id.is_empty() {
            return Err(ClerkError::Unusable(say!(
                "\"client_trace_id\" must name the request: a repeat has the same",
                "\"client_trace_id\" 必须为请求命名：重复的请求用同一个名字"
            )));
        }
        let answer = self.request(request).await?;
        let waits = answer
            .get("pending_interrupt")
            .is_some_and(|it| !it.is_null());
        match confirmation.filter(|_| waits) {
            Some(said) => self.confirm(&request.employee, said).await,
            None => Ok(answer),
        }
    }

    /// This employee has answered the question of an action, which has to be about them.
    pub async fn confirm(&self, employee: &str, said: Confirmation) -> Result<Value, ClerkError> {
        self.card(employee).await?;
        let reply = if said.approved {
            CardReply::approve()
        } else {
            CardReply::reject()
        };
        let sent = json!([&said.interrupt_id, said.approved]);
        let id = InterruptId(said.interrupt_id.into());
        let answers = Answers::none().approving(id, reply, said.digest)?;
        let answers = answers
            .by(Attribution::new(employee, "steward"))
            .keyed(name_of(&sent), &sent)?;
        let ended = self.runner.resume(self.thread, answers).await;
        Ok(self.answer(&ended?))
    }

    /// Completes the run that a crash has left, before another one begins. A card that it comes to
    /// has not been seen yet, so that no words of this request answer it.
    async fn recovered(&self, request: &Request) -> Result<Value, ClerkError> {
        self.runner.recover(self.thread).await?;
        let (state, pending) = self.card(&request.employee).await?;
        if let (Some(state), Some(card), true) = (state, pending.first(), is_said(request)) {
            return Ok(self.told(&state, Some(card)));
        }
        match self.begin(request).await {
            Err(error) if matches!(error.kind, RunErrorKind::Waiting { .. }) => {
                Err(ClerkError::Waiting { pending })
            }
            ended => Ok(self.answer(&ended?)),
        }
    }

    /// Returns the result of a card that this very request has answered before; none if it has not.
    async fn answered_before(&self, request: &Request) -> Result<Option<Value>, ClerkError> {
        let Some(key) = request.key().filter(|_| is_said(request)) else {
            return Ok(None);
        };
        let answers = Answers::to("", ())?.repeating(key, &sent(request))?;
        match self.runner.resume(self.thread, answers).await {
            Err(error) => match error.kind {
                RunErrorKind::Answer(_)
                | RunErrorKind::RequestChanged { .. }
                | RunErrorKind::NothingToDo
                | RunErrorKind::Waiting { .. }
                | RunErrorKind::GraphChanged { .. } => Ok(None),
                RunErrorKind::FailedBefore { .. } => Ok(Some(self.retried().await?)),
                _ => Err(error.into()),
            },
            Ok(ended) => Ok(Some(self.answer(&ended))),
        }
    }

    /// Returns the state and its open interrupts, if the conversation is this employee's or new.
    async fn card(
        &self,
        employee: &str,
    ) -> Result<(Option<Arc<Steward>>, Vec<Interrupt>), ClerkError> {
        let pending = match self.runner.status(self.thread).await? {
            ThreadStatus::Waiting(open) => open,
            _ => vec![],
        };
        let state = self.runner.state(self.thread).await?;
        if state
            .as_ref()
            .is_some_and(|state| state.employee != employee)
        {
            return Err(ClerkError::SomebodyElses);
        }
        Ok((state, pending))
    }

    /// Retries a failed run, on the path that has failed.
    async fn retried(&self) -> Result<Value, ClerkError> {
        Ok(self.answer(&self.runner.retry(self.thread).await?))
    }

    async fn begin(&self, request: &Request) -> Result<RunResult<Steward>, RunError> {
        let input = Update::Requested(Box::new(request.clone()));
        match request.key() {
            Some(key) => self.runner.start_keyed(self.thread, key, input).await,
            None => self.runner.start(self.thread, input).await,
        }
    }

    /// Handles words while a card is open. A yes or a no decides the card that the request refers
    /// to; without such a reference, the card is shown again. Other words change the request.
    async fn under_a_card(&self, request: &Request) -> Result<Value, ClerkError> {
        let (state, pending) = self.card(&request.employee).await?;
        let (Some(state), [asked]) = (state, pending.as_slice()) else {
            return Err(ClerkError::Waiting { pending });
        };
        if is_said(request)
            && let Some(told) = under_a_card(&self.clerk.deps, &state, &request.message).await?
        {
            let mut response = self.response(&state, Some(asked));
            response.told_mut().reply = told;
            return Ok(json!(response));
        }
        let card = request.card.as_deref().map(InterruptId::from);
        let said = UserMessage::new(Caller::default(), &request.message).card(card);
        // An action that was requested as it is takes a yes or a no, and no other words.
        let takes_words = state.is_chat() && !request.message.trim().is_empty();
        let desk = &self.clerk.deps.desk;
        let reply = match consent(&said, &pending) {
            _ if !is_said(request) => return Err(ClerkError::Waiting { pending }),
            Consent::Given(_, true) if CardReply::of(request).brings_more(desk, &state) => {
                CardReply::of(request)
            }
            Consent::Given(_, true) => CardReply::approve(),
            Consent::Given(_, false) => CardReply::reject(),
            Consent::None if takes_words && !is_decision(request) => CardReply::of(request),
            Consent::None if !takes_words => return Err(ClerkError::Waiting { pending }),
            _ => return Ok(self.told(&state, Some(asked))),
        };
        let with_all = CardReply {
            beside: Some(request.beside.clone()),
            ..reply.clone()
        };
        if let Some(why) = with_all.unheard(desk, &state) {
            return Err(ClerkError::Unusable(why));
        }
        let named = sent(request);
        let key = request
            .key()
            .unwrap_or_else(|| name_of(&json!([asked.id, named])));
        let answers = Answers::to(asked.id.clone(), reply)?
            .by(Attribution::new(&request.employee, "steward"))
            .keyed(key, &named)?;
        let ended = self.runner.resume(self.thread, answers).await;
        Ok(self.answer(&ended?))
    }

    /// Handles a request that has failed before: returns the answer of the legacy path if there is
    /// one, and retries the run if that path failed too.
    async fn again(&self, request: &Request, error: RunError) -> Result<Value, ClerkError> {
        if let ThreadStatus::Failed { .. } = self.runner.status(self.thread).await? {
            return self.retried().await;
        }
        let state = self.runner.state(self.thread).await?;
        let same =
            |state: &Arc<Steward>| state.request.as_ref().and_then(Request::key) == request.key();
        match state.filter(same).and_then(|state| state.response.clone()) {
            Some(response) => Ok(response),
            None => Err(error.into()),
        }
    }

    fn answer(&self, ended: &RunResult<Steward>) -> Value {
        if let RunResult::Finished {
            output: Some(output),
            ..
        } = ended
            && !output.is_null()
        {
            return output.clone();
        }
        self.told(ended.state(), ended.interrupts().first())
    }

    fn told(&self, state: &Steward, card: Option<&Interrupt>) -> Value {
        json!(self.response(state, card))
    }

    fn response(&self, state: &Steward, card: Option<&Interrupt>) -> Response {
        let response = || Response::of(&self.clerk.deps.desk, state, card);
        state.lang().scope(response)
    }
}

/// Returns the part of an answer in words that a repeat sends again.
fn sent(request: &Request) -> Value {
    json!([request.message, request.card, request.beside])
}

/// Returns a name for an answer without a client's name, made of the card and the words.
fn name_of(sent: &Value) -> String {
    format!(
        "shown/{}",
        fugato::graph::digest(sent.to_string().as_bytes())
    )
}

/// Returns true if the words are a yes or a no, which no card accepts without a reference to it.
fn is_decision(request: &Request) -> bool {
    Phrases::default().consent(&request.message).is_some()
}

/// Returns true if the request consists of words and is no action.
fn is_said(request: &Request) -> bool {
    matches!(
        request.kind,
        RequestKind::Chat | RequestKind::Plan | RequestKind::Decide
    )
}
