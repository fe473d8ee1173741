use fugato_state::Interrupt;
use serde_json::Value;

use crate::{
    CardText, Encoder, Event, EventKind, Fidelity, Frames, ToolStatus, card_text,
    encoder::BROKEN_OFF,
    json::{self, Object},
    open_questions::OpenQuestions,
    plan,
    prompt::{self, CONFIRM, PromptParts},
    sse,
};

/// Encodes a run as a stream of OpenAI chat completion chunks, with an extension field for
/// everything that such chunks have no place for.
///
/// Plain clients see the answer and its reasoning as they grow, and the end. Tools run on the
/// server, so they are in the extension only: a client would try to run the entries of
/// `tool_calls`. There are no `id:` lines, because some clients fail on them; the position in the
/// log is in the extension.
#[derive(Debug)]
pub struct OpenAiEncoder {
    /// The bytes of a chunk up to its choices.
    head: String,
    extension: &'static str,
    fidelity: Fidelity,
    include_usage: bool,
    usage: Option<Value>,
    asked: OpenQuestions,
    /// True if the completion has a text already.
    spoke: bool,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The role was not sent.
    Before,
    Open,
    /// The last chunk of the completion was sent.
    Ended,
    Finished,
}

/// The field of a delta that holds the text.
const CONTENT: &str = "content";
/// The beginning of a chunk's choices, up to the fields of its delta.
const CHOICE: &str = ",\"choices\":[{\"index\":0,\"delta\":{";
/// The end of a chunk's delta, up to the fields that may follow its choices.
const OPEN: &str = "},\"finish_reason\":null}]";

impl OpenAiEncoder {
    /// Creates an encoder for one completion: its id, its model, and its creation time in seconds
    /// since the Unix epoch.
    pub fn new(id: &str, model: &str, created: i64) -> Self {
        let mut head = String::from("data: ");
        let mut object = Object::begin(&mut head);
        object.string("id", id);
        object.string("object", "chat.completion.chunk");
        object.value("created", &created);
        object.string("model", model);
        Self {
            head,
            extension: "ext",
            fidelity: Fidelity::Strict,
            include_usage: false,
            usage: None,
            asked: OpenQuestions::default(),
            spoke: false,
            stage: Stage::Before,
        }
    }

    /// Names the extension field `extra`, as some clients expect, instead of `ext`.
    #[must_use]
    pub fn extension_as_extra(mut self) -> Self {
        self.extension = "extra";
        self
    }

    fugato_state::setters! {
        /// Sets how much of the events is encoded.
        pub fn fidelity(fidelity: Fidelity) { fidelity = fidelity }
    }

    /// Sends a chunk with the usage before the end, if the run reported it by a custom event named
    /// `usage`.
    #[must_use]
    pub fn include_usage(mut self) -> Self {
        self.include_usage = true;
        self
    }

