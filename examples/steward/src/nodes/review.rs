//! What a person is asked to agree to, and what their answer means.
use fugato::agent::ShortAnswer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    action,
    service::Desk,
    state::{Approval, RequestKind, Steward, Update},
};

/// An answer to a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// What is meant.
    pub action: ReplyAction,
    /// Why not, or what instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What an answer to a card means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyAction {
    /// A person agrees, by a button.
    Approve,
    /// A person does not agree.
    Reject,
    /// A person says something, which may be either.
    Say,
}

impl Reply {
    /// A person agrees.
    pub fn approve() -> Self {
        Self {
            action: ReplyAction::Approve,
            text: None,
        }
    }

    /// A person does not agree.
    pub fn reject() -> Self {
        Self {
            action: ReplyAction::Reject,
            text: None,
        }
    }

    /// A person says something.
    pub fn say(text: impl Into<String>) -> Self {
        Self {
            action: ReplyAction::Say,
            text: Some(text.into()),
        }
    }
}

/// The card of the next step. It depends on nothing but the state: what was shown is agreed to,
/// and whether it may still be done is for the gates to say.
pub(crate) fn question(desk: &Desk, state: &Steward) -> Value {
    let Some(card) = action::card(desk, state) else {
        return Value::Null;
    };
    json!({ "type": "confirm", "title": card.title, "summary": card.summary, "call": card.call })
}

/// What an answer changes. What a person has agreed to is the very call that the card has shown.
pub(crate) fn answered(state: &Steward, reply: &Reply) -> Vec<Update> {
    let words = reply
        .text
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let agreed = |source: &str| {
        let call = state.next_step().cloned();
        let approval = call.map(|call| Approval {
            call,
            source: source.to_owned(),
        });
        approval.map(Update::Approved).into_iter().collect()
    };
    match (reply.action, words) {
        (ReplyAction::Approve, _) => agreed("button"),
        (ReplyAction::Reject | ReplyAction::Say, None) => vec![Update::Declined],
        (action, Some(words)) => match ShortAnswer::of(words) {
            // No model's reading of words is a consent: only the whole of them, by rule.
            Some(ShortAnswer::Yes | ShortAnswer::Continue) if action == ReplyAction::Say => {
                agreed("words")
            }
            Some(ShortAnswer::No | ShortAnswer::Cancel) => vec![Update::Declined],
            // An action that somebody requested as it is cannot be changed by words.
            _ if !is_chat(state) => vec![Update::Declined],
            _ => vec![Update::Said(words.to_owned())],
        },
    }
}

fn is_chat(state: &Steward) -> bool {
    state
        .request
        .as_ref()
        .is_some_and(|request| request.kind == RequestKind::Chat)
}
