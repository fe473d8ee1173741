use serde::{Deserialize, Serialize};

use crate::{Message, Millis};

/// The summary of older messages, with its segments. The messages themselves are not changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compaction {
    /// The summary of all messages before the watermark; empty if there is none.
    pub summary: String,
    /// The watermark: the number of messages that the summary covers.
    pub upto: usize,
    /// Every summarised segment, oldest first, for inspection.
    pub segments: Vec<Segment>,
}

/// Messages that were summarised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The index of the first message.
    pub from: usize,
    /// The index after the last message.
    pub upto: usize,
    /// The summary of these messages and all before them.
    pub summary: String,
    /// The time of the summary, in milliseconds since the Unix epoch.
    pub at: Millis,
}

/// A change to a [`Compaction`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompactionUpdate {
    /// Extends the summary by a segment. A segment that does not begin at the watermark is
    /// outdated, and changes nothing.
    Summarised(Segment),
    /// Removes the summary.
    Cleared,
}

impl Compaction {
    /// Applies one change.
    pub fn apply(&mut self, update: CompactionUpdate) {
        match update {
            CompactionUpdate::Summarised(segment) => {
                if segment.from == self.upto && segment.upto > segment.from {
                    self.upto = segment.upto;
                    self.summary.clone_from(&segment.summary);
                    self.segments.push(segment);
                }
            }
            CompactionUpdate::Cleared => *self = Self::default(),
        }
    }

    /// Returns the part of a history that a prompt shows: the summary, and the messages that it
    /// does not cover. A history that ends before the watermark is another one, and is returned
    /// whole.
    pub fn view<'a>(&'a self, history: &'a [Message]) -> (&'a str, &'a [Message]) {
        (&self.summary, history.get(self.upto..).unwrap_or(history))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summarised(from: usize, upto: usize) -> CompactionUpdate {
        CompactionUpdate::Summarised(Segment {
            from,
            upto,
            summary: format!("up to {upto}"),
            at: 0,
        })
    }

    #[test]
    fn sch_116_a_summary_speaks_for_what_lies_before_the_watermark() {
        let history = ["a", "b", "c"].map(Message::user);
        let mut done = Compaction::default();
        assert_eq!(done.view(&history), ("", &history[..]));
        for update in [summarised(0, 2), summarised(0, 3), summarised(1, 3)] {
            done.apply(update);
        }
        assert_eq!(done.view(&history), ("up to 2", &history[2..]));
        let stored = serde_json::to_string(&done).unwrap();
        assert_eq!(serde_json::from_str::<Compaction>(&stored).unwrap(), done);
        // The history was cleared since.
        assert_eq!(done.view(&history[..1]), ("up to 2", &history[..1]));
    }
}
