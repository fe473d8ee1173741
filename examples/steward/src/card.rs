//! The card that a person is asked to agree to, and the meaning of their answer.
use std::sync::Arc;

use fugato::{
    form::strings,
    state::{State as _, say},
    words::{Phrases, ShortAnswer, courtesy},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    action,
    files::Attachment,
    reply,
    service::{NextStepJudge, RuleData},
    state::{Approval, Request, RequestExtras, RuntimeDecision, Steward, Update},
};

/// An answer to a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Reply")]
pub struct CardReply {
    /// The meaning of the answer.
    pub action: ReplyAction,
    /// The reason, or the wish instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The name of the request that says it: a repeat has the same, and answers nothing again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace: String,
    /// The data beside the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<RequestExtras>,
}

/// The meanings of an answer to a card.
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

impl CardReply {
    /// Creates the answer of a person who agrees.
    pub fn approve() -> Self {
        Self::new(ReplyAction::Approve, None)
    }

    /// Creates the answer of a person who does not agree.
    pub fn reject() -> Self {
        Self::new(ReplyAction::Reject, None)
    }

    /// Creates an answer in words.
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

    /// Returns the words of a request, with its name and its attachments.
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            beside: Some(request.beside.clone()),
            ..Self::say(request.message.as_str())
        }
    }

    /// Returns true for words that neither agree nor decline.
    pub(crate) fn decides_nothing(&self) -> bool {
        let words = self.text.as_deref().unwrap_or_default().trim();
        self.action == ReplyAction::Say
            && !words.is_empty()
            && Phrases::default().consent(words).is_none()
            && Phrases::default().decline_reason(words).is_none()
            && ShortAnswer::of(words) != Some(ShortAnswer::Cancel)
    }

    /// Returns true if files or values of fields came with the answer that the card does not show, and
    /// that words can change.
    pub(crate) fn brings_more(&self, desk: &Arc<RuleData>, state: &Steward) -> bool {
        state.is_chat() && self.brought(desk, state).is_some()
    }

    /// Returns the name of what came with the answer and is not on the card; none if nothing did.
    fn brought(&self, desk: &Arc<RuleData>, state: &Steward) -> Option<&'static str> {
        let beside = self.beside.as_ref()?;
        let shown = state.next_step().map(|call| &call.arguments);
        let shown = |name: &str| shown.and_then(|shown| shown.get(name));
        let files: Vec<_> = strings(shown("attachments")).collect();
        let is_new = |name: &String| !files.contains(&name.as_str());
        let context = &beside.context;
        let gives_more = if state.is_chat() {
            NextStepJudge(desk.clone()).is_given_more(state, context)
        } else {
            let is_shown = |(name, value): (&String, &Value)| shown(name) == Some(value);
            !context.iter().all(is_shown)
        };
        match () {
            () if gives_more => Some("context"),
            () if beside.attachments.iter().any(is_new) => Some("attachments"),
            () => None,
        }
    }

    /// Returns what to tell if something came with the answer and nothing would come of it; none if
    /// all of it is heard.
    pub(crate) fn unheard(&self, desk: &Arc<RuleData>, state: &Steward) -> Option<String> {
        let brought = self.brought(desk, state)?;
        let heard = answered(desk, state, self);
        if heard.iter().any(|it| matches!(it, Update::Beside(_))) {
            return None;
        }
        Some(if state.is_chat() {
            say!(
                "{brought:?} came with a no, which takes nothing along: say no alone, or what shall \
                 change; the card waits",
                "{brought:?} 随“不要”一起发来，而拒绝不带其他内容：请单独说“不要”，或者说要改成什么；卡片还在等待"
            )
        } else {
            say!(
                "{brought:?} came with an answer to what a button asked for, which it cannot change: \
                 say yes or no alone; the card waits",
                "{brought:?} 随回答一起发来，而按钮请求的操作不能这样更改：请只回答同意或拒绝；卡片还在等待"
            )
        })
    }
}

