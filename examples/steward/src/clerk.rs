//! The endpoints without their wire: requests become runs, and runs become answers.
use std::sync::Arc;

use fugato::{
    Answers, Ended, Graph, RunError, Runner, RunnerOptions,
    agent::{FallbackError, GraphFallback, ShortAnswer},
    graph::{BoxError, RunErrorKind, Standing},
    state::{Interrupt, ThreadId},
    store::ThreadStore,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    deps::Deps,
    graph,
    nodes::Reply,
    response::Response,
    service::Desk,
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
    /// What waits here is for somebody else to answer.
    #[error(
        "what waits in this conversation is about somebody else's documents: only they can answer it"
    )]
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

    /// The forms and words.
    pub fn desk(&self) -> &Desk {
        &self.deps.desk
    }

    /// What it is made of.
    pub fn deps(&self) -> &Deps {
        &self.deps
    }

    fn path(&self, runtime: Runtime) -> &Runner<Steward> {
        match runtime {
            Runtime::Graph => &self.graph,
            Runtime::Legacy => &self.legacy,
        }
    }

    /// Carries a request out, on the path that is switched on.
    pub async fn request(&self, thread: &ThreadId, request: Request) -> Result<Value, ClerkError> {
        self.request_on(self.runtime, thread, request).await
    }

    /// Carries a request out on this path, whatever is switched on.
    pub async fn request_on(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        request: Request,
    ) -> Result<Value, ClerkError> {
        if let Some(answer) = self.heard(runtime, thread, &request).await? {
            return Ok(answer);
        }
        let began = self.begin(runtime, thread, &request).await;
        let ended = match began {
            Err(error) => match error.kind {
                RunErrorKind::Waiting { .. } => {
                    self.under_a_card(runtime, thread, &request).await?
                }
                // A crash has left a run: it goes on before another one begins.
                RunErrorKind::Unfinished => {
                    return self.recovered(runtime, thread, &request).await;
                }
                RunErrorKind::FailedBefore { .. } => {
                    return self.again(runtime, thread, &request, error).await;
                }
                _ => self.stood_in(runtime, thread, Err(error)).await?,
            },
            ended => self.stood_in(runtime, thread, ended).await?,
        };
        Ok(self.answer(&ended))
    }

    /// Carries an action out, and answers its question if a person has.
    ///
    /// The first time there is a question, and nothing is written; the same request with a
    /// confirmation goes on. A repeat of what has ended is told what came of it.
    pub async fn execute(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        request: Request,
        confirmation: Option<Confirmation>,
    ) -> Result<Value, ClerkError> {
        if request.client_trace_id.is_empty() {
            let why = "\"client_trace_id\" must name the request: a repeat has the same";
            return Err(ClerkError::Unusable(why.to_owned()));
        }
        let employee = request.employee.clone();
        let answer = self.request_on(runtime, thread, request).await?;
        let waits = answer
            .get("pending_interrupt")
            .is_some_and(|pending| !pending.is_null());
        match confirmation.filter(|_| waits) {
            Some(said) => self.confirm(runtime, thread, &employee, said).await,
            None => Ok(answer),
        }
    }

    /// This employee has answered the question of an action, which has to be about them.
    pub async fn confirm(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        employee: &str,
        said: Confirmation,
    ) -> Result<Value, ClerkError> {
        self.card(runtime, thread, employee).await?;
        let reply = if said.approved {
            Reply::approve()
        } else {
            Reply::reject()
        };
        let id = fugato::state::InterruptId(said.interrupt_id.into());
        let answers = Answers::none().approving(id, reply, said.digest)?;
        let ended = self.path(runtime).resume(thread, answers).await;
        Ok(self.answer(&self.stood_in(runtime, thread, ended).await?))
    }

    /// A crash has left a run: it goes on before another one begins. A card that it comes to was
    /// not yet seen by anybody, so that no words of this request are about it.
    async fn recovered(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        request: &Request,
    ) -> Result<Value, ClerkError> {
        let recovered = self.path(runtime).recover(thread).await;
        self.stood_in(runtime, thread, recovered).await?;
        if let Some(answer) = self.heard(runtime, thread, request).await? {
            return Ok(answer);
        }
        let (state, pending) = self.card(runtime, thread, &request.employee).await?;
        if let (Some(state), Some(card), true) = (state, pending.first(), is_said(request)) {
            return Ok(json!(Response::of(&self.deps.desk, &state, Some(card))));
        }
        match self.begin(runtime, thread, request).await {
            Err(error) if matches!(error.kind, RunErrorKind::Waiting { .. }) => {
                Err(ClerkError::Waiting { pending })
            }
            ended => Ok(self.answer(&self.stood_in(runtime, thread, ended).await?)),
        }
    }

    /// How a conversation stands in which this very request has answered a card before; none if
    /// it has not. A repeat answers no other card.
    async fn heard(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        request: &Request,
    ) -> Result<Option<Value>, ClerkError> {
        let Some(key) = request.key().filter(|_| is_said(request)) else {
            return Ok(None);
        };
        let path = self.path(runtime);
        let has_heard = |state: &Arc<Steward>| state.heard.contains(&key);
        let Some(state) = path.state(thread).await?.filter(has_heard) else {
            return Ok(None);
        };
        is_of(&state, &request.employee)?;
        Ok(match path.standing(thread).await? {
            Standing::Waiting(open) => {
                Some(json!(Response::of(&self.deps.desk, &state, open.first())))
            }
            Standing::Idle => state.response.clone(),
            Standing::Failed { .. } => Some(self.retried(runtime, thread).await?),
            // What it has begun goes on first.
            _ => None,
        })
    }

    /// The state, and what waits in it, if that is about this employee.
    async fn card(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        employee: &str,
    ) -> Result<(Option<Arc<Steward>>, Vec<Interrupt>), ClerkError> {
        let path = self.path(runtime);
        let pending = match path.standing(thread).await? {
            Standing::Waiting(open) => open,
            _ => vec![],
        };
        let state = path.state(thread).await?;
        if let (Some(state), false) = (&state, pending.is_empty()) {
            is_of(state, employee)?;
        }
        Ok((state, pending))
    }

    /// What has failed is tried again.
    async fn retried(&self, runtime: Runtime, thread: &ThreadId) -> Result<Value, ClerkError> {
        let retried = match self.legacy.retry(thread).await {
            Err(error) if matches!(error.kind, RunErrorKind::GraphChanged { .. }) => {
                self.graph.retry(thread).await
            }
            retried => retried,
        };
        Ok(self.answer(&self.stood_in(runtime, thread, retried).await?))
    }

    async fn begin(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        request: &Request,
    ) -> Result<Ended<Steward>, RunError> {
        let input = Update::Requested(Box::new(request.clone()));
        match request.key() {
            Some(key) => self.path(runtime).start_keyed(thread, key, input).await,
            None => self.path(runtime).start(thread, input).await,
        }
    }

    /// If the graph has failed, the legacy path goes on from where it stopped.
    async fn stood_in(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        ended: Result<Ended<Steward>, RunError>,
    ) -> Result<Ended<Steward>, ClerkError> {
        match runtime {
            Runtime::Graph => Ok(self.fallback.or_else(thread, ended).await?),
            Runtime::Legacy => Ok(ended?),
        }
    }

    /// What is said while a card is open answers it, if it can.
    async fn under_a_card(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        request: &Request,
    ) -> Result<Ended<Steward>, ClerkError> {
        let (state, pending) = self.card(runtime, thread, &request.employee).await?;
        let in_talk = state.is_some_and(|state| {
            state
                .request
                .as_ref()
                .is_some_and(|request| request.kind == RequestKind::Chat)
        });
        // An action that was requested as it is takes a yes or a no, and no other words.
        let is_answer = in_talk || ShortAnswer::of(&request.message).is_some();
        let [asked] = pending.as_slice() else {
            return Err(ClerkError::Waiting { pending });
        };
        if !is_said(request) || !is_answer || request.message.trim().is_empty() {
            return Err(ClerkError::Waiting { pending });
        }
        let answers = Answers::to(asked.id.clone(), Reply::of(request))?;
        let ended = self.path(runtime).resume(thread, answers).await;
        self.stood_in(runtime, thread, ended).await
    }

    /// A request that has failed before: if the legacy path has answered it, that is the answer;
    /// if it failed too, it is tried again.
    async fn again(
        &self,
        runtime: Runtime,
        thread: &ThreadId,
        request: &Request,
        error: RunError,
    ) -> Result<Value, ClerkError> {
        if let Standing::Failed { .. } = self.path(runtime).standing(thread).await? {
            return self.retried(runtime, thread).await;
        }
        let state = self.path(runtime).state(thread).await?;
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
        let pending = ended.interrupts().first();
        json!(Response::of(&self.deps.desk, ended.state(), pending))
    }
}

/// Whether it is words, and no action.
fn is_said(request: &Request) -> bool {
    matches!(
        request.kind,
        RequestKind::Chat | RequestKind::Plan | RequestKind::Decide
    )
}

/// Nobody answers for somebody else.
fn is_of(state: &Steward, employee: &str) -> Result<(), ClerkError> {
    if state.employee == employee {
        return Ok(());
    }
    Err(ClerkError::SomebodyElses)
}

impl std::fmt::Debug for Clerk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clerk")
            .field("runtime", &self.runtime)
            .finish_non_exhaustive()
    }
}
