mod wire;

use std::collections::HashSet;

use fugato_state::{Interrupt, InterruptId, ToolStatus};
use serde_json::{Value, json};

use self::wire::{Part, approved, chunk, data, finish, give_up, head, question};
use crate::{
    Encoder, Event, EventKind, Fidelity, Frames, Text,
    blocks::{BlockKind, Blocks},
    calls::Calls,
    encoder::BROKEN_OFF,
    open_questions::OpenQuestions,
    plan,
    prompt::PromptParts,
    sse,
};

/// Encodes one run as the UI message stream of the AI SDK, version 1: one message of the assistant.
///
/// Tools run on the server, and are encoded as dynamic tools that the provider executes. A question
/// about a proposed call (its prompt names the call) is a request for approval; any other is a part
/// `data-interrupt`. [`Resume::ai_sdk`](crate::Resume::ai_sdk) reads the answers from the next
/// request. The message ends with the run, so later events are left out.
#[derive(Debug)]
pub struct AiSdkEncoder {
    fidelity: Fidelity,
    message: Option<String>,
    continues: bool,
    blocks: Blocks,
    /// The calls that the message has.
    calls: HashSet<String>,
    /// The calls whose input is being streamed.
    streamed: Calls,
    asked: OpenQuestions,
    usage: Option<Value>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Open,
    Ended,
    Finished,
}

impl Default for AiSdkEncoder {
    fn default() -> Self {
        Self::new()
    }
}

impl AiSdkEncoder {
    /// An encoder that names the message by thread and run, so that a run that goes on after an
    /// answer continues its message.
    pub fn new() -> Self {
        Self {
            fidelity: Fidelity::Strict,
            message: None,
            continues: false,
            blocks: Blocks::default(),
            calls: HashSet::new(),
            streamed: Calls::default(),
            asked: OpenQuestions::default(),
            usage: None,
            stage: Stage::Before,
        }
    }

    fugato_state::setters! {
        /// Names the message.
        pub fn message(id: impl Into<String>) { message = Some(id.into()) }

        /// Sets how much of the events is encoded.
        pub fn fidelity(fidelity: Fidelity) { fidelity = fidelity }
    }

    /// Continues a message that the client has already, and that has these tool calls.
    #[must_use]
    pub fn continues<I: Into<String>>(mut self, calls: impl IntoIterator<Item = I>) -> Self {
        self.continues = true;
        self.calls = calls.into_iter().map(Into::into).collect();
        self
    }

    fn begin(&mut self, event: &Event, frames: &mut Frames) {
        if self.stage != Stage::Before {
            return;
        }
        self.stage = Stage::Open;
        if !self.continues {
            let own = || format!("{}/{}", event.thread, event.run);
            let id = self.message.clone().unwrap_or_else(own);
            chunk(frames, "start", |it| {
                it.string("messageId", &id);
            });
        }
        chunk(frames, "start-step", |_| {});
    }

    /// Closes every open block, call and step.
    fn close(&mut self, frames: &mut Frames) {
        for block in self.blocks.close_all() {
            finish(&block, frames);
        }
        for call in self.streamed.close_all() {
            give_up(&call, frames);
        }
        if self.stage == Stage::Open {
            chunk(frames, "finish-step", |_| {});
        }
        self.stage = Stage::Ended;
    }

    fn end(&mut self, frames: &mut Frames, reason: &str) {
        self.close(frames);
        let usage = self.usage.take();
        chunk(frames, "finish", |it| {
            it.string("finishReason", reason);
            if let Some(usage) = &usage {
                it.object("messageMetadata", |it| {
                    it.value("usage", usage);
                });
            }
        });
    }

    fn fail(&mut self, frames: &mut Frames, message: &str) {
        self.close(frames);
        chunk(frames, "error", |it| {
            it.string("errorText", message);
        });
    }

