//! The state that all scopes of a run share: its journal, its tasks, and its limits.
use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc, time::Duration};

use fugato_state::Millis;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{
    Durability, RunError, RunErrorKind, RunnerOptions, Schedule,
    context::RunInner,
    control::Control,
    effect::{BeginCall, NamedEffect, StartDecision},
    journal::{Journal, PendingFact},
    machine::{BudgetUnit, BudgetUsage, EffectRecord, Fact, Machine, Routes, TaskPath},
    projector,
    scope::{AttemptEnd, ScopeAddress},
    tasks::Tasks,
};

/// The state that the scopes of a run share.
pub(crate) struct Engine {
    pub(crate) shared: Arc<RunInner>,
    /// The number that no other thread of this name had, part of the ids of approvals.
    pub(crate) incarnation: u64,
    /// The open approvals to check again, because the values they ask about may have changed.
    pub(crate) recheck: Recheck,
    /// None for a run without a log. It is kept apart, as errors are, because a run without one is
    /// made and moved quickly.
    pub(crate) journal: Option<Box<Journal>>,
    pub(crate) options: Arc<RunnerOptions>,
    /// Tasks that can start.
    pub(crate) ready: ReadyTasks,
    pub(crate) room: Room,
    pub(crate) tasks: Tasks,
    /// Once-only actions that are under way in this process.
    pub(crate) acting: Vec<ActiveEffect>,
    /// Actions of the whole thread whose result is not known yet, with the tasks that began them
    /// here.
    pub(crate) begun: Vec<ThreadEffect>,
    /// Replies to tasks, to be sent when the pending facts are stored.
    pub(crate) replies: Vec<(oneshot::Sender<StartDecision>, StartDecision)>,
    /// Replies to clients whose answers were taken, to be sent when the pending facts are stored.
    pub(crate) taken: Vec<oneshot::Sender<Result<(), RunError>>>,
    /// True if the run comes to rest, so that it takes no more answers.
    pub(crate) resting: bool,
    /// The times at which failed tasks are tried again, with their scopes.
    alarms: BinaryHeap<Reverse<(Millis, Vec<TaskPath>)>>,
    /// The first failure of the run.
    pub(crate) error: Option<Box<RunError>>,
    /// The error that ends the run now although tasks could go on.
    pub(crate) give_up: Option<Box<RunError>>,
    /// True if no task may begin any more; those that run come to their end.
    pub(crate) closing: bool,
    /// The time up to which the wall time of the run is counted, in milliseconds of the store's
    /// clock; 0 if it has no budget of time.
    counted: Millis,
}

/// Tasks that can start, in their order: the scope of each, and its position there. Most steps have
/// one task, which needs no list.
#[derive(Default)]
pub(crate) struct ReadyTasks {
    first: Option<(ScopeAddress, usize)>,
    others: Vec<(ScopeAddress, usize)>,
}

impl ReadyTasks {
    pub(crate) fn push(&mut self, at: ScopeAddress, position: usize) {
        match self.first {
            None => self.first = Some((at, position)),
            Some(_) => self.others.push((at, position)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns the task if there is one alone.
    pub(crate) fn only(&self) -> Option<&(ScopeAddress, usize)> {
        self.first.as_ref().filter(|_| self.others.is_empty())
    }

    /// Removes and returns all of them.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (ScopeAddress, usize)> + use<> {
        let Self { first, others } = std::mem::take(self);
        first.into_iter().chain(others)
    }

    pub(crate) fn clear(&mut self) {
        self.first = None;
        self.others.clear();
    }
}

/// Room for what the next step leaves: what the last one left, of which nobody keeps the fact.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) routes: Routes<TaskPath>,
    pub(crate) updates: Vec<u8>,
}

impl Room {
    /// The most bytes for which room is kept, because a run may wait for long, and with many others.
    pub(crate) const MOST: usize = 4096;

