use std::{collections::BTreeMap, time::Duration};

use fugato_state::Millis;

use crate::{OnComplete, RunError, RunErrorKind, machine::Meter, policy::millis};

/// How runs behave.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunnerOptions {
    /// How many steps a run may close: 10,000 by default. Each subgraph counts its own.
    pub step_limit: u64,
    /// How often a task may be begun, crashes included, before the run fails: 3 by default.
    pub crash_limit: u32,
    /// Who holds the leases, for messages to people: the process id by default.
    pub owner: String,
    /// How long a lease lasts without renewal: 10 s by default.
    pub lease: Duration,
    /// When what happened is stored: before anything follows from it, by default.
    pub durability: Durability,
    /// When a task starts: with its step, by default.
    pub schedule: Schedule,
    /// How much a run may use, at most: of nothing a limit, by default. Time is in milliseconds.
    pub budgets: BTreeMap<Meter, u64>,
    /// How long a repeat of a named request is recognised: 7 days by default.
    pub key_age: Duration,
    /// How long this process waits for a retry before it leaves the thread to whoever claims it
    /// then; for ever by default.
    pub longest_sleep: Option<Duration>,
    /// What becomes of a thread that has come to its end: it is kept, by default.
    pub on_complete: OnComplete,
}

/// When what happened is stored. In every mode all of it is stored before an effect, and a write
/// that fails stops the run before the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// A step is stored before the next begins. A crash loses nothing that was done.
    #[default]
    Strict,
    /// Steps are stored together. A crash loses at most so many, which then run again.
    Batched {
        /// So many records wait at most.
        max_records: usize,
        /// None waits longer than this, which is below a third of the lease.
        max_delay: Duration,
    },
    /// Steps are stored when the run pauses, ends or has an effect. A crash loses what happened
    /// since, which then runs again.
    AtPause,
}

/// When a task starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// With its step, when all tasks of the step before are done.
    #[default]
    Lockstep,
    /// As soon as something leads to it: no branch waits for another but at a join. The order in
    /// which updates are applied is the order in which tasks end; it is recorded, so that replay is
    /// exact, but two runs may differ.
    Eager,
}

impl Default for RunnerOptions {
    fn default() -> Self {
        Self {
            step_limit: 10_000,
            crash_limit: 3,
            owner: format!("process {}", std::process::id()),
            lease: Duration::from_secs(10),
            durability: Durability::Strict,
            schedule: Schedule::Lockstep,
            budgets: BTreeMap::new(),
            key_age: Duration::from_secs(7 * 24 * 3600),
            longest_sleep: None,
            on_complete: OnComplete::Keep,
        }
    }
}

impl RunnerOptions {
    /// How many steps a run may close.
    #[must_use]
    pub fn step_limit(mut self, steps: u64) -> Self {
        self.step_limit = steps;
        self
    }

    /// How often a task may be begun, crashes included.
    #[must_use]
    pub fn crash_limit(mut self, attempts: u32) -> Self {
        self.crash_limit = attempts;
        self
    }

    /// Who holds the leases, for messages to people.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// How long a lease lasts without renewal.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// When what happened is stored.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// When a task starts.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// How much a run may use of this.
    #[must_use]
    pub fn budget(mut self, meter: Meter, limit: u64) -> Self {
        self.budgets.insert(meter, limit);
        self
    }

    /// How long a repeat of a named request is recognised.
    #[must_use]
    pub fn key_age(mut self, age: Duration) -> Self {
        self.key_age = age;
        self
    }

    /// How long this process waits for a retry before it leaves the thread to others.
    #[must_use]
    pub fn longest_sleep(mut self, sleep: Duration) -> Self {
        self.longest_sleep = Some(sleep);
        self
    }

    /// What becomes of a thread that has come to its end.
    #[must_use]
    pub fn on_complete(mut self, policy: OnComplete) -> Self {
        self.on_complete = policy;
        self
    }

    pub(crate) fn ttl(&self) -> Millis {
        millis(self.lease).max(1)
    }

    /// What makes no sense is refused before anything runs.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        let wrong = |why: String| Err(RunError::new(RunErrorKind::Options(why)));
        match self.durability {
            Durability::Batched { max_records: 0, .. } => {
                wrong("a batch of 0 records is never full: it needs at least 1".into())
            }
            Durability::Batched { max_delay, .. } if max_delay >= self.lease / 3 => wrong(format!(
                "a batch may wait for {max_delay:?}, and must wait for less than a third of the \
                 lease, which lasts {:?}",
                self.lease
            )),
            _ => Ok(()),
        }
    }
}
