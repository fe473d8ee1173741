use std::sync::Arc;

use fugato_state::{Millis, ToolStatus, iso_8601};
use serde_json::Value;

use crate::{
    Encoder, Event, EventKind, Fidelity, Frames, Origin, Text,
    blocks::BlockKind,
    encoder::BROKEN_OFF,
    json::{self, Object},
    open_questions::OpenQuestions,
    plan,
    prompt::card,
};

/// Encodes a run as messages of a WebSocket: envelopes `{event, data, timestamp}`, one a frame.
///
/// Such clients show whole messages, so text is kept until its block is complete. The last text of
/// a run is its `final_answer`, unless the run has a text as its output; earlier text and the
/// model's reasoning are `thinking`. The text of a failed attempt is dropped.
///
/// In addition to its three fields, the envelope of a durable event has its position in the log,
/// `seq`. [`Resume::envelope`](crate::Resume::envelope) reads a client's messages: answers, and the
/// last position that it has seen.
#[derive(derive_more::Debug)]
pub struct EnvelopeEncoder {
    #[debug(skip)]
    clock: Box<dyn Fn() -> Millis + Send>,
    fidelity: Fidelity,
    #[debug(skip)]
    open: Vec<OpenBlock>,
    /// A text that is complete, and perhaps the last.
    said: Option<String>,
    asked: OpenQuestions,
    #[debug(skip)]
    calls: Vec<OpenCall>,
    ended: bool,
    finished: bool,
}

/// A block that is not complete.
struct OpenBlock {
    holds: BlockKind,
    origin: Option<Arc<Origin>>,
    block: Text,
    text: String,
}

/// A call that has no result yet.
struct OpenCall {
    call: String,
    params: Value,
    /// True if the client has got the `tool_call`.
    told: bool,
}

/// The number of proposed calls that are kept until they are executed.
const CALLS: usize = 256;

/// The writer of the envelopes of one event. With full fidelity the first one carries the event
/// itself.
struct EnvelopeWriter<'a> {
    frames: &'a mut Frames,
    event: Option<&'a Event>,
    carries: bool,
    now: Millis,
}

impl EnvelopeWriter<'_> {
    fn send(&mut self, name: &str, data: impl FnOnce(&mut Object<'_>)) {
        self.message(name, |out| {
            let mut object = Object::begin(out);
            data(&mut object);
            object.end();
        });
    }

    fn message(&mut self, name: &str, data: impl FnOnce(&mut String)) {
        let seq = self.event.and_then(|event| event.seq);
        let carried = self.event.filter(|_| self.carries);
        self.carries = false;
        let now = self.now;
        self.frames.frame(|out| {
            let mut it = Object::begin(out);
            it.string("event", name).field("data", data);
            it.string("timestamp", &iso_8601(now));
            if let Some(seq) = seq {
                it.value("seq", &seq);
            }
            if let Some(event) = carried {
                it.value("ev", event);
            }
            it.end();
        });
    }

    fn content(&mut self, name: &str, content: &str) {
        self.send(name, |it| {
            it.string("content", content);
        });
    }

    fn status(&mut self, code: &str, summary: &str) {
        self.send("status", |it| {
            it.string("code", code).string("summary", summary);
        });
    }

    fn error(&mut self, message: &str, recoverable: bool) {
        self.send("error", |it| {
            it.string("message", message)
                .value("recoverable", &recoverable);
        });
    }
}

impl EnvelopeEncoder {
    /// Creates an encoder that takes its timestamps from this clock: milliseconds since the Unix
    /// epoch.
    pub fn new(clock: impl Fn() -> Millis + Send + 'static) -> Self {
        Self {
            clock: Box::new(clock),
            fidelity: Fidelity::Strict,
            open: vec![],
            said: None,
            asked: OpenQuestions::default(),
            calls: vec![],
            ended: false,
            finished: false,
        }
    }

    fugato_state::setters! {
        /// Sets how much of the events is encoded.
        pub fn fidelity(fidelity: Fidelity) { fidelity = fidelity }
    }

    /// Appends a message of the server's own, such as the answer to a ping.
    pub fn message(&self, name: &str, data: &Value, frames: &mut Frames) {
        let mut wire = EnvelopeWriter {
            frames,
            event: None,
            carries: false,
            now: (self.clock)(),
        };
        wire.message(name, |out| json::value(out, data));
    }

    fn delta(&mut self, holds: BlockKind, event: &Event, block: &Text, text: &str) {
        let found = self.position(holds, event, block);
        if let Some(said) = found.and_then(|found| self.open.get_mut(found)) {
            said.text.push_str(text);
        } else {
            self.open.push(OpenBlock {
                holds,
                origin: event.origin.clone(),
                block: block.clone(),
                text: text.to_owned(),
            });
        }
    }

    fn position(&self, holds: BlockKind, event: &Event, block: &Text) -> Option<usize> {
        self.open.iter().rposition(|said| {
            said.holds == holds && said.block == *block && said.origin == event.origin
        })
    }

