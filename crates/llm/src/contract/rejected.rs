use std::fmt::{self, Write as _};

use fugato_state::{Lang, Message, Violation, say};
use serde::{Deserialize, Serialize};

use crate::NoObject;

/// The greatest number of violations in a correction; more confuse a small model.
const SHOWN: usize = 6;
/// The longest text of one violation; a longer one repeats too much of the wrong answer.
const MESSAGE_CHARS: usize = 300;
/// The replacement for an empty answer in the history, because servers refuse empty messages.
fn empty() -> String {
    say!("(empty answer)", "（空回答）")
}

/// An answer that breaks its contract, with the reasons. Its texts are in the language that is spoken
/// when they are made: see [`Lang`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedAnswer {
    /// The kind of breach.
    pub class: RejectedClass,
    /// The answer of the model, unchanged.
    pub raw: String,
    /// The violations, each with its place.
    pub violations: Vec<Violation>,
    /// The allowed keys, one on each line; empty where the violations are sufficient.
    pub allowed: String,
}

/// The kinds of breaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RejectedClass {
    /// The answer is empty.
    Empty,
    /// The answer contains no valid JSON object.
    NotJson,
    /// The answer is a list.
    Array,
    /// The answer ends before the object is complete.
    Truncated,
    /// The answer copies a list of alternatives where one of them should be chosen.
    Alternatives,
    /// The object breaks the schema.
    Schema,
    /// The object fits the schema and a check rejects it.
    Sense,
    /// The answer is meant for a person and contains text for a program, or parts of the prompt.
    Words,
}

impl RejectedAnswer {
    /// Creates a rejection for a reason that only the caller knows, such as a tool that is not
    /// visible now.
    pub fn sense(
        raw: impl Into<String>,
        path: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::at(path, message).raw(&raw.into())
    }

    /// Creates a rejection of a part of an answer, for a reader that does not have the whole: an
    /// [`Ask`](crate::Ask) adds it.
    pub fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        let violation = Violation {
            path: path.into(),
            message: message.into(),
        };
        Self::new(RejectedClass::Sense, vec![violation], String::new())
    }

    /// Creates a rejection of text that is meant for a person and that a person should not read.
    pub fn words(raw: impl Into<String>, message: impl Into<String>) -> Self {
        let violation = Violation {
            path: String::new(),
            message: message.into(),
        };
        Self::new(RejectedClass::Words, vec![violation], String::new()).raw(&raw.into())
    }

    pub(crate) fn new(class: RejectedClass, violations: Vec<Violation>, allowed: String) -> Self {
        Self {
            class,
            raw: String::new(),
            violations,
            allowed,
        }
    }

    pub(crate) fn unread(why: &NoObject, allowed: String) -> Self {
        let class = match why {
            NoObject::Empty => RejectedClass::Empty,
            NoObject::Array => RejectedClass::Array,
            NoObject::Truncated => RejectedClass::Truncated,
            NoObject::Absent | NoObject::Broken { .. } => RejectedClass::NotJson,
        };
        let broken = match why {
            NoObject::Broken { .. } => {
                vec![Violation {
                    path: String::new(),
                    message: why.to_string(),
                }]
            }
            _ => vec![],
        };
        Self::new(class, broken, allowed)
    }

    /// Sets the answer that is rejected.
    #[must_use]
    pub fn raw(mut self, raw: &str) -> Self {
        raw.clone_into(&mut self.raw);
        self
    }

    fn headline(&self) -> &'static str {
        let (en, zh) = match self.class {
            RejectedClass::Empty => ("it is empty", "它是空的"),
            RejectedClass::NotJson => (
                "it contains no valid JSON object",
                "其中没有有效的 JSON 对象",
            ),
            RejectedClass::Array => (
                "it is a list, and exactly one JSON object is expected",
                "它是列表，而应当是恰好一个 JSON 对象",
            ),
            RejectedClass::Truncated => (
                "it ends before the JSON object is complete; be shorter",
                "JSON 对象还没写完就结束了；请写短一些",
            ),
            RejectedClass::Alternatives => (
                "it copies a list of alternatives where exactly one must be chosen",
                "它照抄了备选列表，而应当只选其中一个",
            ),
            RejectedClass::Schema => (
                "the JSON object does not have the expected form",
                "JSON 对象的形式不合要求",
            ),
            RejectedClass::Sense => (
                "the JSON object is well-formed and not allowed here",
                "JSON 对象形式正确，但在这里不允许",
            ),
            RejectedClass::Words => ("it is not for a person", "它不是写给人看的"),
        };
        Lang::current().pick(en, zh)
    }

    /// Returns the correction for the model: what was wrong and what is allowed.
    pub fn correction(&self) -> String {
        let mut text = say!(
            "Your last answer cannot be used: {}.\n",
            "你上次的回答无法使用：{}。\n",
            self.headline()
        );
        for violation in self.violations.iter().take(SHOWN) {
            let line = violation.to_string();
            let short: String = line.chars().take(MESSAGE_CHARS).collect();
            let cut = if short.len() < line.len() { "…" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "- {short}{cut}");
        }
        if !self.allowed.is_empty() {
            text += &say!(
                "Allowed are these keys:\n{}",
                "可以用的键：\n{}",
                self.allowed
            );
        }
        text += &match self.class {
            RejectedClass::Words => say!(
                "Answer again, in plain words for the person.",
                "请用写给人看的普通文字重新回答。"
            ),
            _ => say!(
                "Answer again with one JSON object and nothing else.",
                "请重新回答，只写一个 JSON 对象。"
            ),
        };
        text
    }

    /// Returns the two messages to append to the history: the answer of the model, and the
    /// correction.
    pub fn messages(&self) -> [Message; 2] {
        let said = if self.raw.trim().is_empty() {
            empty()
        } else {
            self.raw.clone()
        };
        [Message::assistant(said), Message::user(self.correction())]
    }
}

impl fmt::Display for RejectedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headline = self.headline();
        f.write_str(&say!(
            "the answer is rejected: {headline}",
            "回答被退回：{headline}"
        ))?;
        let (first, next) = Lang::current().pick((": ", "; "), ("：", "；"));
        for (n, violation) in self.violations.iter().enumerate() {
            write!(f, "{}{violation}", if n == 0 { first } else { next })?;
        }
        Ok(())
    }
}

impl std::error::Error for RejectedAnswer {}

impl From<serde_json::Error> for RejectedAnswer {
    fn from(error: serde_json::Error) -> Self {
        Self::at("", error.to_string())
    }
}
