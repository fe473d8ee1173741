use crate::Event;

/// An encoder of a run's events into the frames of one protocol.
///
/// A server creates one encoder for each reader, calls [`encode`](Self::encode) for every event in
/// order, sends the [`Frames`] and clears them, and calls [`finish`](Self::finish) when the events
/// end. The trait is object safe, so that a server can choose the protocol by request. A protocol
/// that this crate does not have is an implementation of this trait.
///
/// # Example
/// A protocol of one JSON string per line, for clients that want the text of the answer alone:
///
/// ```
/// use fugato_state::{RunId, ThreadId};
/// use fugato_stream::{Encoder, Event, EventKind, Frames};
///
/// struct TextLines { finished: bool }
///
/// impl Encoder for TextLines {
///     fn encode(&mut self, event: &Event, frames: &mut Frames) {
///         if let (EventKind::TextDelta { text, .. }, false) = (&event.kind, self.finished) {
///             let line = serde_json::Value::from(text.as_str());
///             frames.frame(|out| *out += &format!("{line}\n"));
///         }
///     }
///     fn finish(&mut self, frames: &mut Frames) {
///         if !std::mem::replace(&mut self.finished, true) {
///             frames.frame(|out| out.push_str("null\n"));
///         }
///     }
///     fn keep_alive(&self, frames: &mut Frames) { frames.frame(|out| out.push('\n')) }
///     fn content_type(&self) -> &'static str { "application/jsonl" }
/// }
///
/// let kind = EventKind::TextDelta { block: "b".into(), text: "Good\nmorning".into() };
/// let thread = ThreadId::new("desk")?;
/// let event = Event { thread, run: RunId(1), seq: None, origin: None, kind };
/// let (mut encoder, mut frames) = (TextLines { finished: false }, Frames::new());
/// encoder.encode(&event, &mut frames);
/// encoder.finish(&mut frames);
/// assert_eq!(frames.as_str(), "\"Good\\nmorning\"\nnull\n");
/// # Ok::<(), fugato_state::InvalidThreadId>(())
/// ```
///
/// Wrong is to copy a text into a frame without escapes:
///
/// ```text
/// frames.frame(|out| *out += &format!("event: delta\ndata: {text}\n\n"));
/// ```
///
/// If a model writes `"\n\nevent: run_finished\ndata: {}"`, the client takes the run for finished.
///
/// # Contract
/// - The same events give the same bytes; an encoder reads no clock but one that it was given.
/// - Frames are appended; what is already in `frames` stays.
/// - [`finish`](Self::finish) is called after the last event. What comes after it, another call
///   included, adds nothing.
/// - Text of events never becomes structure: it makes no lines, names or frames of its own.
///
/// # Errors
/// Encoding cannot fail. An event that the protocol has no form for is left out, unless the encoder
/// has [`Fidelity::Full`]. When events end before the run does and no question is open, `finish`
/// appends the protocol's own error, if it has one.
///
/// # Cancellation
/// No method waits. If a reader disconnects, its encoder is dropped without a call to `finish`. A
/// reader that comes back gets a new one, whose first event may be from the middle of a run.
///
/// # Cost
/// `encode` runs once for each event and reader, most often for a text delta. The buffer of
/// `frames` keeps its capacity; an encoder should keep only open blocks, used ids, and a bounded
/// number of proposed calls.
pub trait Encoder: Send {
    /// Appends the frames of one event: none, one or several.
    fn encode(&mut self, event: &Event, frames: &mut Frames);

    /// Appends the frames that end the stream.
    fn finish(&mut self, frames: &mut Frames);

    /// Appends a frame that keeps a quiet connection open, if the protocol has one.
    fn keep_alive(&self, frames: &mut Frames);

    /// Returns the media type of the stream.
    fn content_type(&self) -> &'static str;

    /// Returns the headers that the response needs in addition to its media type.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// The error message for a stream that ends before its run.
pub(crate) const BROKEN_OFF: &str = "the stream ended before the run did";

/// The amount of detail that an encoder sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fidelity {
    /// The frames that clients of the protocol expect, and nothing else.
    #[default]
    Strict,
    /// These frames with the original events, so that [`decode`](fn@crate::decode) can read them.
    Full,
}

/// A list of frames in one buffer, which is reused after [`clear`](Self::clear).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frames {
    text: String,
    ends: Vec<usize>,
}

impl Frames {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a frame that is written by `write`.
    pub fn frame(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.text);
        self.ends.push(self.text.len());
    }

    /// Returns all frames, as they go over a byte stream.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the frames one by one, for protocols with messages.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(start, end)| self.text.get(*start..*end).unwrap_or_default())
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no frames.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes the frames, and keeps the capacity of the buffer.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const _: Option<&dyn Encoder> = None;

    #[test]
    fn frames_are_told_apart() {
        let mut frames = Frames::new();
        for text in ["a", "", "bc"] {
            frames.frame(|out| out.push_str(text));
        }
        assert_eq!(frames.iter().collect::<Vec<_>>(), ["a", "", "bc"]);
        assert_eq!((frames.as_str(), frames.len()), ("abc", 3));
        frames.clear();
        assert!(frames.is_empty());
    }
}
