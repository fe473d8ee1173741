//! The chunks of the UI message stream.
use fugato_state::Interrupt;
use serde_json::Value;

use crate::{
    Frames,
    blocks::{Block, BlockKind},
    calls::Call,
    json::Object,
    prompt::card,
    sse,
};

/// The lifetimes of a custom part.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    /// In the message; replaces the part with the same id.
    Kept(&'a str),
    /// In the message, next to others of its kind.
    Added,
    /// Transient: shown once, and not in the message.
    Passing,
}

pub(super) fn chunk(frames: &mut Frames, kind: &str, fields: impl FnOnce(&mut Object<'_>)) {
    sse::frame(frames, None, None, |it| {
        it.string("type", kind);
        fields(it);
    });
}

pub(super) fn data(
    frames: &mut Frames,
    name: &str,
    part: Part<'_>,
    fields: impl FnOnce(&mut Object<'_>),
) {
    chunk(frames, &format!("data-{name}"), |it| {
        match part {
            Part::Kept(id) => {
                it.string("id", id);
            }
            Part::Added => {}
            Part::Passing => {
                it.value("transient", &true);
            }
        }
        it.object("data", fields);
    });
}

pub(super) fn finish(block: &Block, frames: &mut Frames) {
    let kind = match block.holds {
        BlockKind::Text => "text-end",
        BlockKind::Reasoning => "reasoning-end",
    };
    chunk(frames, kind, |it| {
        it.string("id", &block.id);
    });
}

/// Writes the fields that identify a call. Its tool is the server's, and a client need not know it.
pub(super) fn head(it: &mut Object<'_>, call: &str, name: &str) {
    it.string("toolCallId", call).string("toolName", name);
    it.value("dynamic", &true).value("providerExecuted", &true);
}

/// Ends a call that the model began and that is void.
pub(super) fn give_up(call: &Call, frames: &mut Frames) {
    let told = serde_json::from_str(&call.arguments);
    let input = told.unwrap_or_else(|_| Value::from(call.arguments.as_str()));
    chunk(frames, "tool-input-error", |it| {
        head(it, &call.id, &call.name);
        it.value("input", &input)
            .string("errorText", "the call was not made");
    });
}

/// Sends a question, with its answer once it has one.
pub(super) fn question(frames: &mut Frames, interrupt: &Interrupt, answer: Option<&Value>) {
    let id = interrupt.id.as_str();
    data(frames, "interrupt", Part::Kept(id), |it| {
        card(it, interrupt, "expiresAt");
        if let Some(answer) = answer {
            it.value("answer", answer);
        }
    });
}

/// Returns true if an answer approves, false if it refuses, and none for any other answer.
pub(super) fn approved(answer: &Value) -> Option<bool> {
    let names = ["approved", "accept", "ok"];
    let said = names.iter().find_map(|name| answer.get(name)?.as_bool());
    answer.as_bool().or(said)
}
