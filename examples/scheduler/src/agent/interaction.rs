use fugato::words::Phrases;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BY_HAND, Phase};
use crate::contract::Call;

/// The question to the person, and the phase in which the agent continues after the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingInteraction {
    /// The subject of the question.
    pub topic: QuestionTopic,
    /// The card that the person sees.
    pub card: Card,
    /// The phase to which the answer returns.
    pub resume_phase: Phase,
}

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

/// The text of a question, as the person sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// `ask_user` or `confirm`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The subject of the question.
    pub topic: QuestionTopic,
    /// A short heading.
    pub title: String,
    /// The whole text.
    pub summary: String,
    /// True if the text has already streamed, so that a client that showed it need not repeat it.
    #[serde(default)]
    pub streamed: bool,
}

impl Card {
    /// Makes the card of a question of the model.
    pub fn question(title: &str, text: &str) -> Self {
        let (title, summary) = (title.into(), text.into());
        Self {
            kind: "ask_user".into(),
            topic: QuestionTopic::AskUser,
            title,
            summary,
            streamed: false,
        }
    }

    fugato::state::setters! {
        /// Says whether the text has already streamed.
        pub fn streamed(streamed: bool) { streamed = streamed }
    }

    /// Makes the card of something to agree to.
    pub fn confirm(topic: QuestionTopic, title: &str, summary: String) -> Self {
        Self {
            kind: "confirm".into(),
            topic,
            title: title.into(),
            summary,
            streamed: false,
        }
    }
}

/// The person's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Reply")]
pub struct CardReply {
    /// What to do with what was shown; none for a plain answer to a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<CardAction>,
    /// The answer to a question, or the reason of a rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// With a rejection: what the person does with their own hands in place of answering, such as
    /// moving an item. What was asked is asked anew afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
}

/// What to do with what was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Action")]
pub enum CardAction {
    /// Do it.
    #[serde(alias = "accept")]
    Approve,
    /// Do not do it.
    Reject,
    /// Do not do it: for a person, the same as rejecting.
    Cancel,
}

impl CardReply {
    /// Returns an approval.
    pub fn approve() -> Self {
        Self {
            action: Some(CardAction::Approve),
            ..Self::default()
        }
    }

    /// Returns a rejection, with a reason if there is one.
    pub fn reject(reason: Option<String>) -> Self {
        Self {
            action: Some(CardAction::Reject),
            text: reason,
            call: None,
        }
    }

    /// Returns an answer to a question.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    fugato::state::setters! {
        /// Adds a call that is made in place of an answer.
        pub fn by_hand(call: Call) { call = Some(call) }
    }

    /// Returns the same answer without partial consent: an approval with words that are not a yes
    /// becomes a rejection, and the words are its reason.
    #[must_use]
    pub fn clear(self) -> Self {
        let is_yes = |text| Phrases::default().consent(text) == Some(true);
        let takes_back = self.said().is_some_and(|text| !is_yes(text));
        if self.action == Some(CardAction::Approve) && takes_back {
            return Self {
                action: Some(CardAction::Reject),
                ..self
            };
        }
        self
    }

    /// Returns the call that the person makes in place of an answer; none unless the reply rejects
    /// and the call is in [`BY_HAND`].
    pub fn hands(&self) -> Option<&Call> {
        let call = self.call.as_ref()?;
        let rejects = !matches!(self.action, None | Some(CardAction::Approve));
        (rejects && BY_HAND.contains(&call.name.as_str())).then_some(call)
    }

    /// Returns the person's text without surrounding space, if there is any.
    pub fn said(&self) -> Option<&str> {
        self.text
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }
}
