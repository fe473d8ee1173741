//! The endpoints without their wire: requests become runs, and runs become answers.
use std::{fmt, sync::Arc};

use fugato::{
    Answers, Ended, Graph, RunError, Runner, RunnerOptions,
    agent::{FallbackError, GraphFallback, ShortAnswer},
    graph::{Amendment, BoxError, RunErrorKind, Standing},
    state::{Interrupt, InterruptId, ThreadId},
    store::ThreadStore,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    deps::Deps,
    graph,
    nodes::Reply,
    response::Response,
    state::{Request, RequestKind, Runtime, Steward, Update},
};

/// Takes requests, and answers them. Cheap to clone.
#[derive(Clone)]
pub struct Clerk {
    deps: Deps,
    runtime: Runtime,
    graph: Runner<Steward>,
    legacy: Runner<Steward>,
    fallback: Arc<GraphFallback<Steward>>,
}

/// What a person has agreed to, or not: it names the question that the server has asked, and what
/// was shown. Anything else is no confirmation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// The question: `pending_interrupt.id`.
    pub interrupt_id: String,
    /// What was shown: `pending_interrupt.digest`.
    pub digest: String,
    /// Whether they agree; yes unless it is said.
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
    /// The conversation is somebody else's.
    #[error("this conversation is about somebody else's documents: only they can go on with it")]
    SomebodyElses,
    /// Another action waits for a person first.
    #[error("an action of this conversation waits for a person: confirm it, or cancel it")]
    Waiting {
        /// What waits.
        pending: Vec<Interrupt>,
    },
    /// It did not go well.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Neither the graph nor the legacy path could do it.
    #[error(transparent)]
    Fallback(FallbackError),
    /// The answer cannot be written.
    #[error("the answer cannot be written")]
    Answer(#[from] serde_json::Error),
}

impl From<FallbackError> for ClerkError {
    fn from(error: FallbackError) -> Self {
        match error {
            FallbackError::Run(error) => Self::Run(error),
            other => Self::Fallback(other),
        }
    }
}