/// Returns the card of the next step. It depends on nothing but the state: the person agrees to
/// what was shown, and the gates decide whether it may still be done.
pub(crate) fn question(desk: &RuleData, state: &Steward) -> Value {
    let Some(card) = action::card(desk, state) else {
        return Value::Null;
    };
    let later = reply::later(state).map(|later| format!("\n{later}"));
    // Words that changed nothing are answered on the card that is shown again.
    let unclear = matches!(state.runtime_decision, Some(RuntimeDecision::Unclear));
    let unclear = unclear.then(|| {
        let told = state.aside.clone();
        let told = told.or_else(|| desk.not_a_wish(&state.message, state.base(), state.lang()));
        let courtesy = || courtesy(&state.message).map(|it| it.reply(state.lang()).to_owned());
        let told = told.or_else(courtesy);
        format!(
            "{}\n",
            told.unwrap_or_else(|| reply::unclear(state.lang()).to_owned())
        )
    });
    let (before, after) = (unclear.unwrap_or_default(), later.unwrap_or_default());
    let summary = format!("{before}{}{after}", card.summary);
    let mut shown = json!({
        "type": "confirm", "title": card.title, "summary": summary, "call": card.call,
        "labels": action::labels(desk, &card.call, state.lang()),
    });
    // The content that is agreed to, and not only its name.
    let files = action::attached(state, &card.call.arguments);
    let files: Vec<_> = files.map(Attachment::linked).collect();
    if let Some(shown) = shown.as_object_mut().filter(|_| !files.is_empty()) {
        shown.insert("files".to_owned(), json!(files));
    }
    shown
}

/// Returns true for a reason that says what shall not be, and nothing that shall: "not today", but
/// no "not Paris, Lyon".
fn negates(reason: &str) -> bool {
    let reason = reason.trim().to_lowercase();
    let (first, rest) = reason.split_once([',', '，']).unwrap_or((&reason, ""));
    rest.trim().is_empty() && (first.starts_with("not ") || first.starts_with(['不', '别', '没']))
}

/// Returns the changes that an answer makes. The person has agreed to exactly the call that the
/// card showed.
pub(crate) fn answered(desk: &Arc<RuleData>, state: &Steward, reply: &CardReply) -> Vec<Update> {
    let words = reply.text.as_deref().unwrap_or_default().trim();
    let brings_more = reply.brings_more(desk, state);
    // A button is a yes, and what comes with it is read beside one.
    let words = match (reply.action, words) {
        (ReplyAction::Approve, "") if brings_more => state.lang().pick("yes", "好的"),
        _ => words,
    };
    let agreed = |source: &str| {
        let approval = state.next_step().map(|call| Approval {
            call: call.clone(),
            source: source.to_owned(),
        });
        approval.map(Update::Approved).into_iter().collect()
    };
    let declines = Phrases::default().decline_reason(words);
    let cancels = |words: &str| ShortAnswer::of(words) == Some(ShortAnswer::Cancel);
    match (reply.action, Phrases::default().consent(words)) {
        // A button with words that take it back agrees to nothing.
        (ReplyAction::Approve, None) if words.is_empty() => agreed("button"),
        // What comes with the answer was not on the card.
        (ReplyAction::Approve, Some(true)) if !brings_more => agreed("button"),
        // Only words that are a consent as a whole, by rule, count; a model's reading does not.
        (ReplyAction::Say, Some(true)) if !brings_more => agreed("words"),
        (_, Some(false)) => vec![Update::Declined],
        _ if cancels(words) || declines.is_some_and(|why| cancels(why) || negates(why)) => {
            vec![Update::Declined]
        }
        // Words cannot change an action that was requested as it is.
        _ if words.is_empty() || !state.is_chat() => vec![Update::Declined],
        _ => {
            let beside = reply.beside.clone().map(|it| Update::Beside(Box::new(it)));
            let said = Update::Said(words.to_owned());
            // A no that changes nothing declines: "no, not today".
            let is_no = reply.action == ReplyAction::Reject || declines.is_some();
            let rejects = is_no.then_some(Update::Rejecting);
            beside.into_iter().chain([said]).chain(rejects).collect()
        }
    }
}
