use std::{error::Error, fmt, sync::Arc};

use async_trait::async_trait;
use fugato_store::{Snapshots, ThreadAdmin, ThreadLog, ThreadStore};

use super::TestClock;

/// Why a factory has no log to give.
pub type OpenError = Box<dyn Error + Send + Sync>;

/// Where the suite gets its logs.
#[async_trait]
pub trait LogFactory: Send + Sync {
    /// What the logs can do.
    fn abilities(&self) -> Abilities;

    /// A log with nothing in it, which reads time from `clock`.
    async fn fresh(&self, clock: &TestClock) -> Result<Opened, OpenError>;

    /// What the last [`fresh`](Self::fresh) gave, as another process would open it. It was dropped
    /// before. Only asked of logs that are declared persistent.
    async fn reopen(&self, clock: &TestClock) -> Result<Opened, OpenError> {
        let _ = clock;
        Err("this factory declares persistent logs and cannot reopen them".into())
    }
}

/// What the logs of a factory can do beside being logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Abilities {
    pub(super) snapshots: bool,
    pub(super) admin: bool,
    pub(super) persistent: bool,
}

impl Abilities {
    /// Nothing else.
    pub fn log_only() -> Self {
        Self {
            snapshots: false,
            admin: false,
            persistent: false,
        }
    }

    /// Everything.
    pub fn all() -> Self {
        Self {
            snapshots: true,
            admin: true,
            persistent: true,
        }
    }

    /// They keep [`Snapshots`].
    pub fn with_snapshots(self) -> Self {
        Self {
            snapshots: true,
            ..self
        }
    }

    /// They can be looked after by [`ThreadAdmin`].
    pub fn with_admin(self) -> Self {
        Self {
            admin: true,
            ..self
        }
    }

    /// What they acknowledged is there when they are opened again.
    pub fn persistent(self) -> Self {
        Self {
            persistent: true,
            ..self
        }
    }
}

/// An open log, and its other sides.
#[derive(Clone)]
pub struct Opened {
    /// The log.
    pub log: Arc<dyn ThreadLog>,
    /// Its snapshots, if it declares them.
    pub snapshots: Option<Arc<dyn Snapshots>>,
    /// Its administration, if it declares it.
    pub admin: Option<Arc<dyn ThreadAdmin>>,
}

impl Opened {
    /// A log that has all sides.
    pub fn whole(store: impl ThreadStore + 'static) -> Self {
        let store = Arc::new(store);
        Self {
            log: store.clone(),
            snapshots: Some(store.clone()),
            admin: Some(store),
        }
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("snapshots", &self.snapshots.is_some())
            .field("admin", &self.admin.is_some())
            .finish_non_exhaustive()
    }
}
