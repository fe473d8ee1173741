use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use fugato_state::Millis;

/// Before all times that are ever seen.
const NEVER: Millis = -(1 << 62);

/// The server's time in milliseconds since the Unix epoch. It does not depend on time zones, nor
/// ends in 2038.
const SERVER: &str = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01 00:00:00',UTC_TIMESTAMP(6)) DIV 1000";

/// How a statement gets to know the time.
pub(crate) struct StoreClock {
    given: Option<Arc<dyn Fn() -> Millis + Send + Sync>>,
    /// The newest time that the server told: in this process time does not run backwards. Between
    /// processes each thread remembers its own.
    seen: AtomicI64,
}

impl StoreClock {
    pub(crate) fn new(given: Option<Arc<dyn Fn() -> Millis + Send + Sync>>) -> Self {
        Self {
            given,
            seen: AtomicI64::new(NEVER),
        }
    }

    /// An expression of the time, given an expression of what a thread has seen, which may be null:
    /// a variable that is null would make a text of the whole.
    pub(crate) fn now(&self, seen: &str) -> String {
        let newest = self.seen.load(Ordering::Relaxed);
        let now = match &self.given {
            Some(clock) => clock().to_string(),
            None => SERVER.to_owned(),
        };
        format!("GREATEST(COALESCE(CAST({seen} AS SIGNED),{NEVER}),{newest},{now})")
    }

    /// Takes notice of a time that the server told.
    pub(crate) fn see(&self, now: Millis) -> Millis {
        self.seen.fetch_max(now, Ordering::Relaxed);
        now
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreClock")
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}
