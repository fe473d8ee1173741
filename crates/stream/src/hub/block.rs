//! Blocks of text and calls whose events come in pieces.
use super::Piece;
use crate::{Event, EventKind, Text};

/// The place of an event in its block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockPlace {
    Start,
    Middle,
    End,
}

/// The kinds of blocks and calls that come in pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    Text,
    Reasoning,
    Call,
}

/// Returns the block of an event: its kind, its name, and the place in it. Calls have neither start
/// nor end of their own.
pub(super) fn block(kind: &EventKind) -> Option<(PieceKind, &Text, BlockPlace)> {
    Some(match kind {
        EventKind::TextStarted { block } => (PieceKind::Text, block, BlockPlace::Start),
        EventKind::TextDelta { block, .. } => (PieceKind::Text, block, BlockPlace::Middle),
        EventKind::TextFinished { block } => (PieceKind::Text, block, BlockPlace::End),
        EventKind::ReasoningStarted { block } => (PieceKind::Reasoning, block, BlockPlace::Start),
        EventKind::ReasoningDelta { block, .. } => {
            (PieceKind::Reasoning, block, BlockPlace::Middle)
        }
        EventKind::ReasoningFinished { block } => (PieceKind::Reasoning, block, BlockPlace::End),
        EventKind::ToolCallDelta { call, .. } => (PieceKind::Call, call, BlockPlace::Middle),
        _ => return None,
    })
}

pub(super) fn same_block(one: &Event, other: &Event) -> bool {
    let name = |event| block(event).map(|(whole, name, _)| (whole, name));
    let named = name(&one.kind);
    named.is_some() && named == name(&other.kind) && one.origin == other.origin
}

/// Appends a piece to `open` if both are of the same block of the same task.
pub(super) fn merge(open: &mut Event, piece: Piece<'_>) -> bool {
    let same = belongs(open, piece);
    match (open.kind.piece_mut(), piece.kind.piece()) {
        (Some(text), Some(more)) if same => {
            text.push_str(more);
            true
        }
        _ => false,
    }
}

fn belongs(open: &Event, piece: Piece<'_>) -> bool {
    block(&open.kind) == block(piece.kind) && open.origin.as_ref() == piece.origin
}

/// A block that is open, with its text so far.
#[derive(Debug)]
pub(super) struct OpenBlock {
    pub(super) first: Event,
    /// The text after the first piece. A `String` grows at less cost than a [`Text`], which looks
    /// each time whether it is shared.
    more: String,
}

impl OpenBlock {
    pub(super) fn new(first: Event) -> Self {
        let more = String::new();
        Self { first, more }
    }

    /// Appends a piece if it is of this block.
    pub(super) fn extend(&mut self, piece: Piece<'_>) -> bool {
        match piece.kind.piece() {
            Some(text) if belongs(&self.first, piece) => {
                self.more.push_str(text);
                true
            }
            _ => false,
        }
    }

    /// Returns the start and the text so far. A call begins with its first piece.
    pub(super) fn reopened(&self) -> Vec<Event> {
        let mut delta = self.first.clone();
        if let Some(text) = delta.kind.piece_mut() {
            text.push_str(&self.more);
        }
        let start = match &delta.kind {
            EventKind::TextDelta { block, .. } => EventKind::TextStarted {
                block: block.clone(),
            },
            EventKind::ReasoningDelta { block, .. } => EventKind::ReasoningStarted {
                block: block.clone(),
            },
            _ => return vec![delta],
        };
        let start = Event {
            kind: start,
            ..delta.clone()
        };
        vec![start, delta]
    }
}
