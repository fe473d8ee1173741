use fugato_state::Millis;
use serde::{Deserialize, Serialize};

/// What was said lately, by people and by the agent, and nothing else: no tool calls, no results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    turns: Vec<Turn>,
    limit: usize,
}

/// Who spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The person.
    User,
    /// The agent.
    Assistant,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// By whom.
    pub by: Speaker,
    /// What.
    pub text: String,
    /// When, in milliseconds since the Unix epoch.
    pub at: Millis,
    /// Whether it tells what was true then, and need not be true any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passing: bool,
}

impl Turn {
    /// Something that was said, and that is as true later as it was then.
    pub fn new(by: Speaker, text: impl Into<String>, at: Millis) -> Self {
        let (text, passing) = (text.into(), false);
        Self {
            by,
            text,
            at,
            passing,
        }
    }

    /// Says whether it tells what was true then, and need not be true any more.
    #[must_use]
    pub fn passing(mut self, passing: bool) -> Self {
        self.passing = passing;
        self
    }

    /// What of it may be told again, or summed up: nothing that need not be true any more.
    pub fn lasting(&self) -> &str {
        if self.passing {
            "(what was looked up then; it may have changed since)"
        } else {
            &self.text
        }
    }
}

/// A change to what was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HistoryUpdate {
    /// Something more; the oldest goes if there is no room.
    Said(Turn),
    /// Only the newest are kept, so many.
    KeptRecent(usize),
    /// What is older is forgotten.
    ForgottenBefore(Millis),
    /// How many there may be.
    Limited(usize),
    /// All is forgotten.
    Cleared,
}

impl Default for History {
    fn default() -> Self {
        Self {
            turns: vec![],
            limit: Self::LIMIT,
        }
    }
}

impl History {
    /// How many turns are kept if nothing else is said.
    pub const LIMIT: usize = 100;

    /// What was said, oldest first.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Applies one change.
    pub fn apply(&mut self, update: HistoryUpdate) {
        match update {
            HistoryUpdate::Said(turn) => {
                self.turns.push(turn);
                self.keep(self.limit);
            }
            HistoryUpdate::KeptRecent(most) => self.keep(most),
            HistoryUpdate::ForgottenBefore(time) => self.turns.retain(|turn| turn.at >= time),
            HistoryUpdate::Limited(limit) => {
                self.limit = limit;
                self.keep(limit);
            }
            HistoryUpdate::Cleared => self.turns.clear(),
        }
    }

    fn keep(&mut self, most: usize) {
        let over = self.turns.len().saturating_sub(most);
        self.turns.drain(..over);
    }
}
