//! The items that a conversation shows when it is opened again.
pub(crate) mod reader;

use fugato_state::{Interrupt, Message, Role, ToolStatus};
use fugato_stream::{EventKind, Redaction};
use serde::Serialize;
use serde_json::Value;

/// One item that a conversation shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TimelineItem {
    /// The person said it.
    UserText {
        /// The words.
        text: String,
    },
    /// The agent said it.
    AssistantText {
        /// The words.
        text: String,
        /// The model's reasoning before the words, where it is kept with them.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
    },
    /// A tool was called.
    ToolCall {
        /// The id of the call.
        call: String,
        /// The tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// The result of a call. Unknown fields are left out.
    ToolResult {
        /// The id of the call.
        call: String,
        /// The tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The status of the result.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<ToolStatus>,
        /// A short line for people.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The whole result.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
    },
    /// The person was asked.
    ConfirmRequest(Confirm),
    /// The work is done; its result is fetched when the item is opened.
    ScheduleCompleted {
        /// The content of the card.
        data: Value,
    },
    /// Something to show as a unit.
    BusinessCard {
        /// The name of the card.
        card: String,
        /// Its content.
        data: Value,
    },
    /// The model's reasoning, apart from its words.
    ThinkingSummary {
        /// The fields of the card of this name: `text` and `seconds`.
        #[serde(flatten)]
        data: Value,
    },
    /// A custom event of the agent, such as a plan.
    Note {
        /// The name of the event.
        name: String,
        /// Its content.
        data: Value,
    },
    /// An outcome, in a line.
    Status {
        /// A stable code.
        code: String,
        /// The same for people.
        summary: String,
    },
    /// A model's answer was not usable; the model got this correction.
    Correction {
        /// The error, and what is allowed.
        message: String,
    },
}

/// The custom events that have an item of their own already, or concern only an inspector.
const QUIET: [&str; 5] = [
    "final",
    "model_call",
    "schedule_preview",
    "usage",
    "user_input",
];

/// The custom event with the statistics of a summary of older turns.
const COMPACTION: &str = "context_compaction";

/// The code of the status of a run that failed.
const FAILED: &str = "failed";

/// A question with its state and answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Confirm {
    /// The question.
    #[serde(flatten)]
    pub asked: Interrupt,
    /// The state of the question.
    pub state: QuestionState,
    /// The answer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
}

/// The states of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuestionState {
    /// It waits for an answer.
    Open,
    /// It was answered.
    Answered,
    /// It expired without an answer.
    Expired,
    /// The run ended without an answer.
    Withdrawn,
}

impl TimelineItem {
    /// Returns the items of one message: words, and calls of tools with their results. System
    /// messages have none.
    pub fn of(message: &Message) -> Vec<Self> {
        let text = message.content.clone();
        match message.role {
            Role::User => vec![Self::UserText { text }],
            Role::Assistant => {
                let reasoning_content = message.reasoning.clone();
                let is_said = !text.trim().is_empty() || reasoning_content.is_some();
                let said = is_said.then_some(Self::AssistantText {
                    text,
                    reasoning_content,
                });
                let calls = message.tool_calls.iter().map(|call| Self::ToolCall {
                    call: call.id.clone(),
                    name: call.name.clone(),
                    arguments: call.arguments.clone(),
                });
                said.into_iter().chain(calls).collect()
            }
            Role::Tool => vec![Self::ToolResult {
                call: message.tool_call_id.clone().unwrap_or_default(),
                name: None,
                status: None,
                summary: None,
                result: Some(Value::String(text)),
            }],
            Role::System => vec![],
        }
    }

    /// Returns the item as a reader with this redaction gets it; none if it is dropped.
    fn redacted(mut self, redaction: Redaction) -> Option<Self> {
        match &mut self {
            Self::ToolResult { result, .. } if redaction.tool_outputs => *result = None,
            Self::Correction { .. } if redaction.model_calls => return None,
            Self::ConfirmRequest(confirm) if redaction.nodes => confirm.asked.task.clear(),
            Self::Status { code, summary } if redaction.nodes && code == FAILED => {
                Redaction::RUN_FAILED.clone_into(summary);
            }
            _ => {}
        }
        Some(self)
    }