    /// Returns the finish reason of an end that waits for people.
    fn waiting(&self, interrupts: &[Interrupt]) -> &'static str {
        let mut interrupts = interrupts.iter();
        if interrupts.any(|interrupt| self.approval(interrupt).is_some()) {
            "tool-calls"
        } else {
            "other"
        }
    }

    fn run_event(&mut self, event: &Event, frames: &mut Frames) {
        match &event.kind {
            EventKind::RunFinished { .. } => self.end(frames, "stop"),
            EventKind::RunParked { interrupts } => self.end(frames, self.waiting(interrupts)),
            EventKind::RunFailed { error } => self.fail(frames, error),
            EventKind::RunCancelled { why, .. } => {
                self.close(frames);
                chunk(frames, "abort", |it| {
                    it.string("reason", why);
                });
            }
            _ => {}
        }
    }

    fn node_event(&mut self, event: &Event, frames: &mut Frames) {
        let Some(origin) = &event.origin else { return };
        let (status, error) = match &event.kind {
            EventKind::NodeStarted => ("started", None),
            EventKind::NodeFailed { error, .. } => ("failed", Some(error)),
            _ => ("finished", None),
        };
        if status != "started" {
            for block in self.blocks.close_task(event) {
                finish(&block, frames);
            }
            for call in self.streamed.close_task(event) {
                give_up(&call, frames);
            }
        }
        // As permanent parts, the steps of a long run would all stay in the message.
        data(frames, "node", Part::Passing, |it| {
            it.string("node", &origin.node)
                .value("visit", &origin.visit);
            it.string("status", status);
            if let Some(error) = error {
                it.string("error", error);
            }
        });
    }

    fn start(&mut self, holds: BlockKind, event: &Event, frames: &mut Frames, name: &Text) {
        if self.blocks.find(holds, event, name).is_none() {
            let id = self.blocks.open(holds, event, name);
            let kind = match holds {
                BlockKind::Text => "text-start",
                BlockKind::Reasoning => "reasoning-start",
            };
            chunk(frames, kind, |it| {
                it.string("id", id);
            });
        }
    }

    fn delta(
        &mut self,
        holds: BlockKind,
        event: &Event,
        frames: &mut Frames,
        (name, text): (&Text, &Text),
    ) {
        if text.is_empty() {
            return;
        }
        self.start(holds, event, frames, name);
        let id = self.blocks.find(holds, event, name).unwrap_or_default();
        let kind = match holds {
            BlockKind::Text => "text-delta",
            BlockKind::Reasoning => "reasoning-delta",
        };
        chunk(frames, kind, |it| {
            it.string("id", id).string("delta", text);
        });
    }

    fn block_event(&mut self, event: &Event, frames: &mut Frames) {
        use BlockKind::{Reasoning, Text};
        match &event.kind {
            EventKind::TextStarted { block } => self.start(Text, event, frames, block),
            EventKind::ReasoningStarted { block } => self.start(Reasoning, event, frames, block),
            EventKind::TextDelta { block, text } => {
                self.delta(Text, event, frames, (block, text));
            }
            EventKind::ReasoningDelta { block, text } => {
                self.delta(Reasoning, event, frames, (block, text));
            }
            EventKind::TextFinished { block } => {
                if let Some(block) = self.blocks.close(Text, event, block) {
                    finish(&block, frames);
                }
            }
            EventKind::ReasoningFinished { block } => {
                if let Some(block) = self.blocks.close(Reasoning, event, block) {
                    finish(&block, frames);
                }
            }
            _ => {}
        }
    }

    /// Sends a call with its input. The client needs it before the call's output.
    fn call(&mut self, event: &Event, frames: &mut Frames, [call, name]: [&str; 2], input: &Value) {
        self.calls.insert(call.to_owned());
        // Two tasks may use one id, which is one part of the message.
        let streamed = self.streamed.propose_named(event, call);
        if streamed.is_none_or(|streamed| *streamed.name != *name) {
            chunk(frames, "tool-input-start", |it| head(it, call, name));
        }
        chunk(frames, "tool-input-available", |it| {
            head(it, call, name);
            it.value("input", input);
        });
    }

    /// Sends more of the input of a call. Pieces after its proposal are dropped.
    fn piece(&mut self, event: &Event, frames: &mut Frames, [call, name, arguments]: [&Text; 3]) {
        if self.streamed.is_proposed(event, call) {
            return;
        }
        if self.streamed.named(call).is_none() {
            chunk(frames, "tool-input-start", |it| head(it, call, name));
            let id = call.as_str().to_owned();
            self.streamed.open(event, call, name, id);
        }
        if let Some(open) = self.streamed.named(call).filter(|_| !arguments.is_empty()) {
            open.arguments.push_str(arguments);
            chunk(frames, "tool-input-delta", |it| {
                it.string("toolCallId", call)
                    .string("inputTextDelta", arguments);
            });
        }
    }

    fn tool_event(&mut self, event: &Event, frames: &mut Frames) {
        match &event.kind {
            EventKind::ToolCallDelta {
                call,
                name,
                arguments,
            } => self.piece(event, frames, [call, name, arguments]),
            EventKind::ToolCallProposed {
                call,
                name,
                arguments,
            } => self.call(event, frames, [call, name], arguments),
            EventKind::ToolStarted {
                call,
                name,
                preview,
            } => data(frames, "tool-exec", Part::Passing, |it| {
                it.string("toolCallId", call).string("toolName", name);
                it.string("preview", preview);
            }),
            EventKind::ToolFinished {
                call,
                name,
                status,
                summary,
                result,
            } => {
                if !self.calls.contains(call) {
                    self.call(event, frames, [call, name], &json!({}));
                }
                let ok = *status == ToolStatus::Ok;
                let kind = if ok {
                    "tool-output-available"
                } else {
                    "tool-output-error"
                };
                chunk(frames, kind, |it| {
                    it.string("toolCallId", call)
                        .value("dynamic", &true)
                        .value("providerExecuted", &true);
                    match result {
                        _ if !ok => it.string("errorText", summary),
                        Some(result) => it.value("output", result),
                        None => it.string("output", summary),
                    };
                });
            }
            _ => {}
        }
    }

    /// Returns the call that an interrupt asks to approve, if the message has it.
    fn approval<'a>(&self, interrupt: &'a Interrupt) -> Option<&'a str> {
        PromptParts::of(interrupt)
            .call
            .filter(|call| self.calls.contains(*call))
    }

    /// Sends a question: a request for approval if the message has its call, which is sent first
    /// where it is known.
    fn raised(&mut self, event: &Event, interrupt: &Interrupt, frames: &mut Frames) {
        let shown = PromptParts::of(interrupt);
        if let (Some(call), Some((name, arguments))) = (shown.call, shown.proposed)
            && !self.calls.contains(call)
        {
            self.call(event, frames, [call, name], arguments);
        }
        if let Some(call) = self.approval(interrupt) {
            chunk(frames, "tool-approval-request", |it| {
                it.string("approvalId", interrupt.id.as_str())
                    .string("toolCallId", call);
                let message = PromptParts::message(interrupt);
                if !message.is_empty() {
                    it.string("reason", &message);
                }
            });
        } else {
            question(frames, interrupt, None);
        }
        self.asked.raise(interrupt);
    }

    fn answered(&mut self, id: &InterruptId, answer: &Value, frames: &mut Frames) {
        let asked = self.asked.open().iter().find(|open| open.id == *id);
        let Some(interrupt) = asked.cloned() else {
            return;
        };
        self.asked.answer(id);
        if self.approval(&interrupt).is_none() {
            question(frames, &interrupt, Some(answer));
        } else if let Some(approved) = approved(answer) {
            chunk(frames, "tool-approval-response", |it| {
                it.string("approvalId", id.as_str())
                    .value("approved", &approved);
            });
        }
    }

    fn other(&mut self, event: &Event, frames: &mut Frames) {
        match &event.kind {
            EventKind::InterruptRaised(interrupt) => self.raised(event, interrupt, frames),
            EventKind::InterruptAnswered { id, answer } => self.answered(id, answer, frames),
            EventKind::InterruptExpired { id } => self.asked.answer(id),
            EventKind::Status { code, summary } => data(frames, "status", Part::Passing, |it| {
                it.string("code", code).string("summary", summary);
            }),
            EventKind::Card { card, data: shown } => data(frames, "card", Part::Added, |it| {
                it.string("card", card).value("data", shown);
            }),
            EventKind::Correction { message } => {
                data(frames, "correction", Part::Passing, |it| {
                    it.string("message", message);
                });
            }
            EventKind::Custom { name, data } if name == plan::USAGE => {
                self.usage = Some(data.clone());
            }
            EventKind::Custom { name, data: shown } => {
                let plan_id = format!("{}/plan", event.run);
                let (kind, part) = if plan::is_plan(name) {
                    ("plan", Part::Kept(&plan_id))
                } else if plan::is_retrieval(name) {
                    ("rag", Part::Added)
                } else {
                    ("custom", Part::Passing)
                };
                data(frames, kind, part, |it| {
                    it.string("name", name).value("data", shown);
                });
            }
            _ => {}
        }
    }
}

