//! The shared state of all endpoints: the agent, its current runs, the access of callers, and the
//! shutdown.
pub(crate) mod admission;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use fugato_state::{Seq, ThreadId, say};
use fugato_stream::{Event, Redaction};
use futures::{Stream, StreamExt as _, future::ready, stream::BoxStream};
use tokio::sync::watch;

use crate::{
    BadInput, Caller, CallerQuota, Limits, ThreadAccess,
    address::Address,
    erased::DynAgent,
    error::{ApiError, ApiResult, NOT_FOUND},
    guard::reader,
    health::Metrics,
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
