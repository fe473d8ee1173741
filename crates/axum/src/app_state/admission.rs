//! The admission of runs: the checks before one begins, and what its request gets.
use std::sync::Arc;

use axum::http::StatusCode;
use fugato_graph::{RunError, RunErrorKind, ThreadStatus};
use fugato_state::{RunId, ThreadId, say};
use fugato_stream::{Event, EventKind, Redaction, ReplyForm};
use fugato_text::without_controls;
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use tokio::sync::oneshot;

use super::AppState;
use crate::{
    Caller, ThreadAccess, UserMessage,
    address::Address,
    erased::{AnswerRequest, RunRest, StartedRun, TitleTask},
    error::{ApiError, ApiResult, closing},
    incoming,
    load::LoadPermit,
};

/// A request to a thread.
pub(crate) enum RunRequest {
    Start {
        key: Option<String>,
        said: Box<UserMessage>,
    },
    Resume(AnswerRequest),
    Recover,
    Retry,
}

impl RunRequest {
    /// Returns the words of a person, if it has any.
    fn words(&self) -> Option<UserMessage> {
        match self {
            Self::Start { said, .. } => Some(said.words()),
            _ => None,
        }
    }

    /// Leaves control characters out of everything that a person says, besides the words, which have
    /// none.
    fn clean(&mut self) {
        let extra = match self {
            Self::Start { said, .. } => &mut said.extra,
            Self::Resume(answering) => {
                for answered in &mut answering.answers {
                    if let Some(reason) = &mut answered.reason {
                        *reason = without_controls(reason).into_owned();
                    }
                    if let ReplyForm::Value(value) = &mut answered.reply {
                        incoming::clean(value);
                    }
                }
                &mut answering.extra
            }
            Self::Recover | Self::Retry => return,
        };
        extra.values_mut().for_each(incoming::clean);
    }

    /// Returns true for a request over a chat protocol: its client gets the open cards in place of
    /// a `waiting` error.
    fn is_chat(&self) -> bool {
        let doors = ["openai", "ag-ui", "ai-sdk"];
        matches!(self, Self::Start { said, .. } if doors.contains(&said.door))
    }
}

/// A request that was admitted: the run's id, and its events, which end with the run.
pub(crate) struct AdmittedRun {
    pub(crate) run: RunId,
    pub(crate) events: BoxStream<'static, Event>,
    /// Its end, which comes after its events; none for a run that was at rest before.
    pub(crate) end: Option<oneshot::Receiver<Result<RunRest, RunError>>>,
}

