use fugato::state::{Compaction, CompactionUpdate};
use serde::{Deserialize, Serialize};

/// The summaries of older messages, which keep prompts short. The messages themselves stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactedHistory {
    /// Of the conversation.
    pub conversation: Compaction,
    /// Of the work in the loop that is open; counted from where the loop began.
    pub work: Compaction,
    /// The number of times in this run that the conversation could not be summarised.
    pub conversation_failures: u32,
    /// The number of times in this run that the work could not be summarised.
    pub work_failures: u32,
}

/// The parts that are summarised separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The conversation.
    Conversation,
    /// The work in the open loop.
    Work,
}

/// The number of failures after which the original text is used until the next run.
const MOST_FAILURES: u32 = 2;

impl Part {
    /// Returns its name in statistics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Work => "work",
        }
    }
}

impl CompactedHistory {
    /// Returns the summary of a part.
    pub fn of(&self, part: Part) -> &Compaction {
        match part {
            Part::Conversation => &self.conversation,
            Part::Work => &self.work,
        }
    }

    /// Returns true if another attempt to summarise a part is worthwhile.
    pub fn is_open(&self, part: Part) -> bool {
        let failures = match part {
            Part::Conversation => self.conversation_failures,
            Part::Work => self.work_failures,
        };
        failures < MOST_FAILURES
    }

    pub(super) fn apply(&mut self, part: Part, update: CompactionUpdate) {
        match part {
            Part::Conversation => {
                self.conversation_failures = 0;
                self.conversation.apply(update);
            }
            Part::Work => {
                self.work_failures = 0;
                self.work.apply(update);
            }
        }
    }

    pub(super) fn failed(&mut self, part: Part) {
        match part {
            Part::Conversation => self.conversation_failures += 1,
            Part::Work => self.work_failures += 1,
        }
    }

    pub(super) fn run_began(&mut self) {
        (self.conversation_failures, self.work_failures) = (0, 0);
    }

    /// Discards the summary of the work, so that the next loop starts without one.
    pub(super) fn work_ended(&mut self) {
        self.work = Compaction::default();
    }
}
