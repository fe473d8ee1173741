use fugato_memory::SummaryRequest;
use fugato_stream::EventKind;
use serde::{Deserialize, Serialize};

use crate::text::{custom, told};

/// The statistics of compacting a part, stored in the log as a note and returned by
/// [`compactions`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompactionStatistics {
    /// The name of the part.
    pub part: String,
    /// The index of the first message that was to be summarised.
    pub from: usize,
    /// The index after the last message that was to be summarised.
    pub upto: usize,
    /// The tokens of the messages and of the previous summary.
    pub tokens_before: u64,
    /// The tokens of the new summary; the same as `tokens_before` if there is none.
    pub tokens_after: u64,
    /// True if a rule was to make the summary.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_rule: bool,
    /// The error of the last attempt that made no summary, by the model or by rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The status text with which it ended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
}

impl CompactionStatistics {
    /// The name of the event in a thread's stream.
    pub const NAME: &str = "context_compaction";

    pub(super) fn new(part: &str, request: &SummaryRequest, tokens_before: u64) -> Self {
        Self {
            part: part.to_owned(),
            from: request.from,
            upto: request.upto,
            tokens_before,
            tokens_after: tokens_before,
            by_rule: false,
            failure: None,
            told: String::new(),
        }
    }

    /// The statistics as an event, to be kept as a note.
    pub fn to_event(&self) -> EventKind {
        custom(Self::NAME, serde_json::to_value(self).unwrap_or_default())
    }

    /// Returns the statistics in an event; none if the event is of another kind.
    pub fn of(event: &EventKind) -> Option<Self> {
        told(Self::NAME, event)
    }
}

/// Returns the statistics of the compactions in the notes of a task.
pub fn compactions(notes: &[EventKind]) -> Vec<CompactionStatistics> {
    notes.iter().filter_map(CompactionStatistics::of).collect()
}