    /// Takes a complete block. Its text is held back as a candidate for the last one; the previous
    /// candidate is sent.
    fn complete(&mut self, said: OpenBlock, wire: &mut EnvelopeWriter<'_>) {
        if said.text.is_empty() {
            return;
        }
        self.not_last(wire);
        if said.holds == BlockKind::Text {
            self.said = Some(said.text);
        } else {
            wire.content("thinking", &said.text);
        }
    }

    fn finish_block(
        &mut self,
        holds: BlockKind,
        event: &Event,
        block: &Text,
        wire: &mut EnvelopeWriter<'_>,
    ) {
        if let Some(found) = self.position(holds, event, block) {
            let said = self.open.remove(found);
            self.complete(said, wire);
        }
    }

    /// Sends the held text as `thinking`: it is not the last one.
    fn not_last(&mut self, wire: &mut EnvelopeWriter<'_>) {
        if let Some(text) = self.said.take() {
            wire.content("thinking", &text);
        }
    }

    fn of_task(&mut self, event: &Event) -> Vec<OpenBlock> {
        let Some(task) = &event.origin else {
            return vec![];
        };
        let of_task = |said: &mut OpenBlock| {
            let origin = said.origin.as_ref();
            origin.is_some_and(|origin| origin.is_same_task(task))
        };
        self.open.extract_if(.., of_task).collect()
    }

    fn run_event(&mut self, event: &Event, wire: &mut EnvelopeWriter<'_>) {
        if matches!(event.kind, EventKind::RunStarted { .. }) {
            self.ended = false;
            return;
        }
        for said in std::mem::take(&mut self.open) {
            self.complete(said, wire);
        }
        self.calls.clear();
        self.ended = true;
        match &event.kind {
            EventKind::RunFinished { output } => self.answer(output.as_ref(), wire),
            EventKind::RunParked { interrupts } => {
                if let Some(text) = self.said.take() {
                    wire.content("final_answer", &text);
                }
                let ids: Vec<_> = interrupts.iter().map(|interrupt| &interrupt.id).collect();
                wire.send("status", |it| {
                    it.string("code", "parked").string("summary", "");
                    it.value("interrupts", &ids);
                });
            }
            EventKind::RunFailed { error } => {
                self.not_last(wire);
                wire.error(error, false);
            }
            EventKind::RunCancelled { by, why } => {
                self.not_last(wire);
                wire.send("status", |it| {
                    it.string("code", "cancelled").string("summary", why);
                    it.string("by", by);
                });
            }
            _ => {}
        }
    }

    /// Sends the final answer of a run: its output if that is a text, or else its last text.
    fn answer(&mut self, output: Option<&Value>, wire: &mut EnvelopeWriter<'_>) {
        let said = self.said.take();
        let content = match (output, said) {
            (Some(Value::String(text)), said) => {
                if let Some(said) = said.filter(|said| said != text) {
                    wire.content("thinking", &said);
                }
                text.clone()
            }
            (_, Some(said)) => said,
            (Some(output), None) if !output.is_null() => output.to_string(),
            (_, None) => String::new(),
        };
        wire.content("final_answer", &content);
    }

    fn node_event(&mut self, event: &Event, wire: &mut EnvelopeWriter<'_>) {
        let node = event.origin.as_ref().map_or("", |origin| &*origin.node);
        match &event.kind {
            EventKind::NodeStarted => wire.status("node_started", node),
            EventKind::NodeFailed { error, retry_at } => {
                // The text of the attempt is void.
                self.of_task(event);
                match retry_at {
                    Some(_) => wire.error(error, true),
                    // Another way may go on; if none does, the run fails, and says why.
                    None => wire.status("node_failed", node),
                }
            }
            _ => {
                for said in self.of_task(event) {
                    self.complete(said, wire);
                }
                wire.status("node_finished", node);
            }
        }
    }

    fn tool_event(&mut self, event: &Event, wire: &mut EnvelopeWriter<'_>) {
        self.not_last(wire);
        match &event.kind {
            EventKind::ToolCallProposed {
                call, arguments, ..
            } => {
                if self.calls.len() == CALLS {
                    self.calls.remove(0);
                }
                self.calls.push(OpenCall {
                    call: call.clone(),
                    params: arguments.clone(),
                    told: false,
                });
            }
            EventKind::ToolStarted {
                call,
                name,
                preview,
            } => self.tell_call(call, name, preview, wire),
            EventKind::ToolFinished {
                call,
                name,
                status,
                summary,
                result,
            } => {
                // A late reader and the archive have not seen the start of the execution.
                let known = |known: &OpenCall| known.call == *call && !known.told;
                if self.calls.iter().any(known) {
                    self.tell_call(call, name, "", wire);
                }
                self.calls.retain(|known| known.call != *call);
                wire.send("tool_result", |it| {
                    it.value("success", &(*status == ToolStatus::Ok));
                    match result {
                        Some(result) => it.value("output", result),
                        None => it.string("output", summary),
                    };
                    it.string("id", call).string("name", name);
                    it.value("status", status).string("summary", summary);
                });
            }
            _ => {}
        }
    }

