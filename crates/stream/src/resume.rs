use std::collections::BTreeMap;

use fugato_state::{InterruptId, Seq, say};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// A client's continuation of a thread: its answers, and the events that it has seen.
///
/// Each protocol has its own form for it in a request, and a function here. They check the shape
/// only. The thread decides if a question is open and an answer fits.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Resume {
    /// The answers.
    pub answers: Vec<QuestionAnswer>,
    /// The last position of which the client has seen everything.
    pub after: Option<Seq>,
    /// The tool calls that the client's last message has.
    pub calls: Vec<String>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QuestionAnswer {
    /// The id of the question; none if the client means the only one that is open.
    pub id: Option<InterruptId>,
    /// The answer.
    pub reply: ReplyForm,
    /// The person's reason.
    pub reason: Option<String>,
    /// The digest of the card that the person saw.
    pub digest: Option<String>,
}

/// The forms of an answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReplyForm {
    /// A value.
    Value(Value),
    /// A proposal is approved.
    Approve,
    /// A proposal is rejected.
    Reject,
    /// The person does not want to answer.
    Cancel,
}

impl ReplyForm {
    /// Returns the same as a value: true for an approval, false for a rejection, null without an
    /// answer.
    pub fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Approve => Value::Bool(true),
            Self::Reject => Value::Bool(false),
            Self::Cancel => Value::Null,
        }
    }
}

/// The error for a request without the shape that its protocol requires.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// A field has the wrong form.
    #[error("{}", say!("{field:?} cannot be read", "无法读取 {field:?}"))]
    Shape {
        /// The field.
        field: &'static str,
        /// The reason for which it cannot be read.
        source: serde_json::Error,
    },
    /// The action is unknown.
    #[error("{}", say!(
        "{action:?} is no action: approve, reject and cancel are",
        "{action:?} 不是操作；允许 approve、reject 和 cancel"
    ))]
    Action {
        /// The action.
        action: String,
    },
    /// The position is not a number.
    #[error("{}", say!("{id:?} is not the id of an event", "{id:?} 不是事件的编号"))]
    Position {
        /// The value that was sent.
        id: String,
    },
}

impl Resume {
    /// Reads a request of AG-UI: its field `resume`.
    pub fn ag_ui(request: &Value) -> Result<Self, ResumeError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Entry {
            interrupt_id: String,
            status: Status,
            #[serde(default)]
            payload: Value,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Status {
            Resolved,
            Cancelled,
        }
        let entries: Vec<Entry> = field(request, "resume")?;
        let answers = entries.into_iter().map(|entry| {
            let reply = match entry.status {
                Status::Resolved => ReplyForm::Value(entry.payload),
                Status::Cancelled => ReplyForm::Cancel,
            };
            QuestionAnswer::to(entry.interrupt_id.as_str(), reply)
        });
        Ok(Self {
            answers: answers.collect(),
            ..Self::default()
        })
    }

