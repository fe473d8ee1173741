//! Single events of the protocol.
use fugato_state::{Interrupt, RunId, iso_8601};
use serde_json::Value;

use crate::{
    Event, Fidelity, Frames,
    blocks::Names,
    json::{self, Object},
    prompt::{self, PromptParts},
    sse,
};

/// The writer of the frames of one event. With full fidelity the first frame carries the event
/// itself.
pub(super) struct FrameWriter<'a> {
    frames: &'a mut Frames,
    event: Option<&'a Event>,
    carries: bool,
}

impl<'a> FrameWriter<'a> {
    pub(super) fn of(frames: &'a mut Frames, event: &'a Event, fidelity: Fidelity) -> Self {
        Self {
            frames,
            event: Some(event),
            carries: fidelity == Fidelity::Full,
        }
    }

    /// Creates a writer for frames that belong to no event.
    pub(super) fn last(frames: &'a mut Frames) -> Self {
        Self {
            frames,
            event: None,
            carries: false,
        }
    }

    /// Returns true if the event itself still has to be carried.
    pub(super) fn owes(&self) -> bool {
        self.carries
    }

    pub(super) fn send(&mut self, kind: &str, fields: impl FnOnce(&mut Object<'_>)) {
        let position = self.event.and_then(|event| event.seq);
        let carried = self.event.filter(|_| self.carries);
        self.carries = false;
        sse::frame(self.frames, position, None, |it| {
            it.string("type", kind);
            fields(it);
            if let Some(event) = carried {
                it.object("metadata", |it| {
                    it.value("ev", event);
                });
            }
        });
    }

    /// Sends a custom event, for which the protocol has no own type. Its name gets the prefix
    /// `fugato.`.
    pub(super) fn custom(&mut self, name: &str, value: impl FnOnce(&mut Object<'_>)) {
        self.send("CUSTOM", |it| {
            it.string("name", &format!("fugato.{name}"))
                .object("value", value);
        });
    }
}

/// A call, with its arguments if they are known.
pub(super) fn call(wire: &mut FrameWriter<'_>, id: &str, name: &str, arguments: Option<&Value>) {
    call_start(wire, id, name);
    if let Some(arguments) = arguments {
        call_arguments(wire, id, &arguments.to_string());
    }
    call_end(wire, id);
}

pub(super) fn call_start(wire: &mut FrameWriter<'_>, id: &str, name: &str) {
    wire.send("TOOL_CALL_START", |it| {
        it.string("toolCallId", id).string("toolCallName", name);
    });
}

/// A piece of the arguments, unless it is empty.
pub(super) fn call_arguments(wire: &mut FrameWriter<'_>, id: &str, piece: &str) {
    if !piece.is_empty() {
        wire.send("TOOL_CALL_ARGS", |it| {
            it.string("toolCallId", id).string("delta", piece);
        });
    }
}

/// Ends an abandoned call with `{}` as arguments, since the client parses them as JSON.
pub(super) fn call_nothing(wire: &mut FrameWriter<'_>, id: &str) {
    call_arguments(wire, id, "{}");
    call_end(wire, id);
}

pub(super) fn call_end(wire: &mut FrameWriter<'_>, id: &str) {
    wire.send("TOOL_CALL_END", |it| {
        it.string("toolCallId", id);
    });
}

/// Sends the result of a call: a text as it is, anything else as JSON.
pub(super) fn result(
    wire: &mut FrameWriter<'_>,
    [id, message]: [&str; 2],
    result: Option<&Value>,
    summary: &str,
) {
    let content = match result {
        Some(Value::String(text)) => text.clone(),
        Some(result) => result.to_string(),
        None => summary.to_owned(),
    };
    wire.send("TOOL_CALL_RESULT", |it| {
        it.string("messageId", message).string("toolCallId", id);
        it.string("content", &content).string("role", "tool");
    });
}

/// Sends the current plan, as a message of its own that replaces the one before.
pub(super) fn activity(wire: &mut FrameWriter<'_>, run: RunId, name: &str, data: &Value) {
    wire.send("ACTIVITY_SNAPSHOT", |it| {
        it.string("messageId", &format!("{run}/plan"))
            .string("activityType", "PLAN");
        it.object("content", |it| {
            it.string("phase", name).value("data", data);
        });
    });
}

pub(super) fn interrupts(it: &mut Object<'_>, interrupts: &[Interrupt], calls: &Names) {
    it.field("interrupts", |out| {
        out.push('[');
        for (n, interrupt) in interrupts.iter().enumerate() {
            if n > 0 {
                out.push(',');
            }
            let mut it = Object::begin(out);
            one(&mut it, interrupt, calls);
            it.end();
        }
        out.push(']');
    });
}

fn one(it: &mut Object<'_>, interrupt: &Interrupt, calls: &Names) {
    let (question, shown) = (&interrupt.question, PromptParts::of(interrupt));
    it.string("id", interrupt.id.as_str())
        .string("reason", shown.kind);
    let message = PromptParts::message(interrupt);
    if !message.is_empty() {
        it.string("message", &message);
    }
    if let Some(call) = shown.call {
        let id = calls.last(call);
        it.string("toolCallId", id.as_deref().unwrap_or(call));
    }
    let mut schema = String::new();
    json::value(&mut schema, &question.schema);
    // A schema may be `true`, for which the protocol has no place.
    if schema.starts_with('{') {
        it.field("responseSchema", |out| out.push_str(&schema));
    }
    if let Some(at) = question.expires_at {
        it.string("expiresAt", &iso_8601(at));
    }
    it.object("metadata", |it| {
        it.value("prompt", &question.prompt);
        if let Some(digest) = &question.digest {
            it.string("digest", digest);
        }
        prompt::code(it, interrupt);
    });
}

/// Writes the token counts of the models, if they are numbers that a client can hold.
pub(super) fn usage(it: &mut Object<'_>, usage: &Value) {
    let names = [
        ("prompt_tokens", "inputTokens"),
        ("completion_tokens", "outputTokens"),
        ("total_tokens", "totalTokens"),
    ];
    let counts: Vec<_> = names
        .iter()
        .filter_map(|(own, theirs)| Some((*theirs, usage.get(own)?.as_u64()?)))
        .filter(|(_, count)| *count < 1 << 53)
        .collect();
    if !counts.is_empty() {
        it.field("usage", |out| {
            out.push('[');
            let mut it = Object::begin(out);
            for (name, count) in counts {
                it.value(name, &count);
            }
            it.end();
            out.push(']');
        });
    }
}
