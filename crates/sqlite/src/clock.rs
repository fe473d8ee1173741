//! Time that never runs backwards.
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use fugato_state::Millis;

/// The clock of this machine, in milliseconds since the Unix epoch.
pub(crate) fn system_clock() -> Millis {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis::try_from(now.as_millis()).unwrap_or(Millis::MAX)
}

/// A clock that stands still where its source steps back.
///
/// A lease that somebody saw end must not come back to life, and records must not seem older than
/// those before them, whatever is done to the machine's clock.
pub(crate) struct StoreClock {
    source: Arc<dyn Fn() -> Millis + Send + Sync>,
    newest: AtomicI64,
}

impl StoreClock {
    pub(crate) fn new(source: Arc<dyn Fn() -> Millis + Send + Sync>) -> Self {
        Self {
            source,
            newest: AtomicI64::new(Millis::MIN),
        }
    }

    pub(crate) fn now(&self) -> Millis {
        self.at_least((self.source)())
    }

    /// The time, given that another process or a stored record has already seen this one.
    pub(crate) fn at_least(&self, seen: Millis) -> Millis {
        self.newest.fetch_max(seen, Ordering::Relaxed).max(seen)
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreClock")
            .field("newest", &self.newest)
            .finish_non_exhaustive()
    }
}
