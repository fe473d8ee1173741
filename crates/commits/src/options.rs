use std::{sync::Arc, time::Duration};

use fugato_state::Millis;

/// Options for using a store of objects.
#[derive(smart_default::SmartDefault, derive_more::Debug, Clone)]
#[must_use]
pub struct CommitLogOptions {
    #[default(Duration::from_secs(2))]
    pub(crate) max_skew: Duration,
    #[default(Duration::from_secs(7 * 24 * 60 * 60))]
    pub(crate) zombie_age: Duration,
    #[debug(skip)]
    pub(crate) clock: Option<Arc<dyn Fn() -> Millis + Send + Sync>>,
}

impl CommitLogOptions {
    fugato_state::setters! {
        /// Sets how far the clocks of two processes may be apart; two seconds if not set. Opening
        /// refuses a clock that is further from that of the store, and a lease that ran out is
        /// taken by others only after this time.
        pub fn max_skew(time: Duration) { max_skew = time }

        /// Sets the time for which objects stay that are not read any more; seven days if not set.
        /// A process that was suspended amid a write, for less than this time, cannot write what was compacted or
        /// removed meanwhile. All processes of a store need the same time.
        pub fn zombie_age(time: Duration) { zombie_age = time }

        /// Sets the clock, in milliseconds since the Unix epoch; that of this machine, corrected by
        /// its offset from the store's, if not set. A given clock is not measured when opening.
        pub fn clock(clock: impl Fn() -> Millis + Send + Sync + 'static) {
            clock = Some(Arc::new(clock))
        }
    }

    /// Returns the age up to which knowledge of a thread's end can be trusted: nothing that was
    /// created after it can have been deleted since.
    pub(crate) fn trusted_age(&self) -> Duration {
        self.zombie_age / 2
    }
}

/// Returns a time in milliseconds.
pub(crate) fn millis(time: Duration) -> Millis {
    Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX)
}
