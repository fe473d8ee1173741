mod wire;

use fugato_state::{Interrupt, RunId};
use serde_json::Value;

use self::wire::FrameWriter;
use crate::{
    Encoder, Event, EventKind, Fidelity, Frames, Text, ToolStatus,
    blocks::{Block, BlockKind, Blocks, Names},
    calls::Calls,
    encoder::BROKEN_OFF,
    open_questions::OpenQuestions,
    plan, sse,
};

/// Encodes runs as events of the AG-UI protocol, version 1.0.
///
/// The protocol requires pairs of begin and end events, and its clients refuse a stream without
/// them. Hence the encoder adds the events that a reader missed: a run that is encoded from its
/// middle is begun first, a block without a beginning gets one, and everything that is open is
/// closed before the run ends. Ids of messages tell task and attempt apart, and no id is used twice
/// in a run.
///
/// A run that waits for answers ends with the outcome `interrupt`, and lists all questions that are
/// open; [`Resume::ag_ui`](crate::Resume::ag_ui) reads the answers from the next request.
#[derive(Debug)]
pub struct AgUiEncoder {
    fidelity: Fidelity,
    /// The ids that the request gave to the thread and to the run.
    named: Option<[String; 2]>,
    run: Option<ActiveRun>,
    blocks: Blocks,
    calls: Names,
    /// The calls whose arguments are being streamed.
    streamed: Calls,
    steps: Vec<String>,
    asked: OpenQuestions,
    usage: Option<Value>,
    finished: bool,
}

/// A run that was begun and has not ended.
#[derive(Debug)]
struct ActiveRun {
    run: RunId,
    thread_id: String,
    run_id: String,
}

