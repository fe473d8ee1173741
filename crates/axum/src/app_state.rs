//! The shared state of all endpoints: the agent, its current runs, and the limits of callers.
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::http::StatusCode;
use fugato_graph::{RunError, RunErrorKind, ThreadStatus};
use fugato_state::{RunId, Seq, ThreadId, say};
use fugato_stream::{Event, EventKind, Redaction, ReplyForm};
use fugato_text::without_controls;
use futures::{
    Stream, StreamExt as _,
    future::ready,
    stream::{self, BoxStream},
};
use tokio::sync::{oneshot, watch};

use crate::{
    BadInput, Caller, CallerQuota, Limits, ThreadAccess, UserMessage,
    address::Address,
    erased::{AnswerRequest, DynAgent, RunRest, StartedRun, TitleTask},
    error::{ApiError, ApiResult, NOT_FOUND, closing},
    guard::reader,
    health::Metrics,
    incoming,
    load::{LoadPermit, Loads},
    usage::counted,
};

pub(crate) struct AppState {
    pub(crate) agent: Box<dyn DynAgent>,
    pub(crate) limits: Limits,
    quota: Arc<dyn CallerQuota>,
    redact: Arc<Redact>,
    pub(crate) metrics: Arc<Metrics>,
    loads: Arc<Loads>,
    under_way: Mutex<HashMap<ThreadId, UnderWay>>,
    closing: watch::Sender<ShutdownPhase>,
    /// Held while a title is stored, so that no request meets the lease of that.
    titling: tokio::sync::Mutex<()>,
}

/// The choice of what a caller gets of events.
pub(crate) type Redact = dyn Fn(&Caller) -> Redaction + Send + Sync;

/// The stages of the server's shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ShutdownPhase {
    Open,
    /// No run begins any more; those under way come to rest.
    Closing,
    /// Streams end too.
    Closed,
}