    /// Appends one chunk: a delta, and an extension for the event.
    fn chunk(
        &mut self,
        event: Option<&Event>,
        frames: &mut Frames,
        delta: Option<(&str, &str)>,
        end: &str,
        extension: impl FnOnce(&mut Object<'_>),
    ) {
        frames.frame(|out| {
            out.push_str(&self.head);
            out.push_str(CHOICE);
            if self.stage == Stage::Before {
                self.stage = Stage::Open;
                out.push_str("\"role\":\"assistant\"");
                out.push_str(if delta.is_some() {
                    ","
                } else {
                    ",\"content\":\"\""
                });
            }
            if let Some((key, text)) = delta {
                json::string(out, key);
                out.push(':');
                json::string(out, text);
            }
            out.push_str(end);
            out.push(',');
            json::string(out, self.extension);
            out.push(':');
            let mut object = Object::begin(out);
            extension(&mut object);
            let origin = event.and_then(|event| event.origin.as_ref());
            if let Some(origin) = origin.filter(|origin| !origin.node.is_empty()) {
                object.string("stage", &origin.node);
            }
            if let Some(seq) = event.and_then(|event| event.seq) {
                object.value("seq", &seq);
            }
            if let Some(event) = event.filter(|_| self.fidelity == Fidelity::Full) {
                object.value("ev", event);
            }
            object.end();
            out.push_str("}\n\n");
        });
    }

    fn text(
        &mut self,
        event: &Event,
        frames: &mut Frames,
        [key, kind]: [&str; 2],
        block: &str,
        text: &str,
    ) {
        let delta = (!text.is_empty()).then_some((key, text));
        if delta.is_none() && self.fidelity == Fidelity::Strict {
            return;
        }
        self.spoke |= delta.is_some() && key == CONTENT;
        self.chunk(Some(event), frames, delta, OPEN, |ext| {
            ext.string("kind", kind)
                .string("block_id", block)
                .string("display_mode", "append");
        });
    }

    fn status(&mut self, event: &Event, frames: &mut Frames, code: &str, summary: &str) {
        self.chunk(Some(event), frames, None, OPEN, |ext| {
            ext.string("kind", "status")
                .string("display_mode", "replace");
            ext.object("status", |status| {
                status.string("code", code).string("summary", summary);
            });
        });
    }

    fn tool(
        &mut self,
        event: &Event,
        frames: &mut Frames,
        kind: &str,
        write: impl FnOnce(&mut Object<'_>),
    ) {
        self.chunk(Some(event), frames, None, OPEN, |ext| {
            ext.string("kind", kind)
                .string("display_mode", "append")
                .object("tool", write);
        });
    }

    fn interrupt(&mut self, event: &Event, frames: &mut Frames, interrupt: &Interrupt) {
        let shown = PromptParts::of(interrupt);
        let id = interrupt.id.as_str();
        self.chunk(Some(event), frames, None, OPEN, |ext| {
            if shown.kind == CONFIRM {
                ext.string("kind", "confirm_request")
                    .string("display_mode", "card");
                ext.object("confirm", |card| {
                    card.string("interaction_id", id)
                        .string("title", shown.title);
                    card.string("summary", shown.summary);
                    prompt::code(card, interrupt);
                });
            } else {
                ext.string("kind", "interrupt")
                    .string("display_mode", "card");
                ext.object("interrupt", |card| {
                    card.string("interaction_id", id).string("type", shown.kind);
                    card.string("summary", shown.summary);
                });
            }
        });
    }

    /// Sends the open questions as text of the answer: a plain client shows nothing else.
    fn ask(&mut self, frames: &mut Frames, open: &[Interrupt]) {
        for interrupt in open.iter().filter(|it| !CardText::of(it).is_said()) {
            let gap = if self.spoke { "\n\n" } else { "" };
            let text = format!("{gap}{}", card_text(interrupt));
            self.spoke = true;
            self.chunk(None, frames, Some((CONTENT, &text)), OPEN, |ext| {
                ext.string("kind", "card_text")
                    .string("interaction_id", interrupt.id.as_str())
                    .string("display_mode", "append");
            });
        }
    }

    fn card(&mut self, event: &Event, frames: &mut Frames, card: &str, data: &Value) {
        let kind = match card {
            "schedule_completed" | "thinking_summary" => card,
            _ => "business_card",
        };
        self.chunk(Some(event), frames, None, OPEN, |ext| {
            ext.string("kind", kind).string("display_mode", "card");
            ext.object("business_card", |it| {
                it.string("type", card).value("data", data);
            });
        });
    }

    /// Sends the chunk after which there is no more text.
    fn end(&mut self, event: Option<&Event>, frames: &mut Frames) {
        let end = "},\"finish_reason\":\"stop\"}]";
        self.chunk(event, frames, None, end, |ext| {
            ext.string("kind", "finish");
        });
        self.stage = Stage::Ended;
    }

    fn error(&mut self, event: Option<&Event>, frames: &mut Frames, message: &str) {
        self.stage = Stage::Ended;
        frames.frame(|out| {
            out.push_str("data: ");
            let mut object = Object::begin(out);
            object.object("error", |error| {
                error.string("message", message);
            });
            if let Some(event) = event.filter(|_| self.fidelity == Fidelity::Full) {
                object.object(self.extension, |ext| {
                    ext.value("ev", event);
                });
            }
            object.end();
            out.push_str("\n\n");
        });
    }

    /// Sends an event that `Strict` leaves out.
    fn other(&mut self, event: &Event, frames: &mut Frames) {
        if self.fidelity == Fidelity::Full {
            self.chunk(Some(event), frames, None, OPEN, |ext| {
                ext.string("kind", "event");
            });
        }
    }
}

impl Encoder for OpenAiEncoder {
    fn encode(&mut self, event: &Event, frames: &mut Frames) {
        match self.stage {
            Stage::Before | Stage::Open => {}
            // A completion has one end. Later events fit only into the extension.
            Stage::Ended => return self.other(event, frames),
            Stage::Finished => return,
        }
        match &event.kind {
            EventKind::TextDelta { block, text } => {
                self.text(event, frames, [CONTENT, "assistant_text"], block, text);
            }
            EventKind::ReasoningDelta { block, text } => {
                let names = ["reasoning_content", "reasoning_text"];
                self.text(event, frames, names, block, text);
            }
            EventKind::RunStarted { .. } => self.chunk(Some(event), frames, None, OPEN, |ext| {
                ext.string("kind", "start");
            }),
            EventKind::RunParked { interrupts } => {
                self.ask(frames, interrupts);
                self.end(Some(event), frames);
            }
            EventKind::RunFinished { .. } | EventKind::RunCancelled { .. } => {
                self.end(Some(event), frames);
            }
            EventKind::RunFailed { error } => self.error(Some(event), frames, error),
            EventKind::InterruptRaised(interrupt) => {
                self.asked.raise(interrupt);
                self.interrupt(event, frames, interrupt);
            }
            EventKind::InterruptAnswered { id, .. } | EventKind::InterruptExpired { id } => {
                self.asked.answer(id);
                self.other(event, frames);
            }
            EventKind::Card { card, data } => self.card(event, frames, card, data),
            EventKind::ToolCallProposed { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolFinished { .. } => self.tool_event(event, frames),
            EventKind::Custom { name, data } if name == plan::USAGE => {
                self.usage = Some(data.clone());
                self.other(event, frames);
            }
            _ => self.status_event(event, frames),
        }
    }

    fn finish(&mut self, frames: &mut Frames) {
        match self.stage {
            Stage::Finished => return,
            Stage::Ended => {}
            _ if self.asked.open().is_empty() => self.error(None, frames, BROKEN_OFF),
            _ => {
                let asked = std::mem::take(&mut self.asked);
                self.ask(frames, asked.open());
                self.end(None, frames);
            }
        }
        self.stage = Stage::Finished;
        if let Some(usage) = self.usage.take().filter(|_| self.include_usage) {
            frames.frame(|out| {
                out.push_str(&self.head);
                out.push_str(",\"choices\":[],\"usage\":");
                json::value(out, &usage);
                out.push_str("}\n\n");
            });
        }
        frames.frame(|out| out.push_str(sse::DONE));
    }

    fn keep_alive(&self, frames: &mut Frames) {
        frames.frame(|out| out.push_str(sse::KEEP_ALIVE));
    }

    fn content_type(&self) -> &'static str {
        sse::CONTENT_TYPE
    }
}

impl OpenAiEncoder {
    fn tool_event(&mut self, event: &Event, frames: &mut Frames) {
        match &event.kind {
            EventKind::ToolCallProposed { call, name, .. } => {
                self.tool(event, frames, "tool_call", |tool| {
                    tool.string("id", call)
                        .string("name", name)
                        .string("status", "called");
                });
            }
            EventKind::ToolStarted {
                call,
                name,
                preview,
            } => {
                self.tool(event, frames, "tool_call", |tool| {
                    tool.string("id", call)
                        .string("name", name)
                        .string("status", "start");
                    tool.string("arguments_preview", preview);
                });
            }
            EventKind::ToolFinished {
                call,
                name,
                status,
                summary,
                ..
            } => {
                let status = match status {
                    ToolStatus::Ok => "done",
                    ToolStatus::Blocked => "blocked",
                    ToolStatus::Failed => "failed",
                };
                self.tool(event, frames, "tool_result", |tool| {
                    tool.string("id", call)
                        .string("name", name)
                        .string("status", status);
                    tool.string("summary", summary);
                });
            }
            _ => {}
        }
    }

    fn status_event(&mut self, event: &Event, frames: &mut Frames) {
        let node = event.origin.as_ref().map_or("", |origin| &*origin.node);
        match &event.kind {
            EventKind::Status { code, summary } => self.status(event, frames, code, summary),
            EventKind::NodeStarted => self.status(event, frames, "node_started", node),
            EventKind::NodeFinished => self.status(event, frames, "node_finished", node),
            EventKind::NodeFailed { error, .. } => self.status(event, frames, "node_failed", error),
            EventKind::Correction { message } => self.status(event, frames, "correction", message),
            EventKind::Custom { name, data } if plan::is_plan(name) => {
                let summary = data
                    .get("summary")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                self.status(event, frames, name, summary);
            }
            _ => self.other(event, frames),
        }
    }
}
