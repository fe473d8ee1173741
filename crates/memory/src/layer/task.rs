use std::collections::HashSet;

use fugato_state::Millis;
use serde::{Deserialize, Serialize};

use super::cut;

/// The task of a person over many requests: the goal, the unresolved points, facts that only the
/// person knows, and the last important decision.
///
/// It holds no plan steps, no tool calls and nothing that can be looked up again, such as a balance
/// or a setting: a stored copy would be used after it has become false.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskState {
    /// The final goal; empty if none.
    pub goal: String,
    /// The kind of work; empty for none in particular.
    pub flow: String,
    /// The unresolved points.
    pub open_loops: Vec<String>,
    /// Facts that the person stated, or that are costly to find out again.
    pub facts: Vec<String>,
    /// The last important decision.
    pub decision: Option<TaskDecision>,
    /// The time of the last change, in milliseconds since the Unix epoch.
    pub updated: Millis,
}

/// A decision, and why it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Decision")]
pub struct TaskDecision {
    /// What was decided.
    pub action: String,
    /// Why.
    pub reason: String,
    /// Whether it still holds.
    pub still_valid: bool,
}

/// What a model writes about older turns, to be merged into what is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskSummary {
    /// What is wanted in the end; empty if it is as it was.
    #[serde(default)]
    pub goal: String,
    /// Which kind of work it is; empty if it is as it was.
    #[serde(default)]
    pub flow: String,
    /// What is unresolved now.
    #[serde(default)]
    pub open_loops: Vec<String>,
    /// Facts that are to be kept.
    #[serde(default)]
    pub facts: Vec<String>,
    /// Facts that were known and no longer hold, word for word.
    #[serde(default)]
    pub withdrawn: Vec<String>,
    /// The last decision of weight, if there is one.
    #[serde(default)]
    pub decision: Option<TaskDecision>,
}

/// A change to the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskUpdate {
    /// Merges a summary. Facts stay unless the summary withdraws them, or the limit is exceeded.
    Merged {
        /// The summary of a model, after a check.
        summary: TaskSummary,
        /// The time of the change.
        at: Millis,
    },
    /// Adds one fact.
    Learnt {
        /// The fact.
        fact: String,
        /// The time of the change.
        at: Millis,
    },
    /// Removes a resolved point.
    Resolved {
        /// The point, as the open loops name it.
        open_loop: String,
        /// The time of the change.
        at: Millis,
    },
    /// Resets the task.
    Cleared,
}

impl TaskState {
    /// The greatest number of facts, and of open loops.
    pub const LIMIT: usize = 50;
    /// The greatest length of each of them, in characters.
    pub const MOST_CHARACTERS: usize = 500;

    /// Returns true if nothing is known but the time of the last change.
    pub fn is_empty(&self) -> bool {
        let Self {
            goal,
            flow,
            open_loops,
            facts,
            decision,
            ..
        } = self;
        goal.is_empty()
            && flow.is_empty()
            && open_loops.is_empty()
            && facts.is_empty()
            && decision.is_none()
    }

    /// Applies one change.
    pub fn apply(&mut self, update: TaskUpdate) {
        match update {
            TaskUpdate::Merged { summary, at } => {
                self.merge(summary);
                self.updated = at;
            }
            TaskUpdate::Learnt { fact, at } => {
                self.facts.push(fact);
                self.facts = lines(std::mem::take(&mut self.facts), |_| true);
                self.updated = at;
            }
            TaskUpdate::Resolved { open_loop, at } => {
                let resolved = key(&open_loop);
                self.open_loops.retain(|open| key(open) != resolved);
                self.updated = at;
            }
            TaskUpdate::Cleared => *self = Self::default(),
        }
    }

    fn merge(&mut self, summary: TaskSummary) {
        for (there, new) in [
            (&mut self.goal, summary.goal),
            (&mut self.flow, summary.flow),
        ] {
            if !new.trim().is_empty() {
                *there = cut(&new, Self::MOST_CHARACTERS);
            }
        }
        let withdrawn: HashSet<String> = summary.withdrawn.iter().map(|fact| key(fact)).collect();
        let mut facts = std::mem::take(&mut self.facts);
        facts.extend(summary.facts);
        self.facts = lines(facts, |fact| !withdrawn.contains(&key(fact)));
        self.open_loops = lines(summary.open_loops, |open| !is_step(open));
        if summary.decision.is_some() {
            self.decision = summary.decision;
        }
    }
}

/// Trims the lines, removes duplicates regardless of case, and drops the oldest above the limit.
fn lines(all: Vec<String>, keep: impl Fn(&str) -> bool) -> Vec<String> {
    let mut seen = HashSet::new();
    let trimmed = all
        .into_iter()
        .map(|line| cut(&line, TaskState::MOST_CHARACTERS));
    let mut kept: Vec<String> = trimmed
        .filter(|line| !line.is_empty() && keep(line) && seen.insert(key(line)))
        .collect();
    let over = kept.len().saturating_sub(TaskState::LIMIT);
    kept.drain(..over);
    kept
}

fn key(line: &str) -> String {
    line.trim().to_lowercase()
}

/// Returns true for a step of a plan and for text that mentions a secret. Neither may be stored as
/// an open loop.
fn is_step(open: &str) -> bool {
    const BEGINNINGS: [&str; 12] = [
        "wait for",
        "ask for",
        "ask the user",
        "call ",
        "run ",
        "execute",
        "use tool",
        "use the tool",
        "等待",
        "询问",
        "调用",
        "执行",
    ];
    const SECRETS: [&str; 6] = ["password", "api key", "api_key", "secret", "密码", "密钥"];
    let open = key(open);
    BEGINNINGS.iter().any(|begin| open.starts_with(begin))
        || SECRETS.iter().any(|secret| open.contains(secret))
}
