use std::sync::Arc;

use fugato_state::Millis;
use fugato_store::system_clock;
use jiff::{Timestamp, tz::TimeZone};

/// A clock, and the zone in which schedules are evaluated. Cheap to clone.
#[derive(derive_more::Debug, Clone)]
#[debug("Clock {{ zone: {zone:?}, .. }}")]
pub struct JobClock {
    zone: TimeZone,
    now: Arc<dyn Fn() -> Millis + Send + Sync>,
}

impl JobClock {
    /// Creates a clock from a zone and a function that returns milliseconds since the Unix epoch.
    pub fn new(zone: TimeZone, now: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        let now = Arc::new(now);
        Self { zone, now }
    }

    /// Returns the clock and zone of this machine.
    pub fn system() -> Self {
        Self::new(TimeZone::system(), system_clock)
    }

    /// Returns the time, in milliseconds since the Unix epoch.
    pub fn now(&self) -> Millis {
        (self.now)()
    }

    /// Returns the zone.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Returns the IANA name of the zone; empty if it has none.
    pub fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or_default()
    }

    /// Formats a time for people: `2026-11-22 12:30:00`.
    pub fn shown(&self, time: Millis) -> String {
        let time = Timestamp::from_millisecond(time).unwrap_or_default();
        let local = time.to_zoned(self.zone.clone());
        local.strftime("%Y-%m-%d %H:%M:%S").to_string()
    }
}