impl Clerk {
    /// Over a store of threads.
    pub fn new<T: ThreadStore + 'static>(
        deps: &Deps,
        store: &Arc<T>,
        options: &RunnerOptions,
        runtime: Runtime,
    ) -> Result<Self, BoxError> {
        let run = |graph| Runner::new(graph, store.clone()).options(options.clone());
        Self::over(deps, runtime, run)
    }

    /// Over whatever runs a graph; both paths have to run on the same log.
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
        let legacy = run(graph::legacy(deps)?);
        let fallback = GraphFallback::graph(main.clone(), "legacy", legacy.clone()).record(
            |fall: &fugato::agent::Fall| Update::FellBack {
                reason: fall.reason.clone(),
            },
        );
        Ok(Self {
            deps: deps.clone(),
            runtime,
            graph: main,
            legacy,
            fallback: Arc::new(fallback),
        })
    }

    /// What runs its conversations.
    pub fn runner(&self) -> &Runner<Steward> {
        self.path(self.runtime)
    }

    /// The path that is switched on.
    pub fn runtime(&self) -> Runtime {
        self.runtime
    }

    /// What it is made of.
    pub fn deps(&self) -> &Deps {
        &self.deps
    }

    /// Carries a request out, on the path that is switched on.
    pub async fn request(&self, thread: &ThreadId, request: Request) -> Result<Value, ClerkError> {
        self.on(self.runtime, thread).request(&request).await
    }

    /// A conversation on this path, whatever is switched on.
    pub fn on<'a>(&'a self, runtime: Runtime, thread: &'a ThreadId) -> Conversation<'a> {
        Conversation {
            clerk: self,
            runtime,
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

/// A conversation, on one of the paths.
pub struct Conversation<'a> {
    clerk: &'a Clerk,
    runtime: Runtime,
    runner: &'a Runner<Steward>,
    thread: &'a ThreadId,
}

impl Conversation<'_> {
    /// Carries a request out.
    pub async fn request(&self, request: &Request) -> Result<Value, ClerkError> {
        self.card(&request.employee).await?;
        if let Some(answer) = self.heard(request).await? {
            return Ok(answer);
        }
        let ended = match self.begin(request).await {
            Err(error) => match error.kind {
                RunErrorKind::Waiting { .. } => self.under_a_card(request).await?,
                // A crash has left a run: it goes on before another one begins.
                RunErrorKind::Unfinished => return self.recovered(request).await,
                RunErrorKind::FailedBefore { .. } => return self.again(request, error).await,
                _ => self.stood_in(Err(error)).await?,
            },
            ended => self.stood_in(ended).await?,
        };
        Ok(self.answer(&ended))
    }

    /// Carries an action out, and answers its question if a person has.
    ///
    /// The first time there is a question, and nothing is written; the same request with a
    /// confirmation goes on. A repeat of what has ended is told what came of it.
    pub async fn execute(
        &self,
        request: &Request,
        confirmation: Option<Confirmation>,
    ) -> Result<Value, ClerkError> {
        let is_action = matches!(request.kind, RequestKind::Execute { .. });
        if is_action && request.client_trace_id.is_empty() {
            let why = "\"client_trace_id\" must name the request: a repeat has the same";
            return Err(ClerkError::Unusable(why.to_owned()));
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
            Reply::approve()
        } else {
            Reply::reject()
        };
        let id = InterruptId(said.interrupt_id.into());
        let answers = Answers::none().approving(id, reply, said.digest)?;
        let ended = self.runner.resume(self.thread, answers).await;
        Ok(self.answer(&self.stood_in(ended).await?))
    }

    /// A crash has left a run: it goes on before another one begins. A card that it comes to was
    /// not yet seen by anybody, so that no words of this request are about it.
    async fn recovered(&self, request: &Request) -> Result<Value, ClerkError> {
        let recovered = self.runner.recover(self.thread).await;
        self.stood_in(recovered).await?;
        if let Some(answer) = self.heard(request).await? {
            return Ok(answer);
        }
        let (state, pending) = self.card(&request.employee).await?;
        if let (Some(state), Some(card), true) = (state, pending.first(), is_said(request)) {
            // Nor is a repeat of them.
            if let Some(key) = request.key() {
                let why = "it came before the card was seen";
                let heard = Amendment::new([Update::Heard(key)], "steward", why);
                self.runner.amend(self.thread, heard).await?;
            }
            return Ok(self.told(&state, Some(card)));
        }
        match self.begin(request).await {
            Err(error) if matches!(error.kind, RunErrorKind::Waiting { .. }) => {
                Err(ClerkError::Waiting { pending })
            }
            ended => Ok(self.answer(&self.stood_in(ended).await?)),
        }
    }

    /// How a conversation stands in which this very request has answered a card before; none if
    /// it has not. A repeat answers no other card.
    async fn heard(&self, request: &Request) -> Result<Option<Value>, ClerkError> {
        let Some(key) = request.key().filter(|_| is_said(request)) else {
            return Ok(None);
        };
        let has_heard = |state: &Arc<Steward>| state.heard.contains(&key);
        let Some(state) = self.runner.state(self.thread).await?.filter(has_heard) else {
            return Ok(None);
        };
        Ok(match self.runner.standing(self.thread).await? {
            Standing::Waiting(open) => Some(self.told(&state, open.first())),
            Standing::Idle => state.response.clone(),
            Standing::Failed { .. } => Some(self.retried().await?),
            // What it has begun goes on first.
            _ => None,
        })
    }

    /// The state, and what waits in it, if the conversation is this employee's or new.
    async fn card(
        &self,
        employee: &str,
    ) -> Result<(Option<Arc<Steward>>, Vec<Interrupt>), ClerkError> {
        let pending = match self.runner.standing(self.thread).await? {
            Standing::Waiting(open) => open,
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

    /// What has failed is tried again.
    async fn retried(&self) -> Result<Value, ClerkError> {
        let retried = match self.clerk.legacy.retry(self.thread).await {
            Err(error) if matches!(error.kind, RunErrorKind::GraphChanged { .. }) => {
                self.clerk.graph.retry(self.thread).await
            }
            retried => retried,
        };
        Ok(self.answer(&self.stood_in(retried).await?))
    }

    async fn begin(&self, request: &Request) -> Result<Ended<Steward>, RunError> {
        let input = Update::Requested(Box::new(request.clone()));
        match request.key() {
            Some(key) => self.runner.start_keyed(self.thread, key, input).await,
            None => self.runner.start(self.thread, input).await,
        }
    }

    /// If the graph has failed, the legacy path goes on from where it stopped.
    async fn stood_in(
        &self,
        ended: Result<Ended<Steward>, RunError>,
    ) -> Result<Ended<Steward>, ClerkError> {
        match self.runtime {
            Runtime::Graph => Ok(self.clerk.fallback.or_else(self.thread, ended).await?),
            Runtime::Legacy => Ok(ended?),
        }
    }

    /// What is said while a card is open answers it, if it can.
    async fn under_a_card(&self, request: &Request) -> Result<Ended<Steward>, ClerkError> {
        let (state, pending) = self.card(&request.employee).await?;
        let in_talk = state.is_some_and(|state| state.is_chat());
        // An action that was requested as it is takes a yes or a no, and no other words.
        let is_answer = in_talk || ShortAnswer::of(&request.message).is_some();
        let [asked] = pending.as_slice() else {
            return Err(ClerkError::Waiting { pending });
        };
        if !is_said(request) || !is_answer || request.message.trim().is_empty() {
            return Err(ClerkError::Waiting { pending });
        }
        let answers = Answers::to(asked.id.clone(), Reply::of(request))?;
        let ended = self.runner.resume(self.thread, answers).await;
        self.stood_in(ended).await
    }

    /// A request that has failed before: if the legacy path has answered it, that is the answer;
    /// if it failed too, it is tried again.
    async fn again(&self, request: &Request, error: RunError) -> Result<Value, ClerkError> {
        if let Standing::Failed { .. } = self.runner.standing(self.thread).await? {
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

    fn answer(&self, ended: &Ended<Steward>) -> Value {
        if let Ended::Finished {
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
        json!(Response::of(&self.clerk.deps.desk, state, card))
    }
}

/// Whether it is words, and no action.
fn is_said(request: &Request) -> bool {
    matches!(
        request.kind,
        RequestKind::Chat | RequestKind::Plan | RequestKind::Decide
    )
}

impl fmt::Debug for Conversation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("thread", self.thread)
            .field("runtime", &self.runtime)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Clerk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clerk")
            .field("runtime", &self.runtime)
            .finish_non_exhaustive()
    }
}
