//! The renewal of the leases that runs of this process hold.
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use fugato_state::{Millis, ThreadId};
use fugato_store::{Fence, LeaseOutcome, LeaseRequest, StoreErrorKind, ThreadLog};

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

/// Renews all leases at the same time, at a third of the time to live: a slow response for one does
/// not let another expire.
async fn keep(held: Weak<Leases>, log: Arc<dyn ThreadLog>, ttl: Millis) {
    let third = Duration::from_millis(u64::try_from(ttl / 3).unwrap_or(1).max(1));
    loop {
        tokio::time::sleep(third).await;
        let Some(leases) = held.upgrade() else { return };
        let now: Vec<_> = lock(&leases)
            .iter()
            .map(|(thread, (fence, control))| (thread.clone(), *fence, control.clone()))
            .collect();
        drop(leases);
        let renewals = now
            .into_iter()
            .map(|(thread, fence, control)| renew(&*log, thread, fence, ttl, control));
        futures::future::join_all(renewals).await;
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
    // The lease outlasts actions under way: a renewal must not shorten it.
    let _asking = control.asking.lock().await;
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
