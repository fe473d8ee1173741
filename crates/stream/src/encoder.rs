use crate::Event;

/// Turns events into what goes over the wire. Object safe, so that a server can choose by request.
///
/// # Contract
/// - The same events give the same bytes; an encoder reads no clock but one that it was given.
/// - Frames are appended; what is already in `frames` stays.
/// - [`finish`](Self::finish) is called after the last event. What comes after it, another call
///   included, adds nothing.
/// - Text of events never becomes structure: it makes no lines, names or frames of its own.
pub trait Encoder: Send {
    /// Appends the frames of one event: none, one or several.
    fn encode(&mut self, event: &Event, frames: &mut Frames);

    /// Appends what ends the stream.
    fn finish(&mut self, frames: &mut Frames);

    /// Appends what keeps a quiet connection open, if anything does.
    fn keep_alive(&self, frames: &mut Frames);

    /// The media type of the stream.
    fn content_type(&self) -> &'static str;

    /// What the answer to the request must have as headers beside its media type.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// What a client is told when events end and nothing said that the run has.
pub(crate) const BROKEN_OFF: &str = "the stream ended before the run did";

/// How much an encoder tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fidelity {
    /// What clients of the protocol accept, and nothing else.
    #[default]
    Strict,
    /// Beside that the original events, so that they can be decoded again.
    Full,
}

/// Frames one after another in one buffer, which is used again after [`clear`](Self::clear).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frames {
    text: String,
    ends: Vec<usize>,
}

impl Frames {
    /// No frames.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a frame that is written by `write`.
    pub fn frame(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.text);
        self.ends.push(self.text.len());
    }

    /// All frames as they go over a byte stream.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The frames one by one, for wires that have messages.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(start, end)| self.text.get(*start..*end).unwrap_or_default())
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets the frames, and keeps the buffer.
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
