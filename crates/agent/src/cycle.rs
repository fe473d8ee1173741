//! Detection of repeated calls in the history of an agent.
mod likeness;

use fugato_state::ToolStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use likeness::Similarity;

/// A tool call with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
    /// The result as the model reads it.
    pub result: String,
    /// The status of the result.
    #[serde(default = "well")]
    pub status: ToolStatus,
}

fn well() -> ToolStatus {
    ToolStatus::Ok
}

impl ToolUse {
    /// Returns a tool call that ended well, with its result.
    pub fn new(name: impl Into<String>, arguments: Value, result: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments,
            result: result.into(),
            status: well(),
        }
    }

    fugato_state::setters! {
        /// Sets the status; `Ok` without this.
        pub fn status(status: ToolStatus) { status = status }
    }
}

/// A cycle: the same calls were repeated, with the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cycle {
    /// The number of calls in one repetition: 1 for the same call, 2 for A-B-A-B.
    pub period: usize,
}

/// A detector of repeated calls.
///
/// A cycle is found at the end of a history: the last calls repeat the calls before them, in names,
/// statuses, arguments and results. Arguments and results are compared by [`Similarity`]. A call that
/// is repeated because its result changes, such as polling a progress, is no cycle.
///
/// ```
/// use fugato_agent::{CycleDetector, ToolUse};
/// use serde_json::json;
///
/// let look = ToolUse::new("look", json!({ "at": "door" }), "it is shut");
/// let push = ToolUse::new("push", json!({ "what": "door" }), "it does not move");
/// let history = [&look, &push, &look, &push].map(Clone::clone);
///
/// let detector = CycleDetector::default();
/// assert_eq!(detector.find(&history).map(|cycle| cycle.period), Some(2));
/// assert_eq!(detector.find(&history[..3]), None);
/// ```
#[derive(smart_default::SmartDefault, Debug, Clone, Copy, PartialEq)]
pub struct CycleDetector {
    #[default(2)]
    repeats: usize,
    #[default(6)]
    longest: usize,
    #[default(Similarity::at_least(0.9))]
    arguments: Similarity,
    #[default(Similarity::at_least(0.8))]
    results: Similarity,
}

impl CycleDetector {
    fugato_state::setters! {
        /// Sets how often the same calls must occur, the first time included: 2 by default, and at
        /// least.
        pub fn repeats(repeats: usize) { repeats = repeats.max(2) }

        /// Sets the longest period to look for: 6 calls by default.
        pub fn longest(period: usize) { longest = period.max(1) }

        /// Sets the likeness at which arguments count as the same: 0.9 by default.
        pub fn arguments(likeness: Similarity) { arguments = likeness }

        /// Sets the likeness at which results count as the same: 0.8 by default.
        pub fn results(likeness: Similarity) { results = likeness }
    }

    /// Returns the shortest cycle at the end of a history.
    pub fn find(&self, history: &[ToolUse]) -> Option<Cycle> {
        let most = self.longest.min(history.len() / self.repeats);
        (1..=most)
            .find(|period| self.is_cycle(history, *period))
            .map(|period| Cycle { period })
    }

    fn is_cycle(&self, history: &[ToolUse], period: usize) -> bool {
        let from = history.len().saturating_sub(period * self.repeats);
        let tail = history.get(from..).unwrap_or_default();
        let again = tail.get(period..).unwrap_or_default();
        tail.iter().zip(again).all(|(a, b)| self.alike(a, b))
    }

    fn alike(&self, a: &ToolUse, b: &ToolUse) -> bool {
        (&a.name, a.status) == (&b.name, b.status)
            && self.arguments.of_values(&a.arguments, &b.arguments)
            && self.results.of_texts(&a.result, &b.result)
    }
}

#[cfg(test)]
mod tests;