    /// Returns the item of a durable message of a task.
    fn noted(note: &EventKind) -> Option<Self> {
        Some(match note {
            EventKind::ToolCallProposed {
                call,
                name,
                arguments,
            } => Self::ToolCall {
                call: call.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
            },
            EventKind::ToolFinished {
                call,
                name,
                status,
                summary,
                result,
            } => Self::ToolResult {
                call: call.clone(),
                name: Some(name.clone()),
                status: Some(*status),
                summary: Some(summary.clone()),
                result: result.clone(),
            },
            EventKind::Card { card, data } => match card.as_str() {
                "schedule_completed" => Self::ScheduleCompleted { data: data.clone() },
                "thinking_summary" => Self::ThinkingSummary { data: data.clone() },
                _ => Self::BusinessCard {
                    card: card.clone(),
                    data: data.clone(),
                },
            },
            EventKind::Status { code, summary } => Self::Status {
                code: code.clone(),
                summary: summary.clone(),
            },
            EventKind::Correction { message } => Self::Correction {
                message: message.clone(),
            },
            // It was told by a status, of which the log keeps the statistics.
            EventKind::Custom { name, data } if name == COMPACTION => Self::Status {
                code: "context_compact_done".to_owned(),
                summary: data.get("told")?.as_str()?.to_owned(),
            },
            EventKind::Custom { name, data } if !QUIET.contains(&name.as_str()) => Self::Note {
                name: name.clone(),
                data: data.clone(),
            },
            _ => return None,
        })
    }

    fn asked(asked: Interrupt) -> Self {
        let (state, answer) = (QuestionState::Open, None);
        Self::ConfirmRequest(Confirm {
            asked,
            state,
            answer,
        })
    }

    /// Fills missing fields from another item of the same call.
    fn complete(&mut self, other: Self) {
        if let (
            Self::ToolResult {
                name,
                status,
                summary,
                result,
                ..
            },
            Self::ToolResult {
                name: more_name,
                status: more_status,
                summary: more_summary,
                result: more_result,
                ..
            },
        ) = (self, other)
        {
            *name = name.take().or(more_name);
            *status = status.or(more_status);
            *summary = summary.take().or(more_summary);
            *result = result.take().or(more_result);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_summary_of_older_turns_is_told_again_as_it_was() {
        let compacted = |data| EventKind::Custom {
            name: COMPACTION.to_owned(),
            data,
        };
        let told = TimelineItem::noted(&compacted(json!({ "part": "said", "told": "summed up" })));
        let status = TimelineItem::Status {
            code: "context_compact_done".to_owned(),
            summary: "summed up".to_owned(),
        };
        assert_eq!(told, Some(status));
        // Older logs do not say how it ended.
        assert_eq!(
            TimelineItem::noted(&compacted(json!({ "part": "said" }))),
            None
        );
    }

    #[test]
    fn what_a_task_told_is_told_again_but_not_what_a_model_was_asked() {
        let custom = |name: &str| EventKind::Custom {
            name: name.to_owned(),
            data: Value::Null,
        };
        let told: Vec<_> = ["planning", "model_call", "rag_query"]
            .iter()
            .filter_map(|name| TimelineItem::noted(&custom(name)))
            .collect();
        let note = |name: &str| TimelineItem::Note {
            name: name.to_owned(),
            data: Value::Null,
        };
        assert_eq!(told, [note("planning"), note("rag_query")]);
        let message = String::from("no such tool");
        let corrected = TimelineItem::noted(&EventKind::Correction {
            message: message.clone(),
        });
        assert_eq!(corrected, Some(TimelineItem::Correction { message }));
    }
}
