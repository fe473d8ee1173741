//! What a person is asked to agree to, and what their answer means.
use fugato::{
    form::strings,
    words::{Phrases, ShortAnswer},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    action,
    service::Desk,
    state::{Approval, Beside, Request, Steward, Update},
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
    /// The name of the request that says it: a repeat has the same, and answers nothing again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace: String,
    /// What came with the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
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
        Self::new(ReplyAction::Approve, None)
    }

    /// A person does not agree.
    pub fn reject() -> Self {
        Self::new(ReplyAction::Reject, None)
    }

    /// A person says something.
    pub fn say(text: impl Into<String>) -> Self {
        Self::new(ReplyAction::Say, Some(text.into()))
    }

    fn new(action: ReplyAction, text: Option<String>) -> Self {
        Self {
            action,
            text,
            trace: String::new(),
            beside: None,
        }
    }

    /// What a request says, with its name and with what came beside it.
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            beside: Some(request.beside.clone()),
            ..Self::say(request.message.as_str())
        }
    }

    /// Whether files came with it that the card does not show.
    pub(crate) fn brings_more(&self, state: &Steward) -> bool {
        let shown = state
            .next_step()
            .and_then(|call| call.arguments.get("attachments"));
        let shown: Vec<_> = strings(shown).collect();
        let mut brought = self.beside.iter().flat_map(|beside| &beside.attachments);
        state.is_chat() && brought.any(|name| !shown.contains(&name.as_str()))
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
    let words = reply.text.as_deref().unwrap_or_default().trim();
    let agreed = |source: &str| {
        let approval = state.next_step().map(|call| Approval {
            call: call.clone(),
            source: source.to_owned(),
        });
        approval.map(Update::Approved).into_iter().collect()
    };
    match (reply.action, Phrases::default().consent(words)) {
        // A button with words that take it back agrees to nothing.
        (ReplyAction::Approve, None) if words.is_empty() => agreed("button"),
        (ReplyAction::Approve, Some(true)) => agreed("button"),
        // No model's reading of words is a consent: only the whole of them, by rule.
        // Who sends files with it has not seen them on the card.
        (ReplyAction::Say, Some(true)) if !reply.brings_more(state) => agreed("words"),
        (_, Some(false)) => vec![Update::Declined],
        _ if ShortAnswer::of(words) == Some(ShortAnswer::Cancel) => vec![Update::Declined],
        // An action that somebody requested as it is cannot be changed by words.
        _ if words.is_empty() || !state.is_chat() => vec![Update::Declined],
        _ => {
            let beside = reply.beside.clone().map(|it| Update::Beside(Box::new(it)));
            let said = Update::Said(words.to_owned());
            beside.into_iter().chain([said]).collect()
        }
    }
}
