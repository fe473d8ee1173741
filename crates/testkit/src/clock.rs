use std::time::Duration;

use fugato_state::Millis;

use crate::log::TestClock;

/// One time for everything in a test: tokio's timers and the clock of a store.
///
/// The engine waits by tokio's clock and judges leases, expiries and retries by the store's. In a
/// test with a paused tokio clock, this makes the store's clock follow it: a wait of an hour takes
/// no time, and afterwards the store's clock is an hour later too.
///
/// ```
/// use std::time::Duration;
///
/// use fugato_store::MemoryLog;
/// use fugato_testkit::VirtualClock;
///
/// # tokio::runtime::Builder::new_current_thread()
/// #     .enable_time()
/// #     .start_paused(true)
/// #     .build()?
/// #     .block_on(async {
/// // In a `#[tokio::test(start_paused = true)]`:
/// let clock = VirtualClock::start(1_000);
/// let store = clock.store();
/// let log = MemoryLog::with_clock(move || store.now());
///
/// tokio::time::sleep(Duration::from_secs(3600)).await;
/// assert_eq!(clock.now(), 3_601_000);
///
/// clock.pass(Duration::from_secs(1)).await;
/// assert_eq!(clock.now(), 3_602_000);
/// # drop(log);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct VirtualClock(TestClock);

impl VirtualClock {
    /// Creates a clock that shows `now` milliseconds since the Unix epoch, and from now on follows
    /// the clock of the runtime in which this is called. On threads outside of every runtime it
    /// shows the last time seen.
    pub fn start(now: Millis) -> Self {
        let clock = TestClock::at(now);
        clock.follow();
        Self(clock)
    }

    /// Returns its time, in milliseconds since the Unix epoch.
    pub fn now(&self) -> Millis {
        self.0.now()
    }

    /// Returns the clock for a store, which shows the same time.
    pub fn store(&self) -> TestClock {
        self.0.clone()
    }

    /// Lets time pass, with everything that is due meanwhile, each at its time. If tokio's clock is
    /// not paused, this takes the given time.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Sets the store's clock forward or, with a negative number of milliseconds, back, as an
    /// operator or a time server does. Timers are not affected.
    pub fn set_off(&self, by: Millis) {
        self.0.advance(by);
    }
}
