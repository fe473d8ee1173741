use fugato::agent::phases;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Phase;

/// The question to the person, and the phase in which the agent continues after the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingInteraction {
    /// The subject of the question.
    pub topic: QuestionTopic,
    /// The card that the person sees.
    pub card: Card,
    /// The phase to which the answer returns.
    pub resume_phase: Phase,
}

impl PendingInteraction {
    /// Opens the question of a card.
    pub fn new(card: Card, resume_phase: Phase) -> Self {
        Self {
            topic: card.topic,
            card,
            resume_phase,
        }
    }
}

/// The text of a question, as the person sees it.
pub type Card = phases::Card<QuestionTopic>;

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Topic")]
pub enum QuestionTopic {
    /// The model wants to know something.
    AskUser,
    /// Whether the plan is right.
    Plan,
    /// Whether a write may be made.
    Tool,
    /// Whether what was placed shall be kept.
    Schedule,
}