    /// Reads a request of the AI SDK: the approvals in its last message, and answers to other
    /// questions in a custom field, `answers`, by their ids.
    pub fn ai_sdk(request: &Value) -> Result<Self, ResumeError> {
        #[derive(Deserialize)]
        struct TextPart {
            role: String,
            #[serde(default)]
            parts: Vec<Value>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Part {
            state: String,
            tool_call_id: String,
            #[serde(default)]
            approval: Option<Approval>,
        }
        #[derive(Deserialize)]
        struct Approval {
            id: String,
            #[serde(default)]
            approved: bool,
            #[serde(default)]
            reason: Option<String>,
        }
        let mut resume = Self::by_id(request)?;
        let messages: Vec<TextPart> = field(request, "messages")?;
        let last = messages.into_iter().last();
        let own = last.filter(|message| message.role == "assistant");
        for part in own.into_iter().flat_map(|message| message.parts) {
            if part.get("toolCallId").is_none() {
                continue;
            }
            let part = Part::deserialize(part).map_err(shape("messages"))?;
            resume.calls.push(part.tool_call_id);
            let answered = part.state == "approval-responded";
            if let Some(approval) = part.approval.filter(|_| answered) {
                let reply = if approval.approved {
                    ReplyForm::Approve
                } else {
                    ReplyForm::Reject
                };
                resume.answers.push(QuestionAnswer {
                    reason: approval.reason,
                    ..QuestionAnswer::to(approval.id.as_str(), reply)
                });
            }
        }
        Ok(resume)
    }

    /// Reads a request of OpenAI's protocol: `resume` or the older `confirm_action` in its field
    /// `extra` or `ext`. The last message holds the answer to a question of type `ask_user`, and
    /// the reason of a rejection.
    pub fn openai(request: &Value) -> Result<Self, ResumeError> {
        #[derive(Default, Deserialize)]
        struct OpenInterrupt {
            #[serde(default)]
            interaction_id: Option<String>,
            #[serde(default, rename = "type")]
            kind: Option<String>,
            #[serde(default)]
            action: Option<String>,
            #[serde(default)]
            after: Option<Seq>,
        }
        let extra = ["extra", "ext"].map(|name| request.get(name));
        let extra = extra.into_iter().flatten().find(|extra| !extra.is_null());
        let extra = extra.unwrap_or(&Value::Null);
        let resumed: Option<OpenInterrupt> = field(extra, "resume")?;
        let confirmed: Option<String> = field(extra, "confirm_action")?;
        let asked = match (resumed, confirmed) {
            (Some(asked), _) => asked,
            (None, Some(action)) => OpenInterrupt {
                action: Some(action),
                ..OpenInterrupt::default()
            },
            (None, None) => return Ok(Self::default()),
        };
        let after = asked.after;
        let said = last_words(request);
        let reply = match (asked.action.as_deref(), asked.kind.as_deref()) {
            (Some("approve" | "accept"), _) => ReplyForm::Approve,
            (Some("reject"), _) => ReplyForm::Reject,
            (Some("cancel"), _) => ReplyForm::Cancel,
            (Some(other), _) => {
                let action = other.to_owned();
                return Err(ResumeError::Action { action });
            }
            (None, Some("ask_user")) => ReplyForm::Value(said.into()),
            (None, _) => {
                let resume = Self::default();
                return Ok(Self { after, ..resume });
            }
        };
        let about = reply == ReplyForm::Reject && !said.is_empty();
        let answered = QuestionAnswer {
            id: asked.interaction_id.as_deref().map(InterruptId::from),
            reason: about.then(|| said.to_owned()),
            digest: None,
            reply,
        };
        Ok(Self {
            answers: vec![answered],
            after,
            calls: vec![],
        })
    }

    /// Reads a message of a WebSocket: `answer` with an id and an answer, or `resume` with the last
    /// position that was seen, `after`. Any other message is neither.
    pub fn envelope(message: &Value) -> Result<Self, ResumeError> {
        #[derive(Deserialize)]
        struct GivenAnswer {
            #[serde(default)]
            id: Option<String>,
            answer: Value,
            #[serde(default)]
            digest: Option<String>,
        }
        let data = message.get("data").unwrap_or(&Value::Null);
        match message.get("event").and_then(Value::as_str) {
            Some("answer") => {
                let given = GivenAnswer::deserialize(data).map_err(shape("data"))?;
                let answered = QuestionAnswer {
                    id: given.id.as_deref().map(InterruptId::from),
                    reply: ReplyForm::Value(given.answer),
                    reason: None,
                    digest: given.digest,
                };
                Ok(Self {
                    answers: vec![answered],
                    ..Self::default()
                })
            }
            Some("resume") => Self::by_id(data),
            _ => Ok(Self::default()),
        }
    }

    /// Reads the header `Last-Event-ID`, with which a browser reconnects to named events.
    pub fn last_event_id(id: &str) -> Result<Self, ResumeError> {
        let after = id.trim().parse();
        let after = after.map_err(|_| ResumeError::Position { id: id.to_owned() })?;
        Ok(Self {
            after: Some(after),
            ..Self::default()
        })
    }

    /// Reads an object with `answers` by their ids, and `after`, the last position that was seen.
    pub fn by_id(request: &Value) -> Result<Self, ResumeError> {
        let answers: BTreeMap<String, Value> = field(request, "answers")?;
        let answers = answers.into_iter();
        Ok(Self {
            answers: answers
                .map(|(id, answer)| QuestionAnswer::to(id.as_str(), ReplyForm::Value(answer)))
                .collect(),
            after: field(request, "after")?,
            calls: vec![],
        })
    }
}

impl QuestionAnswer {
    /// Creates an answer to the question with this id.
    pub fn to(id: impl Into<InterruptId>, reply: ReplyForm) -> Self {
        Self {
            id: Some(id.into()),
            reply,
            reason: None,
            digest: None,
        }
    }
}

/// Reads a field; nothing if it is missing or null.
fn field<'a, T: Default + Deserialize<'a>>(
    request: &'a Value,
    name: &'static str,
) -> Result<T, ResumeError> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => T::deserialize(value).map_err(shape(name)),
    }
}

/// Returns the making of the error about a field.
fn shape(field: &'static str) -> impl Fn(serde_json::Error) -> ResumeError {
    move |source| ResumeError::Shape { field, source }
}

/// Returns the text of the last message.
fn last_words(request: &Value) -> &str {
    let messages = request.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.last());
    let content = last.and_then(|message| message.get("content"));
    content.and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
