//! The items that a conversation shows when it is opened again, read from its log.
use std::collections::HashMap;

use fugato_graph::{Fact, HistoryEntry};
use fugato_state::{Interrupt, InterruptId, Message, Role, Seq, ToolStatus};
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
}

/// An item with its positions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TimelineEntry {
    /// The item's number from 1, in the order of the items.
    pub(crate) seq: u64,
    /// The position of its record in the log.
    pub(crate) at: Seq,
    #[serde(flatten)]
    pub(crate) item: TimelineItem,
}

/// Returns the entries as a reader with this redaction gets them.
pub(crate) fn redacted(entries: Vec<TimelineEntry>, redaction: Redaction) -> Vec<TimelineEntry> {
    let shown = |entry: TimelineEntry| {
        let item = entry.item.redacted(redaction)?;
        Some(TimelineEntry { item, ..entry })
    };
    entries.into_iter().filter_map(shown).collect()
}

/// The items of a log, built while the log is read.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    told: Vec<TimelineEntry>,
    calls: HashMap<String, usize>,
    results: HashMap<String, usize>,
    open: HashMap<InterruptId, usize>,
    /// The words of answers, which the changes of a later record may repeat.
    words: Vec<String>,
}

impl Timeline {
    pub(crate) fn into_items(self) -> Vec<TimelineEntry> {
        self.told
    }

    /// Adds the items of one record. `timeline_items` returns the items of its changes.
    pub(crate) fn read(
        &mut self,
        entry: &HistoryEntry,
        tells: impl FnOnce(&str) -> Vec<TimelineItem>,
    ) {
        let at = entry.seq;
        // The changes of a subgraph concern its own state.
        let tells = |updates: &Option<Box<serde_json::value::RawValue>>| match updates {
            Some(updates) if entry.scope.is_empty() => tells(updates.get()),
            _ => vec![],
        };
        match &entry.fact {
            Fact::Started { updates, .. } => {
                self.words.clear();
                self.add(at, tells(updates));
            }
            Fact::Amended { updates, .. } => self.add(at, tells(updates)),
            Fact::Stepped { updates, notes, .. } | Fact::Finished { updates, notes, .. } => {
                let noted = notes.iter().filter_map(TimelineItem::noted);
                let is_thought =
                    |item: &TimelineItem| matches!(item, TimelineItem::ThinkingSummary { .. });
                let (thoughts, others): (Vec<_>, Vec<_>) = noted.partition(is_thought);
                self.add(at, thoughts);
                self.add(at, tells(updates));
                self.add(at, others);
            }
            Fact::Asked { questions, .. } => {
                self.add(at, questions.iter().cloned().map(TimelineItem::asked));
            }
            Fact::Answered { answers, .. } => {
                for (id, answer) in answers {
                    self.closes(id, QuestionState::Answered, Some(answer));
                    let words = answer.as_str().or_else(|| answer.get("text")?.as_str());
                    if let Some(text) = words.filter(|text| !text.trim().is_empty()) {
                        // Each answer is an item, even if it equals an earlier one.
                        let text = text.to_owned();
                        self.push(at, TimelineItem::UserText { text: text.clone() });
                        self.words.push(text);
                    }
                }
            }
            Fact::Expired { id } | Fact::Withdrawn { id } => {
                self.closes(id, QuestionState::Expired, None);
            }
            Fact::Cancelled { why, .. } => {
                self.withdraw();
                let (code, summary) = ("interrupted".to_owned(), why.clone());
                self.add(at, [TimelineItem::Status { code, summary }]);
            }
            Fact::RunFailed { error } => {
                let (code, summary) = (FAILED.to_owned(), error.clone());
                self.add(at, [TimelineItem::Status { code, summary }]);
            }
            Fact::RunEnded { .. } => self.withdraw(),
            _ => {}
        }
    }

    pub(crate) fn add(&mut self, at: Seq, items: impl IntoIterator<Item = TimelineItem>) {
        for item in items {
            let place = self.told.len();
            let known = match &item {
                TimelineItem::UserText { text } => {
                    if let Some(said) = self.words.iter().position(|words| words == text) {
                        self.words.remove(said);
                        continue;
                    }
                    None
                }
                TimelineItem::ToolCall { call, .. } => known(&mut self.calls, call, place),
                TimelineItem::ToolResult { call, .. } => known(&mut self.results, call, place),
                TimelineItem::ConfirmRequest(confirm) => {
                    self.open.insert(confirm.asked.id.clone(), place);
                    None
                }
                _ => None,
            };
            match known.and_then(|place| self.told.get_mut(place)) {
                Some(told) => told.item.complete(item),
                None => self.push(at, item),
            }
        }
    }

    fn push(&mut self, at: Seq, item: TimelineItem) {
        let seq = self.told.len() as u64 + 1;
        self.told.push(TimelineEntry { seq, at, item });
    }

    fn closes(&mut self, id: &InterruptId, state: QuestionState, answer: Option<&Value>) {
        let place = self.open.remove(id);
        if let Some(told) = place.and_then(|place| self.told.get_mut(place))
            && let TimelineItem::ConfirmRequest(confirm) = &mut told.item
        {
            confirm.state = state;
            confirm.answer = answer.cloned();
        }
    }

    fn withdraw(&mut self) {
        let open: Vec<_> = self.open.keys().cloned().collect();
        for id in open {
            self.closes(&id, QuestionState::Withdrawn, None);
        }
    }
}

/// Returns the place of the item of this call; none for a new call, whose place is stored.
fn known(places: &mut HashMap<String, usize>, call: &str, place: usize) -> Option<usize> {
    let known = places.get(call).copied();
    places.entry(call.to_owned()).or_insert(place);
    known
}

impl TimelineItem {
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
    use fugato_state::RunId;
    use serde_json::json;

    use super::*;

    fn read(timeline: &mut Timeline, seq: Seq, fact: Fact<String>, tells: &[&str]) {
        let entry = HistoryEntry {
            seq,
            at: 0,
            run: RunId(1),
            scope: String::new(),
            fact,
        };
        let said = |text: &&str| TimelineItem::UserText {
            text: (*text).to_owned(),
        };
        timeline.read(&entry, |_| tells.iter().map(said).collect());
    }

    fn answered(id: &str, words: &str) -> Fact<String> {
        let answers = vec![(InterruptId(id.into()), words.into())];
        Fact::Answered { answers, by: None }
    }

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

    #[test]
    fn equal_answers_are_each_shown_and_told_again_by_nobody() {
        let amended = Fact::Amended {
            updates: serde_json::value::to_raw_value(&()).ok(),
            task: None,
            by: "ada".into(),
            why: "she told it again".into(),
        };
        let mut timeline = Timeline::default();
        read(&mut timeline, 1, answered("a", "later"), &[]);
        read(&mut timeline, 2, answered("b", "later"), &[]);
        // The state repeats both of them.
        read(&mut timeline, 3, amended, &["later", "later", "now"]);
        let items = timeline.into_items().into_iter();
        let told: Vec<_> = items
            .map(|told| match told.item {
                TimelineItem::UserText { text } => (told.seq, told.at, text),
                other => panic!("{other:?}"),
            })
            .collect();
        let told: Vec<_> = told.iter().map(|(s, a, t)| (*s, *a, t.as_str())).collect();
        assert_eq!(told, [(1, 1, "later"), (2, 2, "later"), (3, 3, "now")]);
    }
}
