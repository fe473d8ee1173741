use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use fugato_state::Millis;

/// A time before all others.
const NEVER: Millis = -(1 << 62);

/// The server's time in milliseconds since the Unix epoch, independent of time zones and of the
/// year 2038.
const SERVER: &str = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01 00:00:00',UTC_TIMESTAMP(6)) DIV 1000";

/// The clock of a store, as an SQL expression.
#[derive(derive_more::Debug)]
pub(crate) struct StoreClock {
    #[debug(skip)]
    given: Option<Arc<dyn Fn() -> Millis + Send + Sync>>,
    /// The newest time that the server returned: within this process time does not run backwards.
    /// Between processes each thread stores its own.
    seen: AtomicI64,
}

impl StoreClock {
    pub(crate) fn new(given: Option<Arc<dyn Fn() -> Millis + Send + Sync>>) -> Self {
        Self {
            given,
            seen: AtomicI64::new(NEVER),
        }
    }

    /// Returns an expression of the current time, given an expression of the time that a thread has
    /// seen. It may be null; the cast keeps a null variable from turning the whole expression into
    /// text.
    pub(crate) fn now(&self, seen: &str) -> String {
        let newest = self.seen.load(Ordering::Relaxed);
        let now = match &self.given {
            Some(clock) => clock().to_string(),
            None => SERVER.to_owned(),
        };
        format!("GREATEST(COALESCE(CAST({seen} AS SIGNED),{NEVER}),{newest},{now})")
    }

    /// Records a time that the server returned.
    pub(crate) fn see(&self, now: Millis) -> Millis {
        self.seen.fetch_max(now, Ordering::Relaxed);
        now
    }
}
