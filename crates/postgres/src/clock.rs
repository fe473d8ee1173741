//! A clock that never runs backwards.
use std::sync::atomic::{AtomicI64, Ordering};

use fugato_state::Millis;

use crate::options::Clock;

/// The time of a store, as this process has seen it.
///
/// The clock is the server's. A sequence on the server holds the newest time of a lease operation,
/// and the row of a thread holds the time of its last change. This holds the newest time that the
/// process has received, so that not even two reads go back.
#[derive(derive_more::Debug)]
pub(crate) struct StoreClock {
    #[debug(skip)]
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

    /// Returns the time to use instead of the server's, if the options set a clock, and the newest
    /// time seen. These are the first two parameters of every statement that needs the time.
    pub(crate) fn parameters(&self) -> (Option<Millis>, Millis) {
        let instead = self.instead.as_ref().map(|clock| clock());
        (instead, self.newest.load(Ordering::Relaxed))
    }

    /// Records a time that the server returned, and returns the newest time seen.
    pub(crate) fn saw(&self, now: Millis) -> Millis {
        self.newest.fetch_max(now, Ordering::Relaxed).max(now)
    }
}
