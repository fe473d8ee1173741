//! The leases of threads, and the requests that stop a run.
use std::time::Duration;

use fugato_state::{State, ThreadId};
use fugato_store::{
    Fence, Lease, LeaseOutcome, LeaseRequest, Status, StoreError, StoreErrorKind, is_move,
};

use super::{Runner, RunnerInner, lock};
use crate::{RunError, RunErrorKind, control::StopReason, request::Request};

impl<S: State> Runner<S> {
    /// Cancels the run of a thread. A run in this process stops at once; one elsewhere stops at its
    /// owner's next append or renewal; one that is not under way is cancelled before this returns.
    pub async fn cancel(
        &self,
        thread: &ThreadId,
        by: impl Into<String>,
        why: impl Into<String>,
    ) -> Result<(), RunError> {
        let (by, why) = (by.into(), why.into());
        let control = lock(&self.inner.live)
            .get(thread)
            .and_then(|live| live.control.upgrade());
        let stop = || StopReason::Cancel {
            by: by.clone(),
            why: why.clone(),
        };
        if control.is_some_and(|control| control.stop(stop())) {
            return Ok(());
        }
        let request = Request::Cancel {
            by: by.clone(),
            why: why.clone(),
        };
        match self.spawn(thread, request, None).await {
            Ok(_) => Ok(()),
            Err(error) => match &error.kind {
                RunErrorKind::Cancelled { .. } => Ok(()),
                // Nobody would receive the signal of a thread that moves.
                RunErrorKind::Busy { owner, .. } if !is_move(owner) => {
                    self.inner.signal(thread, by, why).await?;
                    self.inner.unsignal(thread).await
                }
                _ => Err(error),
            },
        }
    }

    /// Lets no run begin or go on any more: every request for one ends as
    /// [`HandedOver`](RunErrorKind::HandedOver). Runs that are under way stay until they are
    /// [handed over](Self::hand_over); threads can still be read, amended and cancelled.
    pub fn close(&self) {
        self.inner.closed.send_replace(true);
    }

    /// Waits until the runner is [closed](Self::close): the end of whatever starts runs by itself.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + use<S> {
        let mut closed = self.inner.closed.subscribe();
        async move {
            // A runner that is gone begins nothing either.
            drop(closed.wait_for(|closed| *closed).await);
        }
    }

    /// Asks the run of a thread to stop after its step, and to leave its thread to others. One that
    /// has not begun a step is not asked: however long it takes to open, the thread comes on.
    pub(crate) fn stop_after_step(&self, thread: &ThreadId) {
        let live = lock(&self.inner.live);
        let control = live.get(thread).and_then(|live| live.control.upgrade());
        if let Some(control) = control.filter(|control| control.has_stepped()) {
            control.stop(StopReason::Drain);
        }
    }

    /// Asks every run of this process to stop after its step, and to leave its thread to others.
    pub(crate) fn drain(&self) {
        for live in lock(&self.inner.live).values() {
            if let Some(control) = live.control.upgrade() {
                control.stop(StopReason::Drain);
            }
        }
    }

    /// Asks every run of this process to stop after its step and to leave its thread to others, and
    /// waits for that at most for `grace`. Returns the number of runs that have not stopped. A
    /// process that shuts down [closes](Self::close) the runner before.
    pub async fn hand_over(&self, grace: Duration) -> usize {
        let all = async {
            loop {
                let rested = self.inner.rested.notified();
                tokio::pin!(rested);
                rested.as_mut().enable();
                if lock(&self.inner.live).is_empty() {
                    return;
                }
                self.drain();
                rested.await;
            }
        };
        match tokio::time::timeout(grace, all).await {
            Ok(()) => 0,
            Err(_) => lock(&self.inner.live).len(),
        }
    }
}

impl<S: State> RunnerInner<S> {
    pub(crate) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Refuses a thread of another agent of the store.
    pub(crate) fn must_own(&self, thread: &ThreadId) -> Result<(), RunError> {
        let prefix = &self.options.prefix;
        if thread.as_str().starts_with(prefix) {
            return Ok(());
        }
        let prefix = prefix.clone();
        Err(RunError::new(RunErrorKind::OtherAgent { prefix }).on(Some(thread), 0))
    }

    pub(crate) async fn acquire(&self, thread: &ThreadId) -> Result<Lease, RunError> {
        self.must_own(thread)?;
        let (owner, ttl) = (self.options.owner.clone(), self.options.ttl());
        if let Some(until) = self.keeper.keep(&*self.log, thread, ttl).await {
            let busy = StoreErrorKind::Busy { owner, until };
            return Err(StoreError::new(busy, "lease").on(thread).into());
        }
        let request = LeaseRequest::Acquire {
            thread: thread.clone(),
            owner,
            ttl,
        };
        match self.log.lease(request).await? {
            LeaseOutcome::Granted(leases) => leases
                .into_iter()
                .next()
                .ok_or(RunErrorKind::NothingToDo)
                .map_err(RunError::new),
            _ => Err(RunError::new(RunErrorKind::Unsupported(
                "a store that grants leases",
            ))),
        }
    }

    /// Returns the threads that runs of this process have.
    pub(crate) fn running(&self) -> Vec<ThreadId> {
        let live = lock(&self.live);
        let has_run = live
            .iter()
            .filter(|(_, run)| run.control.strong_count() > 0);
        has_run.map(|(thread, _)| thread.clone()).collect()
    }

    pub(crate) async fn release(&self, thread: &ThreadId, fence: Fence) {
        let release = LeaseRequest::Release {
            thread: thread.clone(),
            fence,
        };
        if let Err(error) = self.log.lease(release).await {
            // The lease expires by itself.
            tracing::debug!(%thread, %error, "lease could not be released");
        }
    }

    /// Signals the current or next owner of the thread to cancel it.
    pub(super) async fn signal(
        &self,
        thread: &ThreadId,
        by: String,
        why: String,
    ) -> Result<(), StoreError> {
        let signal = LeaseRequest::Signal {
            thread: thread.clone(),
            signal: fugato_store::Signal::Cancel { by, why },
        };
        self.log.lease(signal).await.map(drop)
    }

    /// Removes a signal that came after the end of its run, because it would stop the next one.
    async fn unsignal(&self, thread: &ThreadId) -> Result<(), RunError> {
        let head = self.log.head(thread).await?;
        if head.is_none_or(|head| head.status != Status::Idle) {
            return Ok(());
        }
        // If the lease is held, a run has begun that has stored nothing yet, and gets the signal.
        let Ok(lease) = self.acquire(thread).await else {
            return Ok(());
        };
        let renewal = LeaseRequest::Renew {
            thread: thread.clone(),
            fence: lease.fence,
            ttl: self.options.ttl(),
        };
        let taken = self.log.lease(renewal).await;
        self.release(thread, lease.fence).await;
        match taken? {
            LeaseOutcome::Renewed { signals, .. } if !signals.is_empty() => {
                Err(RunError::new(RunErrorKind::NothingToDo))
            }
            _ => Ok(()),
        }
    }
}
