use std::{collections::BTreeMap, time::Duration};

use fugato_state::Millis;

use crate::{Retention, RunError, RunErrorKind, machine::BudgetUnit, policy::millis};

/// The options of a runner.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunnerOptions {
    /// The step limit of a run: 10,000 by default. Each subgraph counts its own.
    #[default(10_000)]
    pub step_limit: u64,
    /// The number of times a task may be begun, crashes included, before the run fails: 3 by
    /// default.
    #[default(3)]
    pub crash_limit: u32,
    /// The owner of the leases, for messages to people: the process id by default.
    #[default(format!("process {}", std::process::id()))]
    pub owner: String,
    /// The beginning of the names of the threads of this agent: nothing by default, so that it has
    /// every thread of its store.
    pub prefix: String,
    /// The time to live of a lease without renewal: 10 s by default.
    #[default(Duration::from_secs(10))]
    pub lease: Duration,
    /// The durability: [`Durability::Strict`] by default.
    #[default(Durability::Strict)]
    pub durability: Durability,
    /// The schedule: [`Schedule::Lockstep`] by default.
    #[default(Schedule::Lockstep)]
    pub schedule: Schedule,
    /// The budgets of a run, by meter: none by default. Time is in milliseconds.
    pub budgets: BTreeMap<BudgetUnit, u64>,
    /// The time for which a repeat of a named request is recognised: 7 days by default.
    #[default(Duration::from_secs(7 * 24 * 3600))]
    pub key_age: Duration,
    /// The longest wait for a retry in this process; before a longer one it leaves the thread to a
    /// later owner. Unlimited by default.
    pub longest_sleep: Option<Duration>,
    /// The retention of a thread that has come to its end: it is kept, by default.
    #[default(Retention::Keep)]
    pub on_complete: Retention,
    /// True if nodes may compute for long: a worker of the runtime hands its other tasks over before it
    /// goes on with a run, which costs some microseconds each time. False by default. A runtime of one
    /// thread has nobody to hand them to.
    pub block_in_place: bool,
}

/// The time at which facts are stored. In every mode all of them are stored before an effect, and a
/// write that fails stops the run before the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// A step is stored before the next begins. A crash loses nothing that was done.
    #[default]
    Strict,
    /// Steps are stored in batches. A crash loses at most one batch, whose steps then run again.
    Batched {
        /// The largest number of records that wait.
        max_records: usize,
        /// The longest wait of a record, which must be below a third of the lease.
        max_delay: Duration,
    },
    /// Steps are stored when the run pauses, ends or has an effect. A crash loses the steps since
    /// then, which run again.
    AtPause,
}

/// The time at which a task starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// With its step, when all tasks of the step before are done.
    #[default]
    Lockstep,
    /// As soon as a route leads to it: no branch waits for another but at a join. The order in
    /// which updates are applied is the order in which tasks end; it is recorded, so that replay is
    /// exact, but two runs may differ.
    Eager,
}

impl RunnerOptions {
    fugato_state::setters! {
        /// Sets the step limit of a run.
        pub fn step_limit(steps: u64) { step_limit = steps }

        /// Sets the number of times a task may be begun, crashes included.
        pub fn crash_limit(attempts: u32) { crash_limit = attempts }

        /// Sets the owner of the leases, for messages to people.
        pub fn owner(owner: impl Into<String>) { owner = owner.into() }

        /// Sets the beginning of the names of the threads of this agent, such as `orders/`. Several
        /// agents share a store if none of their prefixes begins with another one's: a worker then
        /// claims the threads of its own agent only, and a request for another thread is refused.
        pub fn prefix(prefix: impl Into<String>) { prefix = prefix.into() }

        /// Sets the time to live of a lease without renewal.
        pub fn lease(lease: Duration) { lease = lease }

        /// Sets the durability.
        pub fn durability(durability: Durability) { durability = durability }

        /// Sets the schedule.
        pub fn schedule(schedule: Schedule) { schedule = schedule }

        /// Sets the budget of a run for one meter.
        pub fn budget(meter: BudgetUnit, limit: u64) { budgets.insert(meter, limit) }

        /// Sets the time for which a repeat of a named request is recognised.
        pub fn key_age(age: Duration) { key_age = age }

        /// Sets the longest wait for a retry in this process.
        pub fn longest_sleep(sleep: Duration) { longest_sleep = Some(sleep) }

        /// Sets the retention of a thread that has come to its end.
        pub fn on_complete(policy: Retention) { on_complete = policy }

        /// Lets nodes compute for long if true: no other task of the runtime waits for them.
        pub fn block_in_place(hands_over: bool) { block_in_place = hands_over }
    }

    pub(crate) fn ttl(&self) -> Millis {
        millis(self.lease).max(1)
    }

    /// Checks the options before anything runs.
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
