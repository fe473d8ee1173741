use std::sync::Arc;

use fugato_state::{RunId, ThreadId};

use crate::{Event, EventKind, Origin};

/// A delta that its sender keeps: the parts of an [`Event`] without a position.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The thread.
    pub thread: &'a ThreadId,
    /// The run within the thread.
    pub run: RunId,
    /// The task that it comes from.
    pub origin: Option<&'a Arc<Origin>>,
    /// The delta.
    pub kind: &'a EventKind,
}

impl<'a> Piece<'a> {
    /// Returns an event as a piece, without its position.
    pub(super) fn of(event: &'a Event) -> Self {
        Self {
            thread: &event.thread,
            run: event.run,
            origin: event.origin.as_ref(),
            kind: &event.kind,
        }
    }

    pub(super) fn event(self) -> Event {
        Event {
            thread: self.thread.clone(),
            run: self.run,
            seq: None,
            origin: self.origin.cloned(),
            kind: self.kind.clone(),
        }
    }

    /// Returns true if the event is a piece that differs from this one by nothing but its text.
    pub(super) fn continues(self, event: &Event) -> bool {
        let same = match (self.kind, &event.kind) {
            (EventKind::TextDelta { block, .. }, EventKind::TextDelta { block: other, .. })
            | (
                EventKind::ReasoningDelta { block, .. },
                EventKind::ReasoningDelta { block: other, .. },
            ) => block == other,
            (
                EventKind::ToolCallDelta { call, name, .. },
                EventKind::ToolCallDelta {
                    call: other,
                    name: named,
                    ..
                },
            ) => call == other && name == named,
            _ => false,
        };
        same && event.seq.is_none()
            && self.run == event.run
            && self.origin == event.origin.as_ref()
            && self.thread == &event.thread
    }
}