    /// Takes back what a fact took, and the updates beside it.
    pub(crate) fn take_back(&mut self, fact: Fact<TaskPath>, updates: Option<Vec<u8>>) {
        if let Fact::Stepped { routes, .. } = fact {
            self.routes = routes;
            self.routes.clear();
        }
        if let Some(updates) = updates.filter(|updates| updates.capacity() <= Self::MOST) {
            self.updates = updates;
            self.updates.clear();
        }
    }
}

/// The open approvals that are checked again before a run comes to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recheck {
    /// None: the values they ask about have not changed.
    Nothing,
    /// Those of pauses: siblings may have changed the state.
    Pauses,
    /// Those of nodes too: an operator has changed the state.
    All,
}

/// An action under way.
pub(crate) struct ActiveEffect {
    pub(crate) effect: Arc<NamedEffect>,
    pub(crate) not_after: Millis,
    /// Other calls for the same action.
    pub(crate) waiting: Vec<BeginCall>,
}

/// An action of the whole thread, and the task that began it.
pub(crate) struct ThreadEffect {
    pub(crate) trail: Vec<TaskPath>,
    pub(crate) path: TaskPath,
    pub(crate) effect: EffectRecord,
}

impl Drop for Engine {
    fn drop(&mut self) {
        let control = &self.shared.control;
        // A context that outlives its run may make a control, and call.
        if control.known().is_some() || Arc::strong_count(&self.shared) > 1 {
            control.close();
        }
    }
}

impl Engine {
    pub(crate) fn new(
        shared: Arc<RunInner>,
        journal: Option<Box<Journal>>,
        options: Arc<RunnerOptions>,
    ) -> Self {
        let timed = options.budgets.contains_key(&BudgetUnit::WallTime);
        let counted = if timed { shared.now() } else { 0 };
        let recheck = match options.schedule {
            Schedule::Eager => Recheck::Pauses,
            Schedule::Lockstep => Recheck::Nothing,
        };
        Self {
            incarnation: 0,
            recheck,
            shared,
            journal,
            options,
            ready: ReadyTasks::default(),
            room: Room::default(),
            tasks: Tasks::default(),
            acting: vec![],
            begun: vec![],
            replies: vec![],
            taken: vec![],
            resting: false,
            alarms: BinaryHeap::new(),
            error: None,
            give_up: None,
            closing: false,
            counted,
        }
    }

    pub(crate) fn is_eager(&self) -> bool {
        self.options.schedule == Schedule::Eager
    }

    /// Returns true if facts are neither stored nor shown: then none needs to be made.
    pub(crate) fn is_quiet(&self) -> bool {
        self.journal.is_none() && !self.shared.hub.has_subscribers()
    }

    /// Adds a fact to the journal, with the updates beside it, or sends its events at once if there is
    /// no log.
    pub(crate) fn note(
        &mut self,
        at: &ScopeAddress,
        fact: Fact<TaskPath>,
        updates: Option<Vec<u8>>,
    ) {
        if let Some(journal) = &mut self.journal {
            if journal.is_beginning(&fact) {
                journal.began = Some(self.shared.now());
            }
            let at = at.clone();
            journal.push(PendingFact { at, fact, updates });
        } else {
            let events = projector::events(&fact, at, &self.shared, None);
            self.shared.hub.send_all(events);
        }
    }

    /// Returns true if the pending facts must be stored before a node may start.
    #[inline]
    pub(crate) fn must_store(&self) -> bool {
        let Some(journal) = &self.journal else {
            return false;
        };
        match self.options.durability {
            _ if journal.urgent => true,
            Durability::Strict => !journal.can_wait(),
            Durability::Batched {
                max_records,
                max_delay,
            } => journal.is_due(max_records, max_delay),
            Durability::AtPause => journal.is_due(MAX_UNSTORED, Duration::MAX),
        }
    }

    /// Returns the effect of the whole thread that this task began and that has no known end.
    pub(crate) fn begun_by(&self, at: &ScopeAddress, path: TaskPath) -> Option<&EffectRecord> {
        let trail = crate::scope::trail(at);
        let mut begun = self.begun.iter();
        let by = begun.find(|begun| begun.path == path && *begun.trail == *trail);
        by.map(|begun| &begun.effect)
    }

