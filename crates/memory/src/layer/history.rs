use fugato_state::{Lang, Millis};
use serde::{Deserialize, Serialize};

/// The recent messages of people and of the agent, without tool calls and results.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    turns: Vec<DialogueTurn>,
    #[default(Self::LIMIT)]
    limit: usize,
}

/// The speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The person.
    User,
    /// The agent.
    Assistant,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogueTurn {
    /// The speaker.
    pub by: Speaker,
    /// The text.
    pub text: String,
    /// The time, in milliseconds since the Unix epoch.
    pub at: Millis,
    /// True if the text reports a state of that time which may have changed since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passing: bool,
}

impl DialogueTurn {
    /// Creates a turn whose text stays true.
    pub fn new(by: Speaker, text: impl Into<String>, at: Millis) -> Self {
        let (text, passing) = (text.into(), false);
        Self {
            by,
            text,
            at,
            passing,
        }
    }

    fugato_state::setters! {
        /// Sets whether the text reports a state of that time which may have changed since.
        pub fn passing(passing: bool) { passing = passing }
    }

    /// Returns the text for later prompts and summaries; a placeholder if the text may have become
    /// false.
    pub fn lasting(&self) -> &str {
        if self.passing {
            Lang::current().pick(
                "(what was looked up then; it may have changed since)",
                "（当时查到的内容；此后可能已变）",
            )
        } else {
            &self.text
        }
    }
}

/// A change to the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HistoryUpdate {
    /// Appends a turn, and drops the oldest ones above the limit.
    Said(DialogueTurn),
    /// Keeps only this number of newest turns.
    KeptRecent(usize),
    /// Drops the turns before this time.
    ForgottenBefore(Millis),
    /// Sets the greatest number of turns.
    Limited(usize),
    /// Drops all turns.
    Cleared,
}

impl History {
    /// The default limit of turns.
    pub const LIMIT: usize = 100;

    /// Returns the turns, oldest first.
    pub fn turns(&self) -> &[DialogueTurn] {
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
