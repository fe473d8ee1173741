use std::collections::HashSet;

use fugato_state::Millis;
use serde::{Deserialize, Serialize};

use super::cut;

/// What a person is about, over many requests: the goal, what is unresolved, facts that only the
/// person knows, and the last decision of weight.
///
/// It holds no steps of a plan, no tool calls and nothing that can be asked for again, such as a
/// balance or what is configured: those would be believed when they are no longer true.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskState {
    /// What is wanted in the end; empty for nothing.
    pub goal: String,
    /// Which kind of work it is; empty for none in particular.
    pub flow: String,
    /// What is unresolved.
    pub open_loops: Vec<String>,
    /// What the person said, or what is dear to find out again.
    pub facts: Vec<String>,
    /// The last decision of weight.
    pub decision: Option<Decision>,
    /// When it last changed, in milliseconds since the Unix epoch.
    pub updated: Millis,
}

/// A decision, and why it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Decision {
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
    pub decision: Option<Decision>,
}

/// A change to what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskUpdate {
    /// Merges what was summarised: facts are only lost if they are withdrawn by name.
    Merged {
        /// What a model wrote, and a check accepted.
        summary: TaskSummary,
        /// When.
        at: Millis,
    },
    /// One fact more.
    Learnt {
        /// What.
        fact: String,
        /// When.
        at: Millis,
    },
    /// Something is resolved.
    Resolved {
        /// What, as it is among the open loops.
        open_loop: String,
        /// When.
        at: Millis,
    },
    /// All is forgotten.
    Cleared,
}

impl TaskState {
    /// How many facts and how many open loops there may be.
    pub const LIMIT: usize = 50;
    /// How many characters each of them may have.
    pub const MOST_CHARACTERS: usize = 500;

    /// Whether nothing is known.
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

/// Trimmed, each once whatever its case, and where there is no room the oldest go.
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

/// What belongs to a plan, or must not be written down: the plan says what is next.
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
