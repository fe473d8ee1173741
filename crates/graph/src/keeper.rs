//! Keeps the leases of this process alive while runs hold them.
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use fugato_state::{Millis, ThreadId};
use fugato_store::{Fence, LeaseRequest, ThreadLog};

type Leases = Mutex<HashMap<ThreadId, Fence>>;

/// One task for all leases of a runner: a run costs no timer of its own.
#[derive(Default)]
pub(crate) struct Keeper {
    held: Arc<Leases>,
    running: OnceLock<()>,
}

/// A lease that is kept alive until this is dropped.
pub(crate) struct Held {
    leases: Weak<Leases>,
    thread: ThreadId,
    fence: Fence,
}

impl Keeper {
    pub(crate) fn hold(
        &self,
        log: &Arc<dyn ThreadLog>,
        thread: &ThreadId,
        fence: Fence,
        ttl: Millis,
    ) -> Held {
        lock(&self.held).insert(thread.clone(), fence);
        self.running.get_or_init(|| {
            tokio::spawn(keep(Arc::downgrade(&self.held), log.clone(), ttl));
        });
        Held {
            leases: Arc::downgrade(&self.held),
            thread: thread.clone(),
            fence,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(leases) = self.leases.upgrade() else {
            return;
        };
        let mut leases = lock(&leases);
        // A later run of the same thread may hold a newer lease under the same name.
        if leases.get(&self.thread) == Some(&self.fence) {
            leases.remove(&self.thread);
        }
    }
}

/// Renews at a third of the time to live. A lease that is lost needs no action here: the next
/// append of its run fails by the fence.
async fn keep(held: Weak<Leases>, log: Arc<dyn ThreadLog>, ttl: Millis) {
    let third = Duration::from_millis(u64::try_from(ttl / 3).unwrap_or(1).max(1));
    loop {
        tokio::time::sleep(third).await;
        let Some(leases) = held.upgrade() else { return };
        let now: Vec<_> = lock(&leases).iter().map(|(t, f)| (t.clone(), *f)).collect();
        drop(leases);
        for (thread, fence) in now {
            let renewal = LeaseRequest::Renew {
                thread: thread.clone(),
                fence,
                ttl,
            };
            if let Err(error) = log.lease(renewal).await {
                tracing::warn!(%thread, fence, %error, "a lease could not be renewed");
            }
        }
    }
}

fn lock(leases: &Leases) -> MutexGuard<'_, HashMap<ThreadId, Fence>> {
    leases.lock().unwrap_or_else(PoisonError::into_inner)
}
