use fugato_graph::TaskTrace;
use fugato_memory::SummaryRequest;
use fugato_stream::EventKind;
use serde::{Deserialize, Serialize};

/// What compacting a part came to: kept in the log as a note, and told by
/// [`compactions`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompactionStatistics {
    /// The part.
    pub part: String,
    /// The first message that was to be summarised.
    pub from: usize,
    /// The first that was not.
    pub upto: usize,
    /// The tokens of the messages and of the summary before.
    pub tokens_before: u64,
    /// The tokens of the new summary; as many as before if there is none.
    pub tokens_after: u64,
    /// Whether a rule was to make it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_rule: bool,
    /// Why there is none, or none of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl CompactionStatistics {
    /// The name under which they are told to the readers of a thread.
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
        }
    }

    /// The statistics as an event, to be kept as a note.
    pub fn to_event(&self) -> EventKind {
        EventKind::Custom {
            name: Self::NAME.to_owned(),
            data: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// The statistics that an event tells of; none if it tells of something else.
    pub fn of(event: &EventKind) -> Option<Self> {
        match event {
            EventKind::Custom { name, data } if name == Self::NAME => Self::deserialize(data).ok(),
            _ => None,
        }
    }
}

/// What a task compacted.
pub fn compactions(task: &TaskTrace) -> Vec<CompactionStatistics> {
    let notes = task.notes.iter();
    notes.filter_map(CompactionStatistics::of).collect()
}
