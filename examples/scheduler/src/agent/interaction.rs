use fugato::{state::ToolCall, words::Phrases};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BY_HAND, Phase};
use crate::contract::Call;

/// A write that the agent wants to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// The call, with canonical name and arguments.
    pub call: ToolCall,
    /// What it does, for the person.
    pub summary: String,
    /// What the model said with it.
    pub speak: String,
    /// Whether it may be made: it needs no consent, or the person agreed.
    pub accepted: bool,
}

/// What the person is asked, and where the agent goes on when it is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// What it is about.
    pub topic: Topic,
    /// What the person is shown.
    pub card: Card,
    /// The phase to which the answer returns.
    pub resume_phase: Phase,
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The model wants to know something.
    AskUser,
    /// Whether the plan is right.
    Plan,
    /// Whether a write may be made.
    Tool,
    /// Whether what was placed shall be kept.
    Schedule,
}

/// What the person is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// `ask_user` or `confirm`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is about.
    pub topic: Topic,
    /// A short heading.
    pub title: String,
    /// The whole text.
    pub summary: String,
    /// Whether the text has already streamed, so that who has just read it need not see it again.
    #[serde(default)]
    pub streamed: bool,
}

impl Card {
    /// A question of the model.
    pub fn question(title: &str, text: &str) -> Self {
        let (title, summary) = (title.into(), text.into());
        Self {
            kind: "ask_user".into(),
            topic: Topic::AskUser,
            title,
            summary,
            streamed: false,
        }
    }

    /// Says whether the text has already streamed.
    #[must_use]
    pub fn streamed(mut self, streamed: bool) -> Self {
        self.streamed = streamed;
        self
    }

    /// Something to agree to.
    pub fn confirm(topic: Topic, title: &str, summary: String) -> Self {
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
pub struct Reply {
    /// What to do with what was shown; none for a plain answer to a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
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
pub enum Action {
    /// Do it.
    #[serde(alias = "accept")]
    Approve,
    /// Do not do it.
    Reject,
    /// Do not do it: for a person, the same as rejecting.
    Cancel,
}

impl Reply {
    /// Agrees.
    pub fn approve() -> Self {
        Self {
            action: Some(Action::Approve),
            ..Self::default()
        }
    }

    /// Disagrees, perhaps with a reason.
    pub fn reject(reason: Option<String>) -> Self {
        Self {
            action: Some(Action::Reject),
            text: reason,
            call: None,
        }
    }

    /// Answers a question.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Does this in place of answering.
    #[must_use]
    pub fn by_hand(mut self, call: Call) -> Self {
        self.call = Some(call);
        self
    }

    /// The same answer, in which nothing is agreed to by halves: an approval with words that are no
    /// yes is a rejection, and the words are its reason.
    #[must_use]
    pub fn clear(self) -> Self {
        let is_yes = |text| Phrases::default().consent(text) == Some(true);
        let takes_back = self.said().is_some_and(|text| !is_yes(text));
        if self.action == Some(Action::Approve) && takes_back {
            return Self {
                action: Some(Action::Reject),
                ..self
            };
        }
        self
    }

    /// What is done in place of answering; none if hands cannot do it.
    pub fn hands(&self) -> Option<&Call> {
        let call = self.call.as_ref()?;
        let rejects = !matches!(self.action, None | Some(Action::Approve));
        (rejects && BY_HAND.contains(&call.name.as_str())).then_some(call)
    }

    /// What the person said, if anything.
    pub fn said(&self) -> Option<&str> {
        self.text
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }
}
