//! Frames of server-sent events.
use std::fmt::Write as _;

use fugato_state::Seq;

use crate::{Frames, json::Object};

/// A comment line that keeps a connection open and is no event.
pub(crate) const KEEP_ALIVE: &str = ": ping\n\n";
/// The media type.
pub(crate) const CONTENT_TYPE: &str = "text/event-stream";
/// The last frame of the protocols that have one.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// Appends one event: an object in one line, under a name if it has one.
///
/// A durable event has an `id:` line with the last position of which everything was sent. A browser
/// that reconnects sends that one, and so misses nothing, but may see the events of one position
/// again.
pub(crate) fn frame(
    frames: &mut Frames,
    position: Option<Seq>,
    name: Option<&str>,
    fields: impl FnOnce(&mut Object<'_>),
) {
    frames.frame(|out| {
        if let Some(seq) = position {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "id: {}", seq.saturating_sub(1));
        }
        if let Some(name) = name {
            out.push_str("event: ");
            // A custom name must not become lines of its own.
            let pieces = name.split(['\n', '\r', '\0']);
            pieces.for_each(|piece| out.push_str(piece));
            out.push('\n');
        }
        out.push_str("data: ");
        let mut object = Object::begin(out);
        fields(&mut object);
        object.end();
        out.push_str("\n\n");
    });
}
