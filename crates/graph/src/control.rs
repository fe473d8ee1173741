//! How a run is told from outside to stop.
use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use fugato_state::Millis;
use fugato_store::Signal;
use tokio::{sync::Notify, time::Instant};

use crate::policy::millis;

/// What a run shares with whoever may stop it: its lease's keeper, its runner, its nodes.
#[derive(Debug, Default)]
pub(crate) struct Control {
    stopping: AtomicBool,
    stop: Mutex<Wish>,
    told: Notify,
    /// Whether the lease is about to be given back.
    ending: AtomicBool,
    /// When the lease ends, in milliseconds of the store's clock.
    until: AtomicI64,
    /// Until when the lease must last because an action is under way.
    floor: AtomicI64,
    /// Held while more time is asked for: who asks for less must not come after who asks for more,
    /// and nobody after the lease was given back.
    pub(crate) asking: tokio::sync::Mutex<()>,
    /// The store's clock at some moment of this machine's.
    clock: OnceLock<(Millis, Instant)>,
}

/// The wish to stop.
#[derive(Debug, Default)]
struct Wish {
    stop: Option<Stop>,
    /// Whether the run is at rest: nobody asks what is wished any more.
    late: bool,
}

/// Why a run stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Somebody cancelled it.
    Cancel { by: String, why: String },
    /// Its process wants to end: it goes on elsewhere.
    Drain,
    /// The lease is gone: somebody else may run it.
    LeaseLost,
}

impl Control {
    /// Stops the run, unless it is at rest already. The first reason counts, but a cancellation
    /// outranks the end of a process.
    pub(crate) fn stop(&self, stop: Stop) -> bool {
        let mut known = self.wish();
        if known.late {
            return false;
        }
        if matches!(known.stop, None | Some(Stop::Drain)) {
            known.stop = Some(stop);
        }
        drop(known);
        self.stopping.store(true, Ordering::Release);
        self.told.notify_waiters();
        self.told.notify_one();
        true
    }

    /// The run is at rest: why it was to stop, after which nobody can wish it any more.
    pub(crate) fn rest(&self) -> Option<Stop> {
        let mut known = self.wish();
        known.late = true;
        known.stop.clone()
    }

    fn wish(&self) -> MutexGuard<'_, Wish> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn signals(&self, signals: Vec<Signal>) {
        for signal in signals {
            if let Signal::Cancel { by, why } = signal {
                self.stop(Stop::Cancel { by, why });
            }
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn reason(&self) -> Option<Stop> {
        self.wish().stop.clone()
    }

    /// Whether what the run does is to be thrown away, rather than ended in peace.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_stopping() && self.reason() != Some(Stop::Drain)
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

    /// Waits until what the run does is to be thrown away.
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

    /// From here on no more time is asked for: the lease is about to be given back.
    pub(crate) fn needs_no_more(&self) {
        self.ending.store(true, Ordering::Release);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// How long the lease must last from now, in milliseconds, for what is under way to end in it.
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
