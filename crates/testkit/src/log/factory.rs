use std::{error::Error, sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{Drive, Next, RunError};
use fugato_state::ThreadId;
use fugato_store::{Snapshots, StoreError, StoreErrorKind, ThreadAdmin, ThreadLog, ThreadStore};

use super::TestClock;

/// The reason for which a factory has no log to give.
pub type OpenError = Box<dyn Error + Send + Sync>;

/// The source of the logs of a suite.
#[async_trait]
pub trait LogFactory: Send + Sync {
    /// Returns the abilities of the logs.
    fn abilities(&self) -> Abilities;

    /// Returns an empty log, which reads time from `clock`.
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError>;

    /// Returns the log of the last [`fresh`](Self::fresh), as another process would open it. The
    /// first one was dropped before. Only called for logs that are declared persistent.
    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let _ = clock;
        Err("this factory declares persistent logs and cannot reopen them".into())
    }

    /// Returns the longest time that a scenario of the kernel suite may take on these logs: a minute,
    /// unless a server is slower.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// Returns the engine that the kernel suite lets go on with threads, beside the runs that it makes
    /// itself; none by default.
    fn engine(&self) -> Option<&dyn PlacingEngine> {
        None
    }
}

/// An engine that goes on with threads, for the kernel suite.
#[async_trait]
pub trait PlacingEngine: Send + Sync {
    /// Lets the engine go on with a thread that can go on, and returns what the last drive returned:
    /// that which did not [yield](Next::Yield).
    async fn place(&self, agent: Arc<dyn Drive>, thread: &ThreadId) -> Result<Next, RunError>;
}

/// The abilities of the logs of a factory, apart from [`ThreadLog`](fugato_store::ThreadLog).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Abilities {
    pub(super) snapshots: bool,
    pub(super) admin: bool,
    pub(super) persistent: bool,
}

impl Abilities {
    /// Declares no further ability.
    pub fn log_only() -> Self {
        Self {
            snapshots: false,
            admin: false,
            persistent: false,
        }
    }

    /// Declares every ability.
    pub fn all() -> Self {
        Self {
            snapshots: true,
            admin: true,
            persistent: true,
        }
    }

    /// Adds [`Snapshots`].
    pub fn with_snapshots(self) -> Self {
        Self {
            snapshots: true,
            ..self
        }
    }

    /// Adds [`ThreadAdmin`].
    pub fn with_admin(self) -> Self {
        Self {
            admin: true,
            ..self
        }
    }

    /// Adds that acknowledged records are still there when the log is opened again.
    pub fn persistent(self) -> Self {
        Self {
            persistent: true,
            ..self
        }
    }
}

/// An open log with its further interfaces.
#[derive(derive_more::Debug, Clone)]
#[debug(
    "OpenedLog {{ snapshots: {:?}, admin: {:?}, .. }}",
    self.snapshots.is_some(),
    self.admin.is_some()
)]
pub struct OpenedLog {
    /// The log.
    pub log: Arc<dyn ThreadLog>,
    /// Its snapshots, if it declares them.
    pub snapshots: Option<Arc<dyn Snapshots>>,
    /// Its administration, if it declares it.
    pub admin: Option<Arc<dyn ThreadAdmin>>,
}

impl OpenedLog {
    /// Returns its administration.
    pub(crate) fn admin(&self) -> Result<&dyn ThreadAdmin, StoreError> {
        let admin = self.admin.as_deref();
        admin.ok_or_else(|| StoreError::new(StoreErrorKind::Unsupported, "look after"))
    }

    /// Wraps a store that has all interfaces.
    pub fn whole(store: impl ThreadStore + 'static) -> Self {
        let store = Arc::new(store);
        Self {
            log: store.clone(),
            snapshots: Some(store.clone()),
            admin: Some(store),
        }
    }
}

/// Implements [`ThreadAdmin`] for a log by its field `inner`, an [`OpenedLog`].
macro_rules! forward_admin {
    ($log:ty) => {
        #[async_trait::async_trait]
        impl fugato_store::ThreadAdmin for $log {
            async fn list(
                &self,
                filter: fugato_store::ThreadFilter,
            ) -> Result<Vec<fugato_store::ThreadSummary>, StoreError> {
                self.inner.admin()?.list(filter).await
            }

            async fn fork(
                &self,
                thread: &ThreadId,
                base: Snapshot,
                commit: &Commit,
            ) -> Result<AppendResult, StoreError> {
                self.inner.admin()?.fork(thread, base, commit).await
            }

            async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
                self.inner.admin()?.compact(thread, base).await
            }

            async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
                self.inner.admin()?.remove(thread).await
            }
        }
    };
}
pub(crate) use forward_admin;
