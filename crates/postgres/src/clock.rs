//! Time that never runs backwards.
use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
};

use fugato_state::Millis;

use crate::options::Clock;

/// What this process knows of the time of a store.
///
/// The clock is the server's. The server remembers in a sequence the newest time that a lease was
/// about, and in the row of a thread the time of its last change; this remembers what the process
/// was told, so that not even two reads go back.
pub(crate) struct StoreClock {
    instead: Option<Clock>,
    newest: AtomicI64,
}

impl StoreClock {
    pub(crate) fn new(instead: Option<Clock>) -> Self {
        Self {
            instead,
            newest: AtomicI64::new(Millis::MIN),
        }
    }

    /// The time to take in place of the server's, if this store was told one, and the newest that
    /// was seen: the first two parameters of every statement that needs the time.
    pub(crate) fn parameters(&self) -> (Option<Millis>, Millis) {
        let instead = self.instead.as_ref().map(|clock| clock());
        (instead, self.newest.load(Ordering::Relaxed))
    }

    /// Remembers a time that the server told.
    pub(crate) fn saw(&self, now: Millis) -> Millis {
        self.newest.fetch_max(now, Ordering::Relaxed).max(now)
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreClock")
            .field("newest", &self.newest)
            .finish_non_exhaustive()
    }
}
