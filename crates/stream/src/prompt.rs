//! Interrupts as the cards of a protocol.
use fugato_state::{Interrupt, iso_8601};
use serde_json::Value;

use crate::{CardText, json::Object};

/// The parts of an interrupt's prompt that wires have names for.
///
/// The prompt of a question is either a text, or an object with the fields `type`, `title`,
/// `summary`, `consequence`, `says`, `names`, `labels` and `call`, the tool call that it is about or
/// its id, all optional. `names` has for arguments of the call what people call them, and `labels` what
/// they, and the summary, call their values. A question is a confirmation if its type is `confirm`, or
/// if it has no type and a digest; otherwise its type is `ask_user`.
pub(crate) struct PromptParts<'a> {
    pub(crate) kind: &'a str,
    pub(crate) title: &'a str,
    pub(crate) summary: &'a str,
    /// The summary, or the field that replaces it.
    pub(crate) words: &'a str,
    /// The consequence that the arguments do not show, such as a file that is overwritten.
    pub(crate) consequence: &'a str,
    /// The tool's own description.
    pub(crate) says: &'a str,
    /// The id of the call.
    pub(crate) call: Option<&'a str>,
    /// The name of the call and its arguments, if the prompt has them.
    pub(crate) proposed: Option<(&'a str, &'a Value)>,
}

pub(crate) const CONFIRM: &str = "confirm";

impl<'a> PromptParts<'a> {
    pub(crate) fn of(interrupt: &'a Interrupt) -> Self {
        let question = &interrupt.question;
        let field = |name: &str| question.prompt.get(name).and_then(Value::as_str);
        let default = if question.digest.is_some() {
            CONFIRM
        } else {
            "ask_user"
        };
        let call = question.prompt.get("call");
        let part = |name: &str| call.and_then(|call| call.get(name));
        let name = part("name").and_then(Value::as_str);
        let summary = question.prompt.as_str().or(field("summary"));
        let words = summary.or_else(|| ["question", "text"].into_iter().find_map(field));
        Self {
            kind: field("type").unwrap_or(default),
            title: field("title").unwrap_or_default(),
            summary: summary.unwrap_or_default(),
            words: words.unwrap_or_default(),
            consequence: field("consequence").unwrap_or_default(),
            says: field("says").unwrap_or_default(),
            call: field("call").or(part("id").and_then(Value::as_str)),
            proposed: name.zip(part("arguments")),
        }
    }

    /// Returns the short code of an approval, by which a person names it in words.
    pub(crate) fn code(interrupt: &Interrupt) -> Option<String> {
        let approval = interrupt.question.digest.is_some();
        approval.then(|| interrupt.id.code())
    }

    /// Returns the text for a person: everything that is asked about, or else the heading.
    pub(crate) fn message(interrupt: &Interrupt) -> String {
        let text = CardText::of(interrupt);
        let body = text.body();
        if body.is_empty() {
            text.heading()
        } else {
            body
        }
    }
}

/// Writes every field of an interrupt; `expires` is the protocol's name for the moment at which it
/// expires.
pub(crate) fn card(it: &mut Object<'_>, interrupt: &Interrupt, expires: &str) {
    let (question, shown) = (&interrupt.question, PromptParts::of(interrupt));
    it.string("id", interrupt.id.as_str())
        .string("type", shown.kind);
    it.string("title", shown.title)
        .string("summary", shown.summary);
    code(it, interrupt);
    it.value("prompt", &question.prompt)
        .value("schema", &question.schema);
    if let Some(digest) = &question.digest {
        it.string("digest", digest);
    }
    if let Some(at) = question.expires_at {
        it.string(expires, &iso_8601(at));
    }
}

/// Writes the short code of an approval.
pub(crate) fn code(it: &mut Object<'_>, interrupt: &Interrupt) {
    if let Some(code) = PromptParts::code(interrupt) {
        it.string("code", &code);
    }
}
