//! The renewal of the leases that runs of this process hold.
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use fugato_state::{Millis, ThreadId};
use fugato_store::{Fence, LeaseOutcome, LeaseRequest, StoreErrorKind, ThreadLog};
use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::time::{Instant, MissedTickBehavior};

use crate::control::{Control, StopReason};

type Leases = Mutex<HashMap<ThreadId, (Fence, Arc<Control>)>>;

/// The renewal task of all leases of a runner: a run needs no timer of its own.
#[derive(Default)]
pub(crate) struct LeaseRenewer {
    held: Arc<Leases>,
    running: OnceLock<()>,
}

/// A guard of a lease, which is renewed until the guard is dropped.
pub(crate) struct LeaseGuard {
    leases: Weak<Leases>,
    thread: ThreadId,
    fence: Fence,
}

impl LeaseRenewer {
    pub(crate) fn hold(
        &self,
        log: &Arc<dyn ThreadLog>,
        (thread, fence): (&ThreadId, Fence),
        ttl: Millis,
        control: &Arc<Control>,
    ) -> LeaseGuard {
        lock(&self.held).insert(thread.clone(), (fence, control.clone()));
        self.running.get_or_init(|| {
            tokio::spawn(keep(Arc::downgrade(&self.held), log.clone(), ttl));
        });
        LeaseGuard {
            leases: Arc::downgrade(&self.held),
            thread: thread.clone(),
            fence,
        }
    }
}

impl LeaseRenewer {
    /// Renews the lease of a run of this process, and returns its end; none if no run has the
    /// thread, or if it has lost it. Its time may be over, because the machine slept: another
    /// request would take it from its run.
    pub(crate) async fn keep(
        &self,
        log: &dyn ThreadLog,
        thread: &ThreadId,
        ttl: Millis,
    ) -> Option<Millis> {
        let (fence, control) = lock(&self.held).get(thread).cloned()?;
        renew(log, thread.clone(), fence, ttl, control.clone()).await;
        // One that was on its way is waited for.
        drop(control.asking.lock().await);
        let is_held = !control.is_ending() && control.reason() != Some(StopReason::LeaseLost);
        is_held.then(|| control.lease_until())
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        let Some(leases) = self.leases.upgrade() else {
            return;
        };
        let mut leases = lock(&leases);
        // A later run of the same thread may hold a newer lease under the same name.
        if leases
            .get(&self.thread)
            .is_some_and(|(fence, _)| *fence == self.fence)
        {
            leases.remove(&self.thread);
        }
    }
}

/// Renews all leases at a third of the time to live. No renewal waits for another one: a store that is
/// slow to answer for one thread lets no lease of another run out, nor that of a run that begins
/// meanwhile.
async fn keep(held: Weak<Leases>, log: Arc<dyn ThreadLog>, ttl: Millis) {
    let third = Duration::from_millis(u64::try_from(ttl / 3).unwrap_or(1).max(1));
    let mut rounds = tokio::time::interval_at(Instant::now() + third, third);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked = FuturesUnordered::new();
    loop {
        tokio::select! {
            _ = rounds.tick() => {}
            Some(()) = asked.next(), if !asked.is_empty() => continue,
        }
        let Some(leases) = held.upgrade() else { return };
        let now = lock(&leases);
        asked.extend(now.iter().map(|(thread, (fence, control))| {
            renew(&*log, thread.clone(), *fence, ttl, control.clone())
        }));
    }
}

/// Renews one lease. A run that has lost its lease is stopped: its facts could not be stored any
/// more.
async fn renew(
    log: &dyn ThreadLog,
    thread: ThreadId,
    fence: Fence,
    ttl: Millis,
    control: Arc<Control>,
) {
    // The lease outlasts actions under way: a renewal must not shorten it. One that is on its way
    // suffices.
    let Ok(_asking) = control.asking.try_lock() else {
        return;
    };
    if control.is_ending() {
        return;
    }
    let ttl = ttl.max(control.time_left());
    let renewal = LeaseRequest::Renew {
        thread: thread.clone(),
        fence,
        ttl,
    };
    match log.lease(renewal).await {
        Ok(LeaseOutcome::Renewed { until, signals }) => {
            control.leased(until);
            control.signals(signals);
        }
        Ok(_) => {}
        Err(error) if error.kind == StoreErrorKind::LeaseLost => {
            tracing::warn!(%thread, fence, "lease lost");
            control.stop(StopReason::LeaseLost);
        }
        Err(error) => {
            tracing::warn!(%thread, fence, %error, "lease could not be renewed");
        }
    }
}

fn lock(leases: &Leases) -> MutexGuard<'_, HashMap<ThreadId, (Fence, Arc<Control>)>> {
    leases.lock().unwrap_or_else(PoisonError::into_inner)
}