impl Encoder for AiSdkEncoder {
    fn encode(&mut self, event: &Event, frames: &mut Frames) {
        if self.stage == Stage::Finished {
            return;
        }
        if self.fidelity == Fidelity::Full {
            sse::frame(frames, None, None, |it| {
                it.string("type", "data-ev").value("data", event);
                it.value("transient", &true);
            });
        }
        if self.stage == Stage::Ended {
            return;
        }
        self.begin(event, frames);
        match &event.kind {
            EventKind::TextStarted { .. }
            | EventKind::TextDelta { .. }
            | EventKind::TextFinished { .. }
            | EventKind::ReasoningStarted { .. }
            | EventKind::ReasoningDelta { .. }
            | EventKind::ReasoningFinished { .. } => self.block_event(event, frames),
            EventKind::RunStarted { .. }
            | EventKind::RunFinished { .. }
            | EventKind::RunParked { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled { .. } => self.run_event(event, frames),
            EventKind::NodeStarted | EventKind::NodeFinished | EventKind::NodeFailed { .. } => {
                self.node_event(event, frames);
            }
            EventKind::ToolCallDelta { .. }
            | EventKind::ToolCallProposed { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolFinished { .. } => self.tool_event(event, frames),
            _ => self.other(event, frames),
        }
    }

    fn finish(&mut self, frames: &mut Frames) {
        if self.stage == Stage::Finished {
            return;
        }
        if self.stage != Stage::Ended {
            let reason = self.waiting(self.asked.open());
            if self.asked.open().is_empty() {
                self.fail(frames, BROKEN_OFF);
            } else {
                self.end(frames, reason);
            }
        }
        self.stage = Stage::Finished;
        frames.frame(|out| out.push_str(sse::DONE));
    }

    fn keep_alive(&self, frames: &mut Frames) {
        frames.frame(|out| out.push_str(sse::KEEP_ALIVE));
    }

    fn content_type(&self) -> &'static str {
        sse::CONTENT_TYPE
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("x-vercel-ai-ui-message-stream", "v1"),
            // Proxies must not buffer the stream.
            ("x-accel-buffering", "no"),
        ]
    }
}
