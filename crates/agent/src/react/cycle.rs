//! Detection of repeated calls in the history of an agent.
mod likeness;

use likeness::{of_texts, of_values};

use crate::toolbox::ToolUse;

/// A detector of repeated calls.
///
/// A cycle is found at the end of a history: the last calls repeat the calls before them, in names,
/// statuses, arguments and results. A call that is repeated because its result changes, such as
/// polling a progress, is no cycle.
///
/// Equal arguments or results always count as the same. Others do if they share enough words: the
/// number of shared words divided by the number of distinct words in both. A Chinese, Japanese or
/// Korean character is a word.
///
/// ```
/// use fugato_agent::{react::CycleDetector, toolbox::ToolUse};
/// use serde_json::json;
///
/// let look = ToolUse::new("look", json!({ "at": "door" }), "it is shut");
/// let push = ToolUse::new("push", json!({ "what": "door" }), "it does not move");
/// let history = [&look, &push, &look, &push].map(Clone::clone);
///
/// let detector = CycleDetector::default();
/// assert_eq!(detector.find(&history), Some(2));
/// assert_eq!(detector.find(&history[..3]), None);
/// ```
#[derive(smart_default::SmartDefault, Debug, Clone, Copy, PartialEq)]
pub struct CycleDetector {
    #[default(2)]
    repeats: usize,
    #[default(6)]
    longest: usize,
    #[default(0.9)]
    arguments: f64,
    #[default(0.8)]
    results: f64,
}

impl CycleDetector {
    /// The share of words that only equal values reach. The order of the keys of an object does not
    /// count.
    pub const EQUAL: f64 = f64::INFINITY;

    fugato_state::setters! {
        /// Sets how often the same calls must occur, the first time included: 2 by default, and at
        /// least.
        pub fn repeats(repeats: usize) { repeats = repeats.max(2) }

        /// Sets the longest period to look for: 6 calls by default.
        pub fn longest(period: usize) { longest = period.max(1) }

        /// Sets the share of words, from 0 to 1, at which arguments count as the same: 0.9 by
        /// default.
        pub fn arguments(share: f64) { arguments = share }

        /// Sets the share of words, from 0 to 1, at which results count as the same: 0.8 by
        /// default.
        pub fn results(share: f64) { results = share }
    }

    /// Returns the period of the shortest cycle at the end of a history: 1 for the same call again,
    /// 2 for A-B-A-B.
    pub fn find(&self, history: &[ToolUse]) -> Option<usize> {
        let most = self.longest.min(history.len() / self.repeats);
        (1..=most).find(|period| self.is_cycle(history, *period))
    }

    fn is_cycle(&self, history: &[ToolUse], period: usize) -> bool {
        let from = history.len().saturating_sub(period * self.repeats);
        let tail = history.get(from..).unwrap_or_default();
        let again = tail.get(period..).unwrap_or_default();
        tail.iter().zip(again).all(|(a, b)| self.alike(a, b))
    }

    fn alike(&self, a: &ToolUse, b: &ToolUse) -> bool {
        (&a.name, a.status) == (&b.name, b.status)
            && of_values(&a.arguments, &b.arguments, self.arguments)
            && of_texts(&a.result, &b.result, self.results)
    }
}

#[cfg(test)]
mod tests;
