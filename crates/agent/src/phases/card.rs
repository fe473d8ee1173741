use fugato_llm::ProposedCall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The text of a question about a subject, as the person sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card<T> {
    /// `ask_user` or `confirm`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The subject of the question.
    pub topic: T,
    /// A short heading.
    pub title: String,
    /// The whole text.
    pub summary: String,
    /// True if the text has already streamed, so that a client that showed it need not repeat it.
    #[serde(default)]
    pub streamed: bool,
}

impl<T: Clone> Card<T> {
    /// Makes the card of a question of the model.
    pub fn question(topic: T, title: &str, text: &str) -> Self {
        Self::new("ask_user", topic, title, text.to_owned())
    }

    /// Makes the card of something to agree to.
    pub fn confirm(topic: T, title: &str, summary: String) -> Self {
        Self::new("confirm", topic, title, summary)
    }

    fn new(kind: &str, topic: T, title: &str, summary: String) -> Self {
        Self {
            kind: kind.into(),
            topic,
            title: title.into(),
            summary,
            streamed: false,
        }
    }

    fugato_state::setters! {
        /// Says whether the text has already streamed.
        pub fn streamed(streamed: bool) { streamed = streamed }
    }
}

/// The person's answer to a card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Reply")]
pub struct CardReply {
    /// The continuation after what was shown; none for a plain answer to a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<CardAction>,
    /// The answer to a question, or the reason of a rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// With a rejection: what the person does with their own hands in place of answering, such as
    /// moving an item. What was asked is asked anew afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ProposedCall>,
}

/// The continuation after what was shown.
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
        let action = Some(CardAction::Approve);
        Self {
            action,
            ..Self::default()
        }
    }

    /// Returns a rejection, with a reason if there is one.
    pub fn reject(reason: Option<String>) -> Self {
        let action = Some(CardAction::Reject);
        Self {
            action,
            text: reason,
            call: None,
        }
    }

    /// Returns an answer to a question.
    pub fn text(text: impl Into<String>) -> Self {
        let text = Some(text.into());
        Self {
            text,
            ..Self::default()
        }
    }

    fugato_state::setters! {
        /// Adds a call that is made in place of an answer.
        pub fn by_hand(call: ProposedCall) { call = Some(call) }
    }

    /// Returns the same answer without partial consent: an approval with words that are not a yes
    /// becomes a rejection, and the words are its reason.
    #[must_use]
    pub fn clear(mut self, is_yes: impl Fn(&str) -> bool) -> Self {
        let takes_back = self.said().is_some_and(|text| !is_yes(text));
        if takes_back && self.is_approval() {
            self.action = Some(CardAction::Reject);
        }
        self
    }

    /// Returns true if the person agrees.
    pub fn is_approval(&self) -> bool {
        self.action == Some(CardAction::Approve)
    }

    /// Returns the call that the person makes in place of an answer; none unless the reply rejects
    /// and the call is one of the `allowed` ones.
    pub fn hands(&self, allowed: &[&str]) -> Option<&ProposedCall> {
        let call = self.call.as_ref().filter(|_| self.action.is_some())?;
        (!self.is_approval() && allowed.contains(&call.name.as_str())).then_some(call)
    }

    /// Returns the person's text without surrounding space, if there is any.
    pub fn said(&self) -> Option<&str> {
        let text = self.text.as_deref().map(str::trim);
        text.filter(|text| !text.is_empty())
    }
}
