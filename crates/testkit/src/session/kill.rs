//! The death of a process, as its store sees it.
use std::{
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fugato_store::{Intercept, InterceptedLog, StoreCall, StoreError, ThreadStore};
use tokio::sync::Notify;

/// The store of one process of a [`Session`](super::Session), which answers nothing any more once
/// the process is dead.
pub type SessionLog = InterceptedLog<Arc<dyn ThreadStore>, Arc<KillSwitch>>;

/// Ends a process by leaving all of its requests to the store without an answer.
#[derive(Debug, Default)]
pub struct KillSwitch {
    fuse: Mutex<Fuse>,
    died: Notify,
}

#[derive(Debug, Default)]
struct Fuse {
    /// The appends that are stored before the one at which the process dies; none if it lives on.
    left: Option<usize>,
    is_dead: bool,
}

impl KillSwitch {
    /// Lets the process die at the next append after this many.
    pub(super) fn arm(&self, appends: usize) {
        self.fuse().left = Some(appends);
    }

    /// Lets the process die now.
    pub(super) fn kill(&self) {
        self.fuse().is_dead = true;
        self.died.notify_waiters();
    }

    /// Returns when the process dies.
    pub(super) async fn died(&self) {
        let mut died = Box::pin(self.died.notified());
        died.as_mut().enable();
        if !self.fuse().is_dead {
            died.await;
        }
    }

    /// Counts an append that is asked for.
    fn count(&self) {
        let mut fuse = self.fuse();
        match &mut fuse.left {
            Some(0) => {
                drop(fuse);
                self.kill();
            }
            Some(left) => *left -= 1,
            None => {}
        }
    }

    async fn alive(&self) {
        if self.fuse().is_dead {
            pending::<()>().await;
        }
    }

    fn fuse(&self) -> MutexGuard<'_, Fuse> {
        self.fuse.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Intercept for KillSwitch {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if matches!(asked, StoreCall::Append(..)) {
            self.count();
        }
        self.alive().await;
        let done = act.await;
        self.alive().await;
        done
    }
}
