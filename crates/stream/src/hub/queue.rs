//! The bounded queue of one reader: what is merged, kept and dropped when it lags.
use std::{collections::VecDeque, sync::Mutex};

use fugato_state::Seq;
use futures::task::AtomicWaker;

use super::{
    CAPACITY, Piece,
    block::{BlockPlace, block, merge, same_block},
    lock,
};
use crate::{Event, EventKind, Text};

/// The queue of a reader, and the way to wake it.
#[derive(Debug, Default)]
pub(super) struct Ring {
    pub(super) queue: Mutex<Queue>,
    pub(super) waker: AtomicWaker,
}

/// The events that a reader has not read yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) events: Batch,
    pub(super) lagged: Option<Seq>,
    pub(super) closed: bool,
}

/// Events in their order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    events: VecDeque<Event>,
    /// The further pieces of the last event, as text alone: most of what is sent are the pieces of
    /// one block, and an event has many times their size.
    pieces: VecDeque<Text>,
}

impl Ring {
    pub(super) fn push(&self, events: impl IntoIterator<Item = Event>) {
        self.add(|queue, has_room| {
            for event in events {
                if has_room {
                    queue.events.push(event);
                } else {
                    queue.squeeze(event);
                }
            }
        });
    }

    pub(super) fn push_piece(&self, piece: Piece<'_>) {
        self.add(|queue, has_room| {
            if queue.events.append(piece, has_room) {
                return;
            }
            if has_room {
                queue.events.push(piece.event());
            } else {
                queue.squeeze(piece.event());
            }
        });
    }

    /// Adds events to the queue, and wakes a reader that has read everything before. After a dropped
    /// event, later ones come from the log too, or they would overtake it: there is no room then.
    fn add(&self, add: impl FnOnce(&mut Queue, bool)) {
        let mut queue = lock(&self.queue);
        let is_lagging = queue.lagged.is_some();
        let waiting = queue.events.len();
        add(&mut queue, !is_lagging && waiting < CAPACITY);
        drop(queue);
        if waiting == 0 && !is_lagging {
            self.waker.wake();
        }
    }
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.events.len() + self.pieces.len()
    }

    pub(super) fn push(&mut self, event: Event) {
        self.spread();
        self.events.push_back(event);
    }

    /// Adds a piece to the block of the last event: as a piece of its own, or to the last piece.
    /// Returns false if it is of another block.
    fn append(&mut self, piece: Piece<'_>, apart: bool) -> bool {
        let Some((last, text)) = self.events.back_mut().zip(piece.kind.piece()) else {
            return false;
        };
        if !piece.continues(last) {
            return false;
        }
        if apart {
            self.pieces.push_back(text.clone());
        } else if let Some(last) = self.pieces.back_mut().or(last.kind.piece_mut()) {
            last.push_str(text);
        }
        true
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.events.len() == 1
            && let Some(text) = self.pieces.pop_front()
            && let Some(last) = self.events.back_mut()
        {
            let event = last.clone();
            last.kind.set_piece(text);
            return Some(event);
        }
        self.events.pop_front()
    }

    /// Makes events of the pieces.
    fn spread(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        let Some(last) = self.events.back().cloned() else {
            return;
        };
        for text in self.pieces.drain(..) {
            let mut event = last.clone();
            event.kind.set_piece(text);
            self.events.push_back(event);
        }
    }

    /// Keeps the text of blocks, with the boundary between two of the same name. Memory grows with
    /// the text, independent of the number of pieces.
    fn squeeze(&mut self, event: Event) {
        let queued = self
            .events
            .iter()
            .rposition(|queued| same_block(queued, &event));
        let last = queued.and_then(|at| self.events.get_mut(at));
        let place = |event: &Event| block(&event.kind).map(|(_, _, place)| place);
        match (last.as_deref().and_then(place), place(&event)) {
            (Some(BlockPlace::Middle), Some(BlockPlace::Middle)) => {
                if let Some(last) = last {
                    merge(last, Piece::of(&event));
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

impl Queue {
    /// Adds an event to a full queue, or drops it.
    fn squeeze(&mut self, event: Event) {
        if let Some(seq) = event.seq {
            self.lagged.get_or_insert(seq);
        } else if block(&event.kind).is_some() {
            self.events.spread();
            self.events.squeeze(event);
        } else if is_last(&event.kind) {
            self.events.push(event);
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
