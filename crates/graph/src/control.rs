//! The requests from outside that stop a run.
use std::sync::{
    Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use fugato_state::Millis;
use fugato_store::Signal;
use tokio::{sync::Notify, time::Instant};

use crate::{effect::CallQueue, policy::millis};

/// The control of a run, shared by its lease's keeper, its runner and its nodes.
#[derive(derive_more::Debug, Default)]
#[debug("Control {{ .. }}")]
pub(crate) struct Control {
    /// The calls of its tasks, and of clients that answer.
    pub(crate) calls: CallQueue,
    stopping: AtomicBool,
    stop: Mutex<StopRequest>,
    told: Notify,
    /// True if a step of the run has begun.
    stepping: AtomicBool,
    /// True if the lease is about to be released.
    ending: AtomicBool,
    /// The time at which the lease ends, in milliseconds of the store's clock.
    until: AtomicI64,
    /// The time until which the lease must last because an action is under way.
    floor: AtomicI64,
    /// Held during a renewal: a shorter renewal must not follow a longer one, and none may follow
    /// the release of the lease.
    pub(crate) asking: tokio::sync::Mutex<()>,
    /// The store's clock, and the moment of this machine's clock at which it was read.
    clock: OnceLock<(Millis, Instant)>,
}

/// The control of a run that is made when somebody first asks for it: of most runs without a log, nobody
/// does.
#[derive(Default)]
pub(crate) struct LazyControl(OnceLock<Arc<Control>>);

impl LazyControl {
    /// Returns the control if there is one: without one nobody has called, and nobody stops the run.
    #[inline]
    pub(crate) fn known(&self) -> Option<&Control> {
        self.0.get().map(|control| &**control)
    }

    /// Takes no more calls: the driver is gone.
    pub(crate) fn close(&self) {
        static CLOSED: LazyLock<Arc<Control>> = LazyLock::new(|| {
            let control = Control::default();
            control.calls.close();
            Arc::new(control)
        });
        // One that somebody makes now is closed, too.
        self.0.get_or_init(|| CLOSED.clone()).calls.close();
    }
}

impl std::ops::Deref for LazyControl {
    type Target = Arc<Control>;

    fn deref(&self) -> &Arc<Control> {
        self.0.get_or_init(Arc::default)
    }
}

impl From<Arc<Control>> for LazyControl {
    fn from(control: Arc<Control>) -> Self {
        Self(control.into())
    }
}

/// The pending request to stop.
#[derive(Debug, Default)]
struct StopRequest {
    stop: Option<StopReason>,
    /// True if the run is at rest, so that further requests are refused.
    late: bool,
}

/// The reason to stop a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The run was cancelled.
    Cancel { by: String, why: String },
    /// Its process shuts down: the run goes on elsewhere.
    Drain,
    /// The lease was lost: another process may run the thread.
    LeaseLost,
}

impl Control {
    /// Stops the run; returns false if it is at rest already. The first reason counts, but every
    /// other reason replaces a shutdown.
    pub(crate) fn stop(&self, stop: StopReason) -> bool {
        let mut known = self.wish();
        if known.late {
            return false;
        }
        if matches!(known.stop, None | Some(StopReason::Drain)) {
            known.stop = Some(stop);
        }
        drop(known);
        self.stopping.store(true, Ordering::Release);
        self.told.notify_waiters();
        self.told.notify_one();
        true
    }

    /// Marks the run as at rest, so that further requests are refused, and returns the reason to
    /// stop.
    pub(crate) fn rest(&self) -> Option<StopReason> {
        let mut known = self.wish();
        known.late = true;
        known.stop.clone()
    }

    fn wish(&self) -> MutexGuard<'_, StopRequest> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn signals(&self, signals: Vec<Signal>) {
        for signal in signals {
            if let Signal::Cancel { by, why } = signal {
                self.stop(StopReason::Cancel { by, why });
            }
        }
    }

    /// Says that a step begins.
    pub(crate) fn step(&self) {
        self.stepping.store(true, Ordering::Release);
    }

    /// Returns true if a step has begun: a run that stops before has left its thread where it was.
    pub(crate) fn has_stepped(&self) -> bool {
        self.stepping.load(Ordering::Acquire)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        self.wish().stop.clone()
    }

    /// Returns true if the work of the run is to be discarded, rather than brought to an end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_stopping() && self.reason() != Some(StopReason::Drain)
    }

    /// Waits until the run is to stop.
    pub(crate) async fn stopped(&self) {
        loop {
            let told = self.told.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if self.is_stopping() {
                return;
            }
            told.await;
        }
    }

    /// Waits until the work of the run is to be discarded.
    pub(crate) async fn cancelled(&self) {
        loop {
            let told = self.told.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if self.is_cancelled() {
                return;
            }
            told.await;
        }
    }

    pub(crate) fn leased(&self, until: Millis) {
        self.until.store(until, Ordering::Release);
    }

    /// Sets the store's clock.
    pub(crate) fn at(&self, now: Millis) {
        self.clock.get_or_init(|| (now, Instant::now()));
    }

    /// Ends the renewals, because the lease is about to be released.
    pub(crate) fn needs_no_more(&self) {
        self.ending.store(true, Ordering::Release);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Returns how long the lease must last from now, in milliseconds, so that actions under way
    /// end within it.
    pub(crate) fn time_left(&self) -> Millis {
        let Some((now, since)) = self.clock.get() else {
            return 0;
        };
        let now = now.saturating_add(millis(since.elapsed()));
        self.floor.load(Ordering::Acquire).saturating_sub(now)
    }

    pub(crate) fn lease_until(&self) -> Millis {
        self.until.load(Ordering::Acquire)
    }

    /// Keeps the lease at least until then.
    pub(crate) fn hold_until(&self, until: Millis) {
        self.floor.fetch_max(until, Ordering::AcqRel);
    }
}
