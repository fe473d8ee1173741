//! Reports from receipts: the actions that were done and those that were not, independent of a
//! model's words.
use fugato_state::ToolStatus;

use super::wording::{claims_action, is_chinese};
use crate::{
    plan::{PlanProgress, StepKind, StepStatus, is_repetition},
    text::short,
    toolbox::{ToolUse, is_declined},
};

/// The writes of a run: those with a receipt, and those that were requested but not done.
///
/// A model may word the reply, but the actions are reported from the log.
///
/// *Contract*
/// - **receipts first**: if something was written, or was to be written and was not, lines made by
///   code say so before any words of a model.
/// - **no claim without a receipt**: words that claim an action are left out of
///   [`reply`](Self::reply) in a run that wrote nothing, or in which a write was not done. Other
///   words after a write that was not done are marked as the model's.
/// - **answers are kept**: words that claim nothing in a run that wrote nothing are the reply.
///
/// ```
/// use fugato_agent::{reply::RunReport, toolbox::ToolUse};
/// use fugato_state::ToolStatus;
/// use serde_json::json;
///
/// let said = "notify my boss";
/// let lie = "All done, the boss was notified.";
/// assert_eq!(RunReport::default().reply(lie, said), "Nothing was written or changed in this run.");
///
/// let refused = ToolUse::new("notify", json!({}), "there is no such person");
/// let report = RunReport::of([&refused.status(ToolStatus::Failed)]);
/// assert_eq!(report.reply(lie, said), "Not done: notify: there is no such person");
/// let report = report.titled(|tool| (tool == "notify").then_some("Send a notification"));
/// assert_eq!(report.lines(said), "Not done: send a notification: there is no such person");
///
/// let receipt = ToolUse::new("notify", json!({}), "the boss is notified");
/// let report = RunReport::of([&receipt]);
/// assert_eq!(report.reply(lie, said), format!("Done: the boss is notified\n\n{lie}"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunReport {
    done: Vec<Entry>,
    undone: Vec<Entry>,
    remembered: bool,
}

/// A write with its receipt or its error.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    tool: String,
    text: String,
}

/// The maximum number of characters of a receipt.
const MOST: usize = 300;

/// Returns a title as it stands amid a line.
pub(crate) fn amid_a_line(title: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}

impl RunReport {
    /// Creates the report of these calls of tools that write, oldest first. A failed call is left
    /// out if a later call of the same tool succeeded.
    pub fn of<'a>(writes: impl IntoIterator<Item = &'a ToolUse>) -> Self {
        let writes = writes.into_iter();
        let writes = writes.map(|used| (used.name.as_str(), used.status, used.for_people()));
        Self::made(&writes.collect::<Vec<_>>())
    }

    /// Creates the report of the steps of planned work that call a tool that writes.
    pub fn of_work(work: &PlanProgress, is_write: impl Fn(&str) -> bool) -> Self {
        let steps = work
            .steps
            .iter()
            .filter(|step| step.draft.kind == StepKind::Tool && is_write(&step.draft.tool_name));
        let writes = steps.filter_map(|step| {
            let (status, text) = match step.status {
                StepStatus::Completed => (ToolStatus::Ok, &step.output_summary),
                StepStatus::Failed => (ToolStatus::Failed, &step.error),
                _ => return None,
            };
            Some((step.draft.tool_name.as_str(), status, text.as_str()))
        });
        Self::made(&writes.collect::<Vec<_>>())
    }

    fn made(writes: &[(&str, ToolStatus, &str)]) -> Self {
        let mut report = Self::default();
        for (at, (tool, status, text)) in writes.iter().enumerate() {
            let later = writes.get(at + 1..).unwrap_or_default();
            let mut later = later.iter();
            let mended = *status == ToolStatus::Failed
                && !is_declined(text)
                && later.any(|(other, status, _)| other == tool && *status == ToolStatus::Ok);
            if mended || is_repetition(text) {
                continue;
            }
            let (tool, text) = ((*tool).to_owned(), short(text, MOST));
            let entry = Entry { tool, text };
            let list = if *status == ToolStatus::Ok {
                &mut report.done
            } else {
                &mut report.undone
            };
            if *status == ToolStatus::Ok || !list.contains(&entry) {
                list.push(entry);
            }
        }
        report
    }

    fugato_state::setters! {
        /// Sets that a note was stored without a tool, so words that claim it are accepted.
        pub fn remembered(remembered: bool) { remembered = remembered }
    }

    /// Names tools as people call what they do, by these titles; a tool without one keeps its name.
    #[must_use]
    pub fn titled<'t>(mut self, title: impl Fn(&str) -> Option<&'t str>) -> Self {
        for entry in self.done.iter_mut().chain(&mut self.undone) {
            if let Some(title) = title(&entry.tool).filter(|it| !it.is_empty()) {
                entry.tool = amid_a_line(title);
            }
        }
        self
    }

    /// Returns true if nothing was written, and nothing was to be written.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.undone.is_empty()
    }

    /// Returns true if something was written.
    pub fn has_written(&self) -> bool {
        !self.done.is_empty()
    }

    /// Returns a line for each write, done or not, in the language of `said`.
    pub fn lines(&self, said: &str) -> String {
        let chinese = is_chinese(said);
        let (done, undone) = if chinese {
            ("完成：", "没有完成：")
        } else {
            ("Done: ", "Not done: ")
        };
        let done = self.done.iter().map(|entry| match entry.text.as_str() {
            "" => format!("{done}{}", entry.tool),
            text => format!("{done}{text}"),
        });
        let undone = self.undone.iter().map(|entry| {
            let why = why(&entry.text, chinese);
            let between = if chinese { "：" } else { ": " };
            format!("{undone}{}{between}{why}", entry.tool)
        });
        done.chain(undone).collect::<Vec<_>>().join("\n")
    }

    /// Returns the line that nothing was written, in the language of `said`.
    pub fn nothing(said: &str) -> &'static str {
        if is_chinese(said) {
            "这次没有写入或更改任何东西。"
        } else {
            "Nothing was written or changed in this run."
        }
    }

    /// Returns the reply for words of a model that were not streamed.
    pub fn reply(&self, words: &str, said: &str) -> String {
        let words = words.trim();
        if self.is_empty() {
            let claimed = !self.remembered && claims_action(words);
            return if claimed { Self::nothing(said) } else { words }.to_owned();
        }
        let lines = self.lines(said);
        if words.is_empty() || (!self.undone.is_empty() && claims_action(words)) {
            return lines;
        }
        // If a write was not done, the other words may claim that it was.
        let mark = match (self.undone.is_empty(), is_chinese(said)) {
            (true, _) => "",
            (false, false) => "The model's words, which no receipt confirms: ",
            (false, true) => "模型的原话，没有回执证实：",
        };
        format!("{lines}\n\n{mark}{words}")
    }

    /// Returns the addition to words of a model that were streamed: the line that nothing was
    /// written, if they claim an action and nothing was written.
    pub fn remark(&self, words: &str, said: &str) -> Option<&'static str> {
        let claimed = self.is_empty() && !self.remembered && claims_action(words);
        claimed.then(|| Self::nothing(said))
    }
}

/// Returns the reason why a write was not done, for a person.
fn why(text: &str, chinese: bool) -> &str {
    match (text, chinese) {
        (text, false) if is_declined(text) => "you did not agree",
        (text, true) if is_declined(text) => "您没有同意",
        ("", false) => "it failed",
        ("", true) => "失败了",
        (text, _) => text,
    }
}