    /// Returns the time for which the pending facts may still wait; none if there are none, or no
    /// limit.
    pub(crate) fn store_within(&self) -> Option<Duration> {
        let journal = self.journal.as_ref()?;
        match self.options.durability {
            _ if journal.urgent => journal.waits().map(|_| Duration::ZERO),
            Durability::Strict => journal.waits().map(|_| Duration::ZERO),
            Durability::Batched { max_delay, .. } => {
                Some(max_delay.saturating_sub(journal.waits()?))
            }
            Durability::AtPause => None,
        }
    }

    pub(crate) fn wake_at(&mut self, until: Millis, at: &ScopeAddress) {
        let trail = crate::scope::trail(at).to_vec();
        self.alarms.push(Reverse((until, trail)));
    }

    /// Returns the time until the first failed task is tried again.
    pub(crate) fn wakes_in(&self) -> Option<Duration> {
        let Reverse((until, _)) = self.alarms.peek()?;
        let wait = until.saturating_sub(self.shared.now()).max(0);
        Some(Duration::from_millis(wait.unsigned_abs()))
    }

    /// Removes and returns the scopes with failed tasks whose retry is due.
    pub(crate) fn due(&mut self) -> Vec<Vec<TaskPath>> {
        let now = self.shared.now();
        let mut due = vec![];
        while let Some(Reverse((until, _))) = self.alarms.peek()
            && *until <= now
        {
            due.extend(self.alarms.pop().map(|Reverse((_, trail))| trail));
        }
        due
    }

    /// Returns the error of a reached step limit; none if a further node may start.
    pub(crate) fn exhausted(&self, machine: &Machine) -> Option<RunError> {
        let limit = self.options.step_limit;
        if machine.steps() >= limit {
            return Some(RunError::new(RunErrorKind::StepLimit { limit }));
        }
        None
    }

    /// Returns the error of a budget that is used up, given the amounts in the log.
    #[inline]
    pub(crate) fn over_budget(&self, spent: &BudgetUsage) -> Option<RunError> {
        let budgets = &self.options.budgets;
        // Walking through an empty map costs more than looking.
        if budgets.is_empty() {
            return None;
        }
        let over = budgets.iter().find(|(meter, limit)| {
            let here = match meter {
                BudgetUnit::WallTime => self.shared.now() - self.counted,
                _ => 0,
            };
            let here = u64::try_from(here).unwrap_or(0);
            let known = spent.get(meter).copied().unwrap_or(0);
            known.saturating_add(here) >= **limit
        });
        over.map(|(meter, limit)| {
            let (meter, limit) = (*meter, *limit);
            RunError::new(RunErrorKind::Budget { meter, limit })
        })
    }

    /// Returns the time since the last call as a spent amount of wall time.
    pub(crate) fn wall_time(&mut self) -> BudgetUsage {
        let now = self.shared.now();
        let passed = u64::try_from(now - self.counted).unwrap_or(0);
        self.counted = now;
        [(BudgetUnit::WallTime, passed)].into()
    }

    /// Returns true if tasks have called, or actions are under way.
    pub(crate) fn is_called(&self) -> bool {
        let control = self.shared.control.known();
        !self.acting.is_empty() || control.is_some_and(|control| !control.calls.is_empty())
    }

    /// Returns true if the work of the run is to be discarded.
    pub(crate) fn is_cancelled(&self) -> bool {
        let control = self.shared.control.known();
        control.is_some_and(Control::is_cancelled)
    }

    /// Returns true if an action of this task is under way.
    pub(crate) fn acts(&self, at: &ScopeAddress, path: TaskPath) -> bool {
        let trail = crate::scope::trail(at);
        self.acting.iter().any(|acting| {
            let who = &acting.effect.who;
            who.task() == Some(path) && crate::scope::trail(&who.at) == trail
        })
    }

    pub(crate) fn start(&mut self, ready: Vec<BoxFuture<'static, AttemptEnd>>) {
        self.tasks.start(ready, self.options.block_in_place);
    }
}

/// The largest number of records that wait in memory with [`Durability::AtPause`].
const MAX_UNSTORED: usize = 4096;
