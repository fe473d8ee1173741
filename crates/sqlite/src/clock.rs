//! A clock that never runs backwards.
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use fugato_state::Millis;

/// A clock that stops while its source is behind.
///
/// An expired lease must not become valid again, and records must not seem older than those before
/// them, even if the machine's clock is set back.
#[derive(derive_more::Debug)]
pub(crate) struct StoreClock {
    #[debug(skip)]
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

    /// Returns the later of `seen` and the newest time so far; another process or a stored record
    /// may have seen a later time.
    pub(crate) fn at_least(&self, seen: Millis) -> Millis {
        self.newest.fetch_max(seen, Ordering::Relaxed).max(seen)
    }
}
