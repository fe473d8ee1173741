//! What all processes of one simulated case share.
use std::{
    collections::{BTreeMap, BTreeSet},
    future::pending,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fugato_state::{EffectClass, Millis, Seq, ThreadId};
use fugato_store::Commit;
use tokio::sync::Notify;

use super::{
    fault::{Doing, Fault, Plan},
    world::Deed,
};
use crate::log::TestClock;

/// How late what is late comes: long after leases and actions have run out.
pub(super) const LATE: Duration = Duration::from_secs(60);
/// How long a store is down.
pub(super) const OUTAGE: Millis = 30_000;

/// What outlives the processes of a case: the world, the store's mishaps, and what was seen.
pub(super) struct Core {
    pub(super) clock: TestClock,
    pub(super) torn: bool,
    plan: Plan,
    seen: Mutex<Seen>,
}

#[derive(Default)]
pub(super) struct Seen {
    /// Every point that was passed, in order, with what a reader should know of it.
    pub(super) points: Vec<(Doing, String)>,
    /// What went wrong, in order.
    pub(super) fired: Vec<(usize, Fault)>,
    /// What was done to the outside world.
    pub(super) deeds: BTreeMap<(String, String), Deed>,
    /// How often the world has failed under a name.
    pub(super) outages: BTreeMap<String, u32>,
    /// The effects of which a person was asked whether they happened.
    pub(super) doubts: BTreeSet<String>,
    /// The effects whose receipts the store has acknowledged.
    pub(super) receipts: BTreeSet<String>,
    /// The questions whose answers the store has acknowledged.
    pub(super) answered: BTreeSet<String>,
    /// The furthest position that the store has acknowledged.
    pub(super) acknowledged: Seq,
    /// An append of a dead process that is still under way.
    pub(super) late: Option<(ThreadId, Commit)>,
    /// Where the torn end of the file begins.
    pub(super) torn: Option<u64>,
    /// Until when the store does not answer.
    pub(super) down_until: Millis,
    pub(super) in_flight: usize,
    pub(super) most_in_flight: usize,
    /// Processes that stand still.
    pub(super) stalled: usize,
    /// Broken promises that were noticed on the way.
    pub(super) broken: Vec<String>,
}

impl Core {
    pub(super) fn new(clock: TestClock, plan: Plan, torn: bool) -> Self {
        Self {
            clock,
            torn,
            plan,
            seen: Mutex::default(),
        }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A point is passed. What goes wrong there?
    pub(super) fn pass(&self, doing: Doing, label: impl Into<String>) -> Option<Fault> {
        let mut seen = self.seen();
        seen.points.push((doing, label.into()));
        let point = seen.points.len();
        let fault = self.plan.at(point, doing, self.torn)?;
        let stalls = matches!(fault, Fault::StallsBefore | Fault::StallsAfter);
        if !doing.faults(self.torn).contains(&fault) || (stalls && seen.stalled > 0) {
            return None;
        }
        seen.fired.push((point, fault));
        Some(fault)
    }

    pub(super) fn broke(&self, what: impl Into<String>) {
        self.seen().broken.push(what.into());
    }
}

/// A process: it can die, and nothing that belongs to it does anything from then on.
#[derive(Default)]
pub(super) struct Process {
    dead: AtomicBool,
    died: Notify,
}

impl Process {
    /// Goes on only in a process that lives.
    pub(super) async fn alive(&self) {
        if self.dead.load(Ordering::Acquire) {
            pending::<()>().await;
        }
    }

    /// Dies. Nobody comes back from here.
    pub(super) async fn die<T>(&self) -> T {
        self.dead.store(true, Ordering::Release);
        self.died.notify_one();
        pending().await
    }

    /// Waits until it has died.
    pub(super) async fn died(&self) {
        self.died.notified().await;
    }
}

/// An idempotency key without the thread and the time at which it began: the task and the key.
pub(super) fn address(id: &str) -> &str {
    let begins = id.find('@').and_then(|at| {
        let rest = id.get(at..)?;
        rest.find('/').map(|slash| at + slash)
    });
    begins.and_then(|begins| id.get(begins..)).unwrap_or(id)
}

/// What is counted of actions that may be repeated.
pub(super) fn counts(class: EffectClass) -> bool {
    class != EffectClass::Pure
}