impl AppState {
    /// Begins or resumes a run. It continues if its reader disconnects.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        to: &Address,
        mut wish: RunRequest,
    ) -> ApiResult<AdmittedRun> {
        if self.is_closing() {
            return Err(closing());
        }
        self.check_model(to, &mut wish)?;
        wish.clean();
        if matches!(wish, RunRequest::Start { .. }) {
            self.allows_new(to).await?;
        } else {
            self.allows(to, ThreadAccess::Write).await?;
            self.must_exist(to).await?;
        }
        let answers = matches!(wish, RunRequest::Resume(_));
        let permit = self.permit(&to.caller, answers).await;
        let permit = if let Ok(permit) = permit {
            permit
        } else {
            // It is told in the language of the conversation.
            let words = wish.words().map(|said| said.text).unwrap_or_default();
            let lang = self.agent.lang(&to.thread, &words).await;
            lang.scope_future(self.permit(&to.caller, answers)).await?
        };
        let head = self.agent.log().head(&to.thread).await?;
        let after = head.map_or(0, |head| head.seq);
        let working = self.work_on(to, after);
        drop(self.titling.lock().await);
        let (is_chat, words) = (wish.is_chat(), wish.words());
        let about = |error: ApiError| error.about(to.name.as_str());
        let StartedRun {
            mut events,
            end,
            title,
        } = self.ask(to, wish).await.map_err(about)?;
        self.metrics.begun();
        let (tell, told) = oneshot::channel();
        let app_state = self.clone();
        tokio::spawn(async move {
            let end = end.await;
            app_state.metrics.ended(&end);
            let thread = working.thread.clone();
            drop((permit, working));
            // The request's future may have been dropped.
            drop(tell.send(end));
            if let Ok(title) = title.await {
                app_state.entitle(&thread, title).await;
            }
        });
        match events.next().await {
            Some(first) if first.run != REFUSED => Ok(AdmittedRun {
                run: first.run,
                events: self.shown(to, stream::once(async { first }).chain(events)),
                end: Some(told),
            }),
            // The request was refused, or is a repeat of one that was carried out.
            _ => match told.await {
                Ok(Ok(rest)) => self.known(to, rest).await,
                Ok(Err(error)) if is_chat && matches!(error.kind, RunErrorKind::Waiting { .. }) => {
                    match self.agent.standing(&to.thread).await? {
                        ThreadStatus::Waiting(open) => {
                            self.known(to, RunRest::Interrupted(open)).await
                        }
                        _ => Err(self.failed(to, error)),
                    }
                }
                Ok(Err(error)) => {
                    let plainly = match &words {
                        Some(said) => self.agent.plain_reply(said, &error).await,
                        None => None,
                    };
                    match plainly {
                        Some(text) => self.known(to, RunRest::Finished(Some(text.into()))).await,
                        None => Err(self.failed(to, error)),
                    }
                }
                Err(_) => Err(closing()),
            },
        }
    }

    /// Takes a permit for a run, or for a change by one of the program's own paths; refuses at a
    /// limit.
    pub(crate) async fn admit(&self, caller: &Caller) -> ApiResult<LoadPermit> {
        self.permit(caller, false).await
    }

    /// Takes a permit for a run, which may go on with `answers`, or refuses at a limit.
    async fn permit(&self, caller: &Caller, answers: bool) -> ApiResult<LoadPermit> {
        if !answers {
            self.quota.admit(caller).await?;
        }
        let permit = self.loads.run(&caller.tenant, &self.limits)?;
        self.quota.count(caller).await?;
        Ok(permit)
    }

    /// Refuses a model that the caller may not choose. A name may have that of the agent and a slash
    /// before it, as in OpenAI's protocol, and that of the agent alone chooses none.
    fn check_model(&self, to: &Address, wish: &mut RunRequest) -> ApiResult<()> {
        let RunRequest::Start { said, .. } = wish else {
            return Ok(());
        };
        let agent = self.agent.name();
        let Some(named) = said.model.take().filter(|named| named != agent) else {
            return Ok(());
        };
        let rest = named.strip_prefix(agent);
        let rest = rest
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(&named);
        let mut allowed = self.agent.models(&to.caller);
        if !allowed.iter().any(|model| model == rest) {
            allowed.insert(0, agent.to_owned());
            let message = say!(
                "there is no model {named:?}; allowed are {}",
                "没有模型 {named:?}；可用的有 {}",
                allowed.join(", ")
            );
            return Err(ApiError::new(
                StatusCode::NOT_FOUND,
                "model_not_found",
                message,
            ));
        }
        said.model = Some(rest.to_owned());
        Ok(())
    }

    /// Stores the title of a thread once it is made, unless a request is under way by then: its run
    /// makes the next.
    async fn entitle(&self, thread: &ThreadId, title: TitleTask) {
        let Some(store) = title.await else { return };
        let _titling = self.titling.lock().await;
        if self.under_way().contains_key(thread) || self.is_closing() {
            return;
        }
        if let Err(error) = store.await {
            tracing::debug!(%thread, %error, "title not stored");
        }
    }

    /// Returns the error as the caller may see it.
    fn failed(&self, to: &Address, error: RunError) -> ApiError {
        let mut error = ApiError::from(error);
        if error.kind == "run_failed" && self.redaction(&to.caller).nodes {
            Redaction::RUN_FAILED.clone_into(&mut error.message);
        }
        error
    }

    async fn ask(&self, to: &Address, wish: RunRequest) -> ApiResult<StartedRun> {
        let (agent, thread) = (&self.agent, &to.thread);
        match wish {
            RunRequest::Start { key, said } => agent.start(thread, key, *said).await,
            RunRequest::Resume(answering) => agent.resume(thread, &to.caller, answering).await,
            RunRequest::Recover => Ok(agent.recover(thread)),
            RunRequest::Retry => Ok(agent.retry(thread)),
        }
    }

    /// Returns the thread's current state as the events of a run that came to rest: the result that
    /// a repeated request gets.
    async fn known(&self, to: &Address, rest: RunRest) -> ApiResult<AdmittedRun> {
        let head = self.agent.log().head(&to.thread).await?;
        let head = head.map_or(0, |head| head.seq);
        // What cannot be read is not shown: the words about that are.
        let last = self.agent.history(&to.thread, head, 1).await;
        let run = last
            .unwrap_or_default()
            .first()
            .map_or(RunId(1), |entry| entry.run);
        let mut kinds = vec![EventKind::RunStarted { resumed: true }];
        match rest {
            RunRest::Finished(output) => kinds.push(EventKind::RunFinished { output }),
            RunRest::Interrupted(interrupts) => {
                let raised = interrupts.iter().cloned();
                kinds.extend(raised.map(EventKind::InterruptRaised));
                kinds.push(EventKind::RunParked { interrupts });
            }
            RunRest::Other => {}
        }
        let thread = to.name.clone();
        let event = move |kind| Event {
            thread: thread.clone(),
            run,
            seq: None,
            origin: None,
            kind,
        };
        let events = self.shown(to, stream::iter(kinds).map(event));
        let end = None;
        Ok(AdmittedRun { run, events, end })
    }
}

/// The run id in the events of a refused request.
const REFUSED: RunId = RunId(0);