/// The requests of this process for one thread that are under way.
struct UnderWay {
    /// The caller of the first of them.
    by: Caller,
    requests: usize,
    /// The head of the log when the first of them came.
    after: Seq,
}

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
    pub(crate) fn new(
        agent: Box<dyn DynAgent>,
        limits: Limits,
        quota: Arc<dyn CallerQuota>,
        redact: Arc<Redact>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            agent,
            limits,
            quota,
            redact,
            metrics,
            loads: Arc::default(),
            under_way: Mutex::default(),
            closing: watch::channel(ShutdownPhase::Open).0,
            titling: tokio::sync::Mutex::default(),
        }
    }

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

    /// Returns what the caller does not get of events.
    pub(crate) fn redaction(&self, caller: &Caller) -> Redaction {
        (self.redact)(caller)
    }

    /// Returns the events as the caller may see them.
    pub(crate) fn shown(
        &self,
        to: &Address,
        events: impl Stream<Item = Event> + Send + 'static,
    ) -> BoxStream<'static, Event> {
        let (to, redaction) = (to.clone(), self.redaction(&to.caller));
        let events = counted(events);
        let events = events.filter_map(move |event| ready(to.show(event, redaction)));
        events.boxed()
    }

    /// Refuses a caller from whom a part of the events is kept: the graph, the log and the state
    /// show all of it.
    pub(crate) fn must_see_all(&self, caller: &Caller) -> ApiResult<()> {
        if self.redaction(caller).is_none() {
            return Ok(());
        }
        let message = say!(
            "the graph, the log and the state are for the operator of the agent",
            "图、日志和状态只给助手的运维人员看"
        );
        Err(BadInput::forbidden(message).into())
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

    /// Returns the address of the thread that a client names, or refuses without this access.
    pub(crate) async fn find(
        &self,
        who: &Caller,
        name: &str,
        access: ThreadAccess,
    ) -> ApiResult<Address> {
        let to = Address::new(who, name)?;
        self.allows(&to, access).await?;
        Ok(to)
    }

    /// Refuses a caller without this access to a thread. The agent decides from the stored state;
    /// until the first record is stored, the thread belongs to the caller whose request began it.
    pub(crate) async fn allows(&self, to: &Address, access: ThreadAccess) -> ApiResult<()> {
        // A socket is opened by a request that only reads.
        if access == ThreadAccess::Write && to.caller.only_reads() {
            return Err(reader());
        }
        let began = self.under_way().get(&to.thread).map(|it| it.by.clone());
        if began.is_some_and(|by| by != to.caller)
            && self.agent.log().head(&to.thread).await?.is_none()
        {
            return Err(ApiError::no_thread(to.name.as_str()));
        }
        let allowed = self.agent.allows(&to.caller, &to.thread, access).await;
        allowed.map_err(|error| error.about(to.name.as_str()))
    }

    /// Refuses a caller who may not begin or go on with a thread of this name. That the name is
    /// taken cannot be kept from somebody who wants it.
    pub(crate) async fn allows_new(&self, to: &Address) -> ApiResult<()> {
        let allowed = self.allows(to, ThreadAccess::Write).await;
        allowed.map_err(|error| match error.kind {
            NOT_FOUND => ApiError::exists(to.name.as_str()),
            _ => error,
        })
    }

    /// Cancels the run of a thread in the name of the caller.
    pub(crate) async fn cancel(&self, to: &Address, why: &str) -> ApiResult<()> {
        self.allows(to, ThreadAccess::Write).await?;
        Ok(self.agent.cancel(&to.thread, to.caller.name(), why).await?)
    }

    /// Returns the events of the run that is under way in this process, from its beginning; none if
    /// there is no such run.
    pub(crate) fn again(&self, to: &Address) -> Option<BoxStream<'static, Event>> {
        let after = self.under_way().get(&to.thread)?.after;
        Some(self.shown(to, self.agent.events(&to.thread, after)))
    }

    /// Returns the head of a thread's log, or 0 for a run that has stored nothing yet; an unknown
    /// thread is 404 `not_found`.
    pub(crate) async fn must_exist(&self, to: &Address) -> ApiResult<Seq> {
        match self.agent.log().head(&to.thread).await? {
            Some(head) => Ok(head.seq),
            None if self.is_under_way(to) => Ok(0),
            None => Err(ApiError::no_thread(to.name.as_str())),
        }
    }

    pub(crate) fn is_under_way(&self, to: &Address) -> bool {
        self.under_way().contains_key(&to.thread)
    }

    /// Returns false if a thread is still worked on after a moment: a client knows the end of a run
    /// before this process is done with it, and its title is stored after it.
    pub(crate) async fn comes_to_rest(&self, to: &Address) -> bool {
        let rests = async {
            drop(self.titling.lock().await);
            while self.is_under_way(to) || self.agent.is_live(&to.thread) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let moment = Duration::from_millis(500);
        tokio::time::timeout(moment, rests).await.is_ok()
    }

    /// Takes a stream permit of the caller's tenant, or refuses at the limit.
    pub(crate) fn reader(&self, caller: &Caller) -> ApiResult<LoadPermit> {
        self.loads.stream(&caller.tenant, &self.limits)
    }

    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow() > ShutdownPhase::Open
    }

    /// Waits until streams must end.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut closing = self.closing.subscribe();
        async move {
            // A dropped agent counts as closed.
            drop(
                closing
                    .wait_for(|door| *door == ShutdownPhase::Closed)
                    .await,
            );
        }
    }

    /// Waits until no run begins any more.
    pub(crate) fn closes(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut closing = self.closing.subscribe();
        async move {
            drop(closing.wait_for(|door| *door > ShutdownPhase::Open).await);
        }
    }

    /// Accepts no more runs, hands the current ones over after their step, and ends streams.
    /// Returns the number of runs whose step took longer than `grace`.
    pub(crate) async fn close(&self, grace: Duration) -> usize {
        let left = self.hand_over(grace).await;
        self.end_streams();
        left
    }

    /// Accepts no more runs, and hands the current ones over after their step.
    pub(crate) async fn hand_over(&self, grace: Duration) -> usize {
        self.closing.send_replace(ShutdownPhase::Closing);
        self.agent.hand_over(grace).await
    }

    pub(crate) fn end_streams(&self) {
        self.closing.send_replace(ShutdownPhase::Closed);
    }

    fn work_on(self: &Arc<Self>, to: &Address, after: Seq) -> WorkGuard {
        let mut under_way = self.under_way();
        let begun = || UnderWay {
            by: to.caller.clone(),
            requests: 0,
            after,
        };
        let entry = under_way.entry(to.thread.clone()).or_insert_with(begun);
        entry.requests += 1;
        WorkGuard {
            app_state: self.clone(),
            thread: to.thread.clone(),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<ThreadId, UnderWay>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The run id in the events of a refused request.
const REFUSED: RunId = RunId(0);

/// The guard of a request that a thread works on.
struct WorkGuard {
    app_state: Arc<AppState>,
    thread: ThreadId,
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        let mut under_way = self.app_state.under_way();
        if let Some(entry) = under_way.get_mut(&self.thread) {
            entry.requests -= 1;
            if entry.requests == 0 {
                under_way.remove(&self.thread);
            }
        }
    }
}

/// Returns the label of a run's end in the metrics.
pub(crate) fn ending(end: &Result<RunRest, RunError>) -> &'static str {
    use fugato_graph::RunErrorKind as Kind;
    match end {
        Ok(RunRest::Finished(_)) => "finished",
        Ok(RunRest::Interrupted(_)) => "parked",
        Ok(RunRest::Other) => "other",
        Err(error) => match &error.kind {
            Kind::Cancelled { .. } => "cancelled",
            Kind::HandedOver => "handed_over",
            Kind::Answer(_)
            | Kind::Busy { .. }
            | Kind::Waiting { .. }
            | Kind::Unfinished
            | Kind::NothingToDo
            | Kind::GraphChanged { .. }
            | Kind::RequestChanged { .. }
            | Kind::FailedBefore { .. } => "refused",
            _ => "failed",
        },
    }
}
