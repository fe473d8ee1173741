//! The state that all processes of one simulated case share.
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
    fault::{Activity, Fault, Plan},
    world::WorldAction,
};
use crate::log::TestClock;

/// The delay of a late request or answer: long after leases and actions have run out.
pub(super) const LATE: Duration = Duration::from_secs(60);
/// The duration of an outage of the store, in milliseconds.
pub(super) const OUTAGE: Millis = 30_000;

/// The part of a case that outlives its processes: the clock, the plan of faults, and the
/// observations.
pub(super) struct Core {
    pub(super) clock: TestClock,
    pub(super) torn: bool,
    plan: Plan,
    seen: Mutex<Observations>,
}

#[derive(Default)]
pub(super) struct Observations {
    /// The points passed, in order, each with a label for the reader.
    pub(super) points: Vec<(Activity, String)>,
    /// The faults that took effect, in order.
    pub(super) fired: Vec<(usize, Fault)>,
    /// The actions on the outside world, by name and address.
    pub(super) actions: BTreeMap<(String, String), WorldAction>,
    /// The failures of the world, by name.
    pub(super) outages: BTreeMap<String, u32>,
    /// The effects in doubt about which a person was asked.
    pub(super) doubts: BTreeSet<String>,
    /// The effects whose receipts the store has acknowledged.
    pub(super) receipts: BTreeSet<String>,
    /// The questions whose answers the store has acknowledged.
    pub(super) answered: BTreeSet<String>,
    /// The furthest position that the store has acknowledged.
    pub(super) acknowledged: Seq,
    /// An append of a dead process that is still under way.
    pub(super) late: Option<(ThreadId, Commit)>,
    /// The position at which the torn end of the file begins.
    pub(super) torn: Option<u64>,
    /// The time until which the store does not answer.
    pub(super) down_until: Millis,
    pub(super) in_flight: usize,
    pub(super) most_in_flight: usize,
    /// The number of processes that are stalled.
    pub(super) stalled: usize,
    /// The broken promises that were noticed on the way.
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

    pub(super) fn seen(&self) -> MutexGuard<'_, Observations> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a point, and returns the fault that occurs there, if there is one.
    pub(super) fn pass(&self, doing: Activity, label: impl Into<String>) -> Option<Fault> {
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

/// A process. After its death no code of it runs on.
#[derive(Default)]
pub(super) struct Process {
    dead: AtomicBool,
    died: Notify,
}

impl Process {
    /// Returns at once in a live process, and never in a dead one.
    pub(super) async fn alive(&self) {
        if self.dead.load(Ordering::Acquire) {
            pending::<()>().await;
        }
    }

    /// Ends the process. It never returns.
    pub(super) async fn die<T>(&self) -> T {
        self.dead.store(true, Ordering::Release);
        self.died.notify_one();
        pending().await
    }

    /// Waits until the process has died.
    pub(super) async fn died(&self) {
        self.died.notified().await;
    }
}

/// Returns the task and the key of an idempotency key, without the thread and its incarnation.
pub(super) fn address(id: &str) -> &str {
    let begins = id.find('@').and_then(|at| {
        let rest = id.get(at..)?;
        rest.find('/').map(|slash| at + slash)
    });
    begins.and_then(|begins| id.get(begins..)).unwrap_or(id)
}

/// Returns true if the actions of a class are checked and counted: those of every class but `Pure`.
pub(super) fn counts(class: EffectClass) -> bool {
    class != EffectClass::Pure
}
