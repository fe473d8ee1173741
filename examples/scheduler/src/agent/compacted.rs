use fugato::state::{Compaction, CompactionUpdate};
use serde::{Deserialize, Serialize};

/// What older messages came to, so that prompts stay short. The messages themselves stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compacted {
    /// Of the conversation.
    pub conversation: Compaction,
    /// Of the work in the loop that is open; counted from where the loop began.
    pub work: Compaction,
    /// How often in this run the conversation could not be summarised.
    pub conversation_failures: u32,
    /// How often in this run the work could not be summarised.
    pub work_failures: u32,
}

/// What is summarised by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// What was said.
    Conversation,
    /// What was done in the loop that is open.
    Work,
}

/// After so many failures the original text does until the next run.
const MOST_FAILURES: u32 = 2;

impl Part {
    /// Its name in statistics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Work => "work",
        }
    }
}

impl Compacted {
    /// What a part came to.
    pub fn of(&self, part: Part) -> &Compaction {
        match part {
            Part::Conversation => &self.conversation,
            Part::Work => &self.work,
        }
    }

    /// Whether it is worth trying to summarise a part.
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

    /// What the next loop does begins anew.
    pub(super) fn work_ended(&mut self) {
        self.work = Compaction::default();
    }
}
