use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fugato_state::Millis;
use fugato_store::LeaseOutcome;
use tokio::{runtime::Handle, time::Instant};

use super::{
    Failure, LogFactory,
    failure::holds,
    trial::{Trial, commit, thread},
};

/// A clock that a test sets. Clones show the same time.
#[derive(Debug, Clone)]
pub struct TestClock(Arc<Mutex<Time>>);

#[derive(Debug)]
struct Time {
    base: Millis,
    /// The time of `base` by the clock of the runtime that is followed.
    origin: Option<Instant>,
    /// The last time shown, for threads outside of the runtime.
    shown: Millis,
}

impl TestClock {
    /// Creates a clock that shows this many milliseconds since the Unix epoch.
    pub fn at(now: Millis) -> Self {
        Self(Arc::new(Mutex::new(Time {
            base: now,
            origin: None,
            shown: now,
        })))
    }

    /// Returns its time.
    pub fn now(&self) -> Millis {
        let mut time = self.time();
        time.shown = match time.origin {
            None => time.base,
            Some(origin) if Handle::try_current().is_ok() => {
                let passed = Millis::try_from(origin.elapsed().as_millis());
                time.base.saturating_add(passed.unwrap_or(Millis::MAX))
            }
            Some(_) => time.shown,
        };
        time.shown
    }

    /// Moves the clock, forwards or backwards.
    pub fn advance(&self, by: Millis) {
        self.time().base += by;
    }

    /// Follows the clock of this runtime from now on.
    pub(crate) fn follow(&self) {
        let now = self.now();
        let mut time = self.time();
        (time.base, time.origin) = (now, Some(Instant::now()));
    }

    /// Stops at its present time.
    pub(crate) fn leave(&self) {
        let now = self.now();
        let mut time = self.time();
        (time.base, time.origin) = (now, None);
    }

    fn time(&self) -> MutexGuard<'_, Time> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Contract *lease*, its last sentence: if the clock steps back, the time of the log does not. A
/// lease that ended stays ended, nothing is written in the past, and the time survives reopening.
pub async fn time_never_runs_backwards(factory: &dyn LogFactory) -> Result<(), Failure> {
    let mut trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    let first = trial.acquire(&alpha, "first", 1_000).await?;
    trial.clock.advance(5_000);
    let late = trial
        .log
        .append(&alpha, &commit(0, first.fence, &["a"]))
        .await?
        .now;
    trial.clock.advance(-4_500);
    for reopened in [false, true] {
        if reopened && !trial.reopen().await? {
            break;
        }
        let head = trial.head(&alpha).await?.now;
        holds(head >= late, || {
            format!("time of the head: {head} after {late} was seen")
        })?;
        let renewed = trial.renew(&alpha, first.fence, 1_000).await?;
        let lasts = matches!(renewed, LeaseOutcome::Renewed { until, .. } if until >= late + 1_000);
        holds(lasts, || format!("{renewed:?}, after {late} was seen"))?;
    }
    trial.release(&alpha, first.fence).await?;
    let head = trial.head(&alpha).await?.seq;
    let now = trial
        .log
        .append(&alpha, &commit(head, first.fence, &["b"]))
        .await?
        .now;
    holds(now >= late, || {
        format!("time of an append: {now} after {late} was seen")
    })?;
    let second = trial.acquire(&alpha, "second", 1_000).await?;
    holds(second.now >= late && second.until >= late + 1_000, || {
        format!(
            "a lease granted at {} until {}, after {late} was seen",
            second.now, second.until
        )
    })
}
