use std::collections::HashMap;

use serde_json::{Value, json};

use crate::{Encoder, Event, EventKind, Fidelity, Frames, Vocabulary, json::Object, prompt, sse};

/// Encodes a run as server-sent events with names, by a table of names.
///
/// A durable event has its position in the log in the field `seq`, and an `id:` line with the last
/// position of which everything was sent. A browser that reconnects sends that one, and so misses
/// nothing, but may see the events of one position again.
#[derive(Debug)]
pub struct NamedSseEncoder {
    vocabulary: Vocabulary,
    fidelity: Fidelity,
    /// The arguments of calls that were proposed and have not ended.
    proposed: HashMap<String, Value>,
    finished: bool,
}

/// The number of proposed calls that are kept until they are executed.
const PROPOSED: usize = 256;

impl NamedSseEncoder {
    /// Creates an encoder with these names.
    pub fn new(vocabulary: Vocabulary) -> Self {
        Self {
            vocabulary,
            fidelity: Fidelity::Strict,
            proposed: HashMap::new(),
            finished: false,
        }
    }

    fugato_state::setters! {
        /// Sets how much of the events is encoded.
        pub fn fidelity(fidelity: Fidelity) { fidelity = fidelity }
    }

    fn write(
        &self,
        event: &Event,
        frames: &mut Frames,
        name: Option<&str>,
        fields: impl FnOnce(&mut Object<'_>),
    ) {
        let full = self.fidelity == Fidelity::Full;
        let Some(name) = name.or(full.then_some("event")) else {
            return;
        };
        sse::frame(frames, event.seq, Some(name), |object| {
            fields(object);
            if let Some(seq) = event.seq {
                object.value("seq", &seq);
            }
            if full {
                object.value("ev", event);
            }
        });
    }

    fn run(&mut self, event: &Event, frames: &mut Frames) {
        // A proposed call is not executed after the end of a run. A beginning clears nothing: it
        // becomes durable with the first step, whose proposals may be sent before it.
        let goes_on = matches!(
            event.kind,
            EventKind::RunStarted { .. } | EventKind::RunParked { .. }
        );
        if !goes_on {
            self.proposed.clear();
        }
        let names = &self.vocabulary;
        match &event.kind {
            EventKind::RunStarted { resumed } => {
                self.write(event, frames, names.run_started, |data| {
                    data.string("thread", event.thread.as_str())
                        .value("run", &event.run);
                    data.value("resumed", resumed);
                });
            }
            EventKind::RunFinished { output } => {
                self.write(event, frames, names.run_finished, |data| {
                    data.value("output", output);
                });
            }
            EventKind::RunParked { interrupts } => {
                let ids: Vec<_> = interrupts.iter().map(|interrupt| &interrupt.id).collect();
                self.write(event, frames, names.run_parked, |data| {
                    data.value("interrupts", &ids);
                });
            }
            EventKind::RunFailed { error } => {
                self.write(event, frames, names.run_failed, |data| {
                    data.string("error", error);
                });
            }
            EventKind::RunCancelled { by, why } => {
                self.write(event, frames, names.run_cancelled, |data| {
                    data.string("error", "cancelled")
                        .string("by", by)
                        .string("why", why);
                });
            }
            _ => {}
        }
    }

    fn node(&self, event: &Event, frames: &mut Frames) {
        let names = &self.vocabulary;
        let (name, error) = match &event.kind {
            EventKind::NodeStarted => (names.node_started, None),
            EventKind::NodeFinished => (names.node_finished, None),
            EventKind::NodeFailed { error, .. } => (names.node_failed, Some(error)),
            _ => return,
        };
        let node = event.origin.as_ref().map_or("", |origin| &*origin.node);
        self.write(event, frames, name, |data| {
            data.string("node", node);
            if let Some(error) = error {
                data.string("error", error);
            }
        });
    }

    fn delta(&self, event: &Event, frames: &mut Frames, text: &str, reasoning: &str) {
        let names = &self.vocabulary;
        let shown = !text.is_empty() || (!reasoning.is_empty() && names.reasoning_key.is_some());
        self.write(event, frames, names.delta.filter(|_| shown), |data| {
            data.string(names.text_key, text);
            if let Some(key) = names.reasoning_key {
                data.string(key, reasoning);
            }
        });
    }

    fn tool(&mut self, event: &Event, frames: &mut Frames) {
        let names = self.vocabulary;
        match &event.kind {
            EventKind::ToolCallProposed {
                call, arguments, ..
            } => {
                if self.proposed.len() < PROPOSED {
                    self.proposed.insert(call.clone(), arguments.clone());
                }
                self.write(event, frames, None, |_| {});
            }
            EventKind::ToolStarted {
                call,
                name,
                preview,
            } => {
                let arguments = self
                    .proposed
                    .get(call)
                    .cloned()
                    .unwrap_or_else(|| json!({}));
                self.write(event, frames, names.tool_started, |data| {
                    data.string("tool", name)
                        .value("args", &arguments)
                        .string("id", call);
                    data.string("preview", preview);
                });
            }
            EventKind::ToolFinished {
                call,
                name,
                status,
                summary,
                result,
            } => {
                self.proposed.remove(call);
                self.write(event, frames, names.tool_finished, |data| {
                    data.string("tool", name)
                        .string("id", call)
                        .value("status", status);
                    match result {
                        Some(result) => data.value("result", result),
                        None => data.string("result", summary),
                    };
                    data.string("summary", summary);
                });
            }
            _ => {}
        }
    }

    fn other(&self, event: &Event, frames: &mut Frames) {
        let names = &self.vocabulary;
        match &event.kind {
            EventKind::InterruptRaised(interrupt) => {
                self.write(event, frames, names.interrupt, |data| {
                    data.value("id", &interrupt.id)
                        .value("prompt", &interrupt.question.prompt);
                    data.value("schema", &interrupt.question.schema);
                    prompt::code(data, interrupt);
                });
            }
            EventKind::Status { code, summary } => {
                self.write(event, frames, names.status, |data| {
                    data.string("code", code).string("summary", summary);
                });
            }
            EventKind::Card { card, data } => self.write(event, frames, names.card, |it| {
                it.string("card", card).value("data", data);
            }),
            EventKind::Correction { message } => {
                self.write(event, frames, names.correction, |data| {
                    data.string("message", message);
                });
            }
            EventKind::Custom { name, data } => {
                self.write(event, frames, names.custom(name), |it| {
                    it.string("name", name).value("data", data);
                });
            }
            _ => self.write(event, frames, None, |_| {}),
        }
    }
}

impl Encoder for NamedSseEncoder {
    fn encode(&mut self, event: &Event, frames: &mut Frames) {
        if self.finished {
            return;
        }
        match &event.kind {
            EventKind::TextDelta { text, .. } => self.delta(event, frames, text, ""),
            EventKind::ReasoningDelta { text, .. } => self.delta(event, frames, "", text),
            EventKind::RunStarted { .. }
            | EventKind::RunFinished { .. }
            | EventKind::RunParked { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled { .. } => self.run(event, frames),
            EventKind::NodeStarted | EventKind::NodeFinished | EventKind::NodeFailed { .. } => {
                self.node(event, frames);
            }
            EventKind::ToolCallProposed { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolFinished { .. } => self.tool(event, frames),
            _ => self.other(event, frames),
        }
    }

    /// Appends nothing: a browser whose stream ends before the run reconnects by itself, with the
    /// last position that it has seen.
    fn finish(&mut self, _: &mut Frames) {
        self.finished = true;
    }

    fn keep_alive(&self, frames: &mut Frames) {
        frames.frame(|out| out.push_str(sse::KEEP_ALIVE));
    }

    fn content_type(&self) -> &'static str {
        sse::CONTENT_TYPE
    }
}
