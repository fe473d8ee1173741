//! The bounded queue of one reader: what is merged, kept and dropped when it lags.
use std::{collections::VecDeque, sync::Mutex};

use fugato_state::Seq;
use futures::task::AtomicWaker;

use super::{
    CAPACITY,
    block::{BlockPlace, block, merge, same_block},
    lock,
};
use crate::{Event, EventKind};

/// The queue of a reader, and the way to wake it.
#[derive(Debug, Default)]
pub(super) struct Ring {
    pub(super) queue: Mutex<Queue>,
    pub(super) waker: AtomicWaker,
}

/// The events that a reader has not read yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) events: VecDeque<Event>,
    pub(super) lagged: Option<Seq>,
    pub(super) closed: bool,
}

impl Ring {
    pub(super) fn push(&self, events: impl IntoIterator<Item = Event>) {
        let mut queue = lock(&self.queue);
        let idle = queue.events.is_empty() && queue.lagged.is_none();
        // After a dropped event, later ones come from the log too, or they would overtake it.
        if queue.lagged.is_none() && queue.events.len() < CAPACITY {
            queue.events.extend(events);
        } else {
            for event in events {
                queue.squeeze(event);
            }
        }
        drop(queue);
        if idle {
            self.waker.wake();
        }
    }
}

impl Queue {
    /// Adds an event to a full queue, or drops it.
    fn squeeze(&mut self, event: Event) {
        if let Some(seq) = event.seq {
            self.lagged.get_or_insert(seq);
        } else if block(&event.kind).is_some() {
            self.squeeze_block(event);
        } else if is_last(&event.kind) {
            self.events.push_back(event);
        }
    }

    /// Keeps the text of blocks, with the boundary between two of the same name. Memory grows with
    /// the text, independent of the number of pieces.
    fn squeeze_block(&mut self, event: Event) {
        let queued = self
            .events
            .iter()
            .rposition(|queued| same_block(queued, &event));
        let last = queued.and_then(|at| self.events.get_mut(at));
        let place = |event: &Event| block(&event.kind).map(|(_, _, place)| place);
        match (last.as_deref().and_then(place), place(&event)) {
            (Some(BlockPlace::Middle), Some(BlockPlace::Middle)) => {
                if let Some(last) = last {
                    merge(last, &event);
                }
            }
            // A block of which nothing is left.
            (Some(BlockPlace::Start), Some(BlockPlace::End)) => {
                if let Some(at) = queued {
                    self.events.remove(at);
                }
            }
            (Some(BlockPlace::Start), Some(BlockPlace::Start))
            | (Some(BlockPlace::End), Some(BlockPlace::End)) => {}
            _ => self.events.push_back(event),
        }
    }
}

/// Returns true for an event that must reach a lagging reader although it is not in the log, such
/// as the end of a run.
fn is_last(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::RunFinished { .. }
            | EventKind::RunParked { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled { .. }
            | EventKind::InterruptRaised(_)
            | EventKind::InterruptAnswered { .. }
            | EventKind::InterruptExpired { .. }
            | EventKind::Card { .. }
    )
}