/// The outcomes of a run without an error.
enum Outcome<'a> {
    Success(Option<&'a Value>),
    Interrupt(&'a [Interrupt]),
    Cancelled,
}

impl Default for AgUiEncoder {
    fn default() -> Self {
        Self::new()
    }
}

impl AgUiEncoder {
    /// An encoder that calls threads and runs by their own names.
    pub fn new() -> Self {
        Self {
            fidelity: Fidelity::Strict,
            named: None,
            run: None,
            blocks: Blocks::default(),
            calls: Names::default(),
            streamed: Calls::default(),
            steps: vec![],
            asked: OpenQuestions::default(),
            usage: None,
            finished: false,
        }
    }

    fugato_state::setters! {
        /// Calls the thread and the run by the ids of the request that is answered.
        pub fn named(thread_id: impl Into<String>, run_id: impl Into<String>) {
            named = Some([thread_id.into(), run_id.into()])
        }

        /// Sets how much of the events is encoded.
        pub fn fidelity(fidelity: Fidelity) { fidelity = fidelity }
    }

    /// Begins the run of an event, if it is not the one that is open.
    fn begin(&mut self, event: &Event, wire: &mut FrameWriter<'_>) {
        match &self.run {
            Some(open) if open.run == event.run => return,
            Some(_) => self.give_up(wire),
            None => {}
        }
        let [thread_id, run_id] = self.named.clone().unwrap_or_else(|| {
            let thread = event.thread.as_str().to_owned();
            let run_id = format!("{thread}/{}", event.run);
            [thread, run_id]
        });
        wire.send("RUN_STARTED", |it| {
            it.string("threadId", &thread_id).string("runId", &run_id);
        });
        self.run = Some(ActiveRun {
            run: event.run,
            thread_id,
            run_id,
        });
    }

    /// Ends a run that gets no further events.
    fn give_up(&mut self, wire: &mut FrameWriter<'_>) {
        let asked = std::mem::take(&mut self.asked);
        if asked.open().is_empty() {
            self.fail(wire, BROKEN_OFF);
        } else {
            self.end(wire, &Outcome::Interrupt(asked.open()));
        }
    }

    /// Closes every open block, call and step, before a run ends.
    fn close(&mut self, wire: &mut FrameWriter<'_>) {
        for block in self.blocks.close_all() {
            finish(&block, wire);
        }
        for call in self.streamed.close_all() {
            wire::call_nothing(wire, &call.id);
        }
        for step in self.steps.drain(..) {
            wire.send("STEP_FINISHED", |it| {
                it.string("stepName", &step);
            });
        }
    }

    /// Forgets the run and its ids; ids are unique within a run only.
    fn forget(&mut self) {
        self.run = None;
        self.blocks.forget();
        self.calls.clear();
        self.streamed.forget();
    }

    fn end(&mut self, wire: &mut FrameWriter<'_>, outcome: &Outcome<'_>) {
        self.close(wire);
        let usage = self.usage.take();
        let Some(run) = &self.run else { return };
        wire.send("RUN_FINISHED", |it| {
            it.string("threadId", &run.thread_id)
                .string("runId", &run.run_id);
            // An absent result must be left out: the protocol has no null here.
            if let Outcome::Success(Some(result)) = outcome
                && !result.is_null()
            {
                it.value("result", result);
            }
            it.object("outcome", |it| match outcome {
                Outcome::Interrupt(interrupts) if !interrupts.is_empty() => {
                    it.string("type", "interrupt");
                    wire::interrupts(it, interrupts, &self.calls);
                }
                Outcome::Cancelled => {
                    it.string("type", "cancelled");
                }
                _ => {
                    it.string("type", "success");
                }
            });
            if let Some(usage) = &usage {
                wire::usage(it, usage);
            }
        });
        self.forget();
    }

    fn fail(&mut self, wire: &mut FrameWriter<'_>, message: &str) {
        self.close(wire);
        wire.send("RUN_ERROR", |it| {
            it.string("message", message);
        });
        self.forget();
    }

    fn run_event(&mut self, event: &Event, wire: &mut FrameWriter<'_>) {
        self.begin(event, wire);
        match &event.kind {
            EventKind::RunFinished { output } => {
                self.asked = OpenQuestions::default();
                self.end(wire, &Outcome::Success(output.as_ref()));
            }
            EventKind::RunParked { interrupts } => {
                self.asked = OpenQuestions::default();
                self.end(wire, &Outcome::Interrupt(interrupts));
            }
            EventKind::RunCancelled { .. } => {
                self.asked = OpenQuestions::default();
                self.end(wire, &Outcome::Cancelled);
            }
            EventKind::RunFailed { error } => {
                self.asked = OpenQuestions::default();
                self.fail(wire, error);
            }
            _ => {}
        }
    }

    fn node_event(&mut self, event: &Event, wire: &mut FrameWriter<'_>) {
        let Some(step) = event.origin.as_ref().map(|origin| origin.task()) else {
            return;
        };
        self.begin(event, wire);
        let open = self.steps.iter().position(|open| *open == step);
        if open.is_none() {
            wire.send("STEP_STARTED", |it| {
                it.string("stepName", &step);
            });
        }
        if matches!(event.kind, EventKind::NodeStarted) {
            if open.is_none() {
                self.steps.push(step);
            }
            return;
        }
        for block in self.blocks.close_task(event) {
            finish(&block, wire);
        }
        for call in self.streamed.close_task(event) {
            wire::call_nothing(wire, &call.id);
        }
        if let EventKind::NodeFailed { error, retry_at } = &event.kind {
            wire.custom("node_failed", |it| {
                it.string("stepName", &step).string("error", error);
                it.value("retrying", &retry_at.is_some());
            });
        }
        if let Some(open) = open {
            self.steps.remove(open);
        }
        wire.send("STEP_FINISHED", |it| {
            it.string("stepName", &step);
        });
    }

    fn start(&mut self, holds: BlockKind, event: &Event, wire: &mut FrameWriter<'_>, name: &Text) {
        self.begin(event, wire);
        if self.blocks.find(holds, event, name).is_none() {
            begin(holds, self.blocks.open(holds, event, name), wire);
        }
    }

    fn delta(
        &mut self,
        holds: BlockKind,
        event: &Event,
        wire: &mut FrameWriter<'_>,
        (name, text): (&Text, &Text),
    ) {
        if text.is_empty() {
            return;
        }
        self.start(holds, event, wire, name);
        let id = self.blocks.find(holds, event, name).unwrap_or_default();
        let kind = match holds {
            BlockKind::Text => "TEXT_MESSAGE_CONTENT",
            BlockKind::Reasoning => "REASONING_MESSAGE_CONTENT",
        };
        wire.send(kind, |it| {
            it.string("messageId", id).string("delta", text);
        });
    }

    /// Begins a call at the first piece of its arguments. They are sent when they are whole: the
    /// client must get JSON in the end, and a call may be abandoned in the middle of its arguments,
    /// or proposed with others than were written first.
    fn piece(&mut self, event: &Event, wire: &mut FrameWriter<'_>, [call, name]: [&Text; 2]) {
        self.begin(event, wire);
        if self.streamed.is_proposed(event, call) {
            return;
        }
        if self.streamed.find(event, call).is_none() {
            let id = self.calls.fresh(call);
            wire::call_start(wire, &id, name);
            self.streamed.open(event, call, name, id);
        }
    }

    /// Ends a call that was begun, or tells one as a whole.
    fn proposed(
        &mut self,
        event: &Event,
        wire: &mut FrameWriter<'_>,
        [call, name]: [&str; 2],
        arguments: &Value,
    ) {
        if let Some(open) = self.streamed.propose(event, call) {
            if let Some(whole) = open.rest(name, arguments) {
                wire::call_arguments(wire, &open.id, &whole);
                return wire::call_end(wire, &open.id);
            }
            // It began under another name, and nothing can be taken back: the proposal is a call of
            // its own.
            wire::call_nothing(wire, &open.id);
        }
        let id = self.calls.fresh(call);
        wire::call(wire, &id, name, Some(arguments));
    }

    fn tool_event(&mut self, event: &Event, wire: &mut FrameWriter<'_>) {
        self.begin(event, wire);
        match &event.kind {
            EventKind::ToolCallProposed {
                call,
                name,
                arguments,
            } => self.proposed(event, wire, [call, name], arguments),
            EventKind::ToolStarted {
                call,
                name,
                preview,
            } => {
                let id = self.calls.last(call).unwrap_or_else(|| call.clone());
                wire.custom("tool_started", |it| {
                    it.string("toolCallId", &id).string("toolCallName", name);
                    it.string("preview", preview);
                });
            }
            EventKind::ToolFinished {
                call,
                name,
                status,
                summary,
                result,
            } => {
                // A call that has a result was made, even if its proposal was not seen.
                if let Some(open) = self.streamed.propose_named(event, call) {
                    wire::call_nothing(wire, &open.id);
                }
                let id = self.calls.last(call).unwrap_or_else(|| {
                    // It was proposed before this stream began. Its arguments are known there.
                    wire::call(wire, call, name, None);
                    self.calls.fresh(call)
                });
                if *status != ToolStatus::Ok {
                    wire.custom("tool_not_done", |it| {
                        it.string("toolCallId", &id).value("status", status);
                        it.string("summary", summary);
                    });
                }
                let message = self.calls.fresh(&format!("{id}/result"));
                wire::result(wire, [&id, &message], result.as_ref(), summary);
            }
            _ => {}
        }
    }

    fn other(&mut self, event: &Event, wire: &mut FrameWriter<'_>) {
        match &event.kind {
            EventKind::InterruptRaised(interrupt) => {
                self.begin(event, wire);
                self.asked.raise(interrupt);
            }
            EventKind::InterruptAnswered { id, .. } | EventKind::InterruptExpired { id } => {
                self.begin(event, wire);
                self.asked.answer(id);
            }
            EventKind::Status { code, summary } => {
                self.begin(event, wire);
                wire.custom("status", |it| {
                    it.string("code", code).string("summary", summary);
                });
            }
            EventKind::Card { card, data } => {
                self.begin(event, wire);
                wire.custom("card", |it| {
                    it.string("card", card).value("data", data);
                });
            }
            EventKind::Correction { message } => {
                self.begin(event, wire);
                wire.custom("correction", |it| {
                    it.string("message", message);
                });
            }
            EventKind::Custom { name, data } if name == plan::USAGE => {
                self.usage = Some(data.clone());
            }
            EventKind::Custom { name, data } if plan::is_plan(name) => {
                self.begin(event, wire);
                wire::activity(wire, event.run, name, data);
            }
            EventKind::Custom { name, data } => {
                self.begin(event, wire);
                wire.custom("custom", |it| {
                    it.string("name", name).value("data", data);
                });
            }
            _ => {}
        }
    }
}

impl Encoder for AgUiEncoder {
    fn encode(&mut self, event: &Event, frames: &mut Frames) {
        if self.finished {
            return;
        }
        let wire = &mut FrameWriter::of(frames, event, self.fidelity);
        match &event.kind {
            EventKind::TextStarted { block } => self.start(BlockKind::Text, event, wire, block),
            EventKind::TextDelta { block, text } => {
                self.delta(BlockKind::Text, event, wire, (block, text));
            }
            EventKind::ReasoningStarted { block } => {
                self.start(BlockKind::Reasoning, event, wire, block);
            }
            EventKind::ReasoningDelta { block, text } => {
                self.delta(BlockKind::Reasoning, event, wire, (block, text));
            }
            EventKind::TextFinished { block } => {
                if let Some(block) = self.blocks.close(BlockKind::Text, event, block) {
                    finish(&block, wire);
                }
            }
            EventKind::ReasoningFinished { block } => {
                if let Some(block) = self.blocks.close(BlockKind::Reasoning, event, block) {
                    finish(&block, wire);
                }
            }
            EventKind::RunStarted { .. }
            | EventKind::RunFinished { .. }
            | EventKind::RunParked { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled { .. } => self.run_event(event, wire),
            EventKind::NodeStarted | EventKind::NodeFinished | EventKind::NodeFailed { .. } => {
                self.node_event(event, wire);
            }
            EventKind::ToolCallDelta { call, name, .. } => self.piece(event, wire, [call, name]),
            EventKind::ToolCallProposed { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolFinished { .. } => self.tool_event(event, wire),
            _ => self.other(event, wire),
        }
        if wire.owes() {
            self.begin(event, wire);
        }
        if wire.owes() {
            wire.custom("event", |_| {});
        }
    }

    fn finish(&mut self, frames: &mut Frames) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        if self.run.is_some() {
            self.give_up(&mut FrameWriter::last(frames));
        }
    }

    fn keep_alive(&self, frames: &mut Frames) {
        frames.frame(|out| out.push_str(sse::KEEP_ALIVE));
    }

    fn content_type(&self) -> &'static str {
        sse::CONTENT_TYPE
    }
}

fn begin(holds: BlockKind, id: &str, wire: &mut FrameWriter<'_>) {
    match holds {
        BlockKind::Text => wire.send("TEXT_MESSAGE_START", |it| {
            it.string("messageId", id).string("role", "assistant");
        }),
        BlockKind::Reasoning => {
            wire.send("REASONING_START", |it| {
                it.string("messageId", id);
            });
            wire.send("REASONING_MESSAGE_START", |it| {
                it.string("messageId", id).string("role", "reasoning");
            });
        }
    }
}

fn finish(block: &Block, wire: &mut FrameWriter<'_>) {
    let kinds: &[&str] = match block.holds {
        BlockKind::Text => &["TEXT_MESSAGE_END"],
        BlockKind::Reasoning => &["REASONING_MESSAGE_END", "REASONING_END"],
    };
    for kind in kinds {
        wire.send(kind, |it| {
            it.string("messageId", &block.id);
        });
    }
}
