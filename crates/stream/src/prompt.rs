//! How an interrupt is shown where a wire has cards of its own for it.
use fugato_state::Interrupt;
use serde_json::Value;

use crate::{json::Object, time::iso_8601};

/// The parts of an interrupt's prompt that wires have names for.
///
/// The prompt of a question is either a text, or an object with the fields `type`, `title`,
/// `summary` and `call`, the id of the tool call that it is about, all optional. A question is a
/// confirmation if its type is `confirm`, or if it has no type and a digest; otherwise its type is
/// `ask_user`.
pub(crate) struct Shown<'a> {
    pub(crate) kind: &'a str,
    pub(crate) title: &'a str,
    pub(crate) summary: &'a str,
    pub(crate) call: Option<&'a str>,
}

pub(crate) const CONFIRM: &str = "confirm";

impl<'a> Shown<'a> {
    pub(crate) fn of(interrupt: &'a Interrupt) -> Self {
        let question = &interrupt.question;
        let field = |name: &str| question.prompt.get(name).and_then(Value::as_str);
        let default = if question.digest.is_some() {
            CONFIRM
        } else {
            "ask_user"
        };
        Self {
            kind: field("type").unwrap_or(default),
            title: field("title").unwrap_or_default(),
            summary: question
                .prompt
                .as_str()
                .or(field("summary"))
                .unwrap_or_default(),
            call: field("call"),
        }
    }

    /// A line for people: what it is about, or else what it is called.
    pub(crate) fn line(&self) -> &'a str {
        if self.summary.is_empty() {
            self.title
        } else {
            self.summary
        }
    }
}

/// Writes everything that there is to show of an interrupt; `expires` is what the wire calls the
/// moment at which it expires.
pub(crate) fn card(it: &mut Object<'_>, interrupt: &Interrupt, expires: &str) {
    let (question, shown) = (&interrupt.question, Shown::of(interrupt));
    it.string("id", interrupt.id.as_str())
        .string("type", shown.kind);
    it.string("title", shown.title)
        .string("summary", shown.summary);
    it.value("prompt", &question.prompt)
        .value("schema", &question.schema);
    if let Some(digest) = &question.digest {
        it.string("digest", digest);
    }
    if let Some(at) = question.expires_at {
        it.string(expires, &iso_8601(at));
    }
}
