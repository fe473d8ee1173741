//! The way of calls to the driver of a run.
use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use futures::task::AtomicWaker;

use super::Call;

/// The calls to the driver of a run, in their order. Most tasks never call: looking for a call
/// reads one flag, and a queue without calls allocates nothing.
#[derive(Default)]
pub(crate) struct CallQueue {
    /// True if there are calls.
    called: AtomicBool,
    pending: Mutex<Pending>,
    driver: AtomicWaker,
}

#[derive(Default)]
struct Pending {
    calls: VecDeque<Call>,
    /// True if the driver is gone.
    closed: bool,
}

impl CallQueue {
    /// Adds a call, and wakes the driver. Without a driver the call is dropped.
    pub(crate) fn send(&self, call: Call) {
        let mut pending = self.pending();
        if pending.closed {
            return;
        }
        pending.calls.push_back(call);
        self.called.store(true, Ordering::Release);
        drop(pending);
        self.driver.wake();
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.called.load(Ordering::Acquire)
    }

    /// Removes and returns the next call.
    pub(crate) fn take(&self) -> Option<Call> {
        if self.is_empty() {
            return None;
        }
        let mut pending = self.pending();
        let call = pending.calls.pop_front();
        self.called
            .store(!pending.calls.is_empty(), Ordering::Release);
        call
    }

    /// Waits for the next call.
    pub(crate) async fn next(&self) -> Call {
        poll_fn(|cx| {
            if let Some(call) = self.take() {
                return Poll::Ready(call);
            }
            self.driver.register(cx.waker());
            // One may have come before the waker was there.
            self.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Drops the calls, and every later one: the driver is gone.
    pub(crate) fn close(&self) {
        let mut pending = self.pending();
        pending.closed = true;
        self.called.store(false, Ordering::Release);
        let calls = std::mem::take(&mut pending.calls);
        drop(pending);
        // Outside of the lock: what a call holds may call when it is dropped.
        drop(calls);
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
