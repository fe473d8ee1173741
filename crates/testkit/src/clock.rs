use std::time::Duration;

use fugato_state::Millis;

use crate::log::TestClock;

/// One time for everything in a test: tokio's timers and the clock of a store.
///
/// The engine waits by tokio's clock and judges leases, expiries and retries by the store's. In a
/// test whose tokio clock is paused, this lets the store's clock go with it: a wait of an hour
/// takes no time, and afterwards it is an hour later for the store too.
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
    /// A clock that shows `now` milliseconds since the Unix epoch, and from now on goes with the
    /// clock of the runtime in which this is called. On threads that belong to no runtime it shows
    /// what was seen last.
    pub fn start(now: Millis) -> Self {
        let clock = TestClock::at(now);
        clock.follow();
        Self(clock)
    }

    /// What it shows, in milliseconds since the Unix epoch.
    pub fn now(&self) -> Millis {
        self.0.now()
    }

    /// The clock to give to a store: it shows the same time.
    pub fn store(&self) -> TestClock {
        self.0.clone()
    }

    /// Lets time pass. What is due meanwhile is done, each at its time. Where tokio's clock is not
    /// paused, this takes as long as it says.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Sets the store's clock forward or, with a negative number of milliseconds, back, as an
    /// operator or a time server does. Timers take no notice.
    pub fn set_off(&self, by: Millis) {
        self.0.advance(by);
    }
}