    fn tell_call(&mut self, call: &str, name: &str, preview: &str, wire: &mut EnvelopeWriter<'_>) {
        let mut known = self.calls.iter_mut().rev();
        let known = known.find(|known| known.call == call);
        wire.send("tool_call", |it| {
            it.string("id", call).string("name", name);
            match known {
                Some(known) => {
                    known.told = true;
                    it.value("params", &known.params);
                }
                None => {
                    it.object("params", |_| {});
                }
            }
            it.string("preview", preview);
        });
    }

    fn other(&mut self, event: &Event, wire: &mut EnvelopeWriter<'_>) {
        match &event.kind {
            EventKind::InterruptRaised(interrupt) => {
                self.not_last(wire);
                self.asked.raise(interrupt);
                wire.send("interrupt", |it| card(it, interrupt, "expires_at"));
            }
            EventKind::InterruptAnswered { id, .. } | EventKind::InterruptExpired { id } => {
                self.ended = false;
                self.asked.answer(id);
            }
            EventKind::Status { code, summary } => wire.status(code, summary),
            EventKind::Card { card, data } => wire.send("card", |it| {
                it.string("card", card).value("data", data);
            }),
            EventKind::Correction { message } => wire.send("correction", |it| {
                it.string("message", message);
            }),
            EventKind::Custom { name, data } => {
                if let Some(name) = known(name) {
                    self.not_last(wire);
                    custom(name, data, wire);
                }
            }
            _ => {}
        }
    }
}

impl Encoder for EnvelopeEncoder {
    fn encode(&mut self, event: &Event, frames: &mut Frames) {
        if self.finished {
            return;
        }
        let wire = &mut EnvelopeWriter {
            frames,
            event: Some(event),
            carries: self.fidelity == Fidelity::Full,
            now: (self.clock)(),
        };
        match &event.kind {
            EventKind::TextDelta { block, text } => self.delta(BlockKind::Text, event, block, text),
            EventKind::ReasoningDelta { block, text } => {
                self.delta(BlockKind::Reasoning, event, block, text);
            }
            EventKind::TextFinished { block } => {
                self.finish_block(BlockKind::Text, event, block, wire);
            }
            EventKind::ReasoningFinished { block } => {
                self.finish_block(BlockKind::Reasoning, event, block, wire);
            }
            EventKind::RunStarted { .. }
            | EventKind::RunFinished { .. }
            | EventKind::RunParked { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled { .. } => self.run_event(event, wire),
            EventKind::NodeStarted | EventKind::NodeFinished | EventKind::NodeFailed { .. } => {
                self.node_event(event, wire);
            }
            EventKind::ToolCallProposed { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolFinished { .. } => self.tool_event(event, wire),
            _ => self.other(event, wire),
        }
        if wire.carries {
            wire.send("event", |_| {});
        }
    }

    fn finish(&mut self, frames: &mut Frames) {
        if std::mem::replace(&mut self.finished, true) || self.ended {
            return;
        }
        let wire = &mut EnvelopeWriter {
            frames,
            event: None,
            carries: false,
            now: (self.clock)(),
        };
        for said in std::mem::take(&mut self.open) {
            self.complete(said, wire);
        }
        self.not_last(wire);
        // A stream that ends with an open question is complete with it.
        if self.asked.open().is_empty() {
            wire.error(BROKEN_OFF, false);
        }
    }

    fn keep_alive(&self, frames: &mut Frames) {
        let mut wire = EnvelopeWriter {
            frames,
            event: None,
            carries: false,
            now: (self.clock)(),
        };
        wire.send("ping", |_| {});
    }

    fn content_type(&self) -> &'static str {
        "application/json"
    }
}

/// Returns the name that clients know for a custom event; none for others.
fn known(name: &str) -> Option<&str> {
    let own = [
        "correction",
        "plan_adjustment",
        "plan_generated",
        "task_analysis",
        "thinking",
        "user_input",
    ];
    if plan::is_plan(name) {
        Some("planning")
    } else if plan::is_retrieval(name) || own.contains(&name) {
        Some(name)
    } else {
        None
    }
}

/// Sends a custom event: an object as its data, anything else in the one field that clients read.
fn custom(name: &str, data: &Value, wire: &mut EnvelopeWriter<'_>) {
    let field = match name {
        "planning" => "steps",
        "rag_query" => "query",
        "rag_result" => "results",
        _ => "content",
    };
    wire.message(name, |out| {
        if data.is_object() {
            json::value(out, data);
        } else {
            let mut it = Object::begin(out);
            it.value(field, data);
            it.end();
        }
    });
}
