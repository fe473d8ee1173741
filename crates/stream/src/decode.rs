use serde::Deserialize;
use thiserror::Error;

use crate::{Event, SseLines};

/// Reads the events back from a stream that was encoded with full fidelity, of whatever protocol,
/// as its bytes come in: cut anywhere, inside a character too.
///
/// Frames without an event, such as the end of the stream, are skipped. The buffer holds at most
/// one frame, of at most [`Decoder::MOST`] bytes unless [`most`](Self::most) sets another limit.
///
/// ```
/// use fugato_stream::Decoder;
///
/// let wire = "data: {\"ev\":{\"thread\":\"é\",\"run\":1,\"kind\":\"node_started\"}}\n\n";
/// let (mut decoder, mut events) = (Decoder::new(), vec![]);
/// for byte in wire.as_bytes() {
///     decoder.push(&[*byte], &mut events)?;
/// }
/// assert_eq!(events.len(), 1);
/// # Ok::<(), fugato_stream::DecodeError>(())
/// ```
#[derive(smart_default::SmartDefault, Debug)]
pub struct Decoder {
    lines: SseLines,
    #[default(Self::MOST)]
    most: usize,
    frames: usize,
}

impl Decoder {
    /// The longest frame, in bytes: the limit of one commit of the log.
    pub const MOST: usize = 16 * 1024 * 1024;

    /// Creates a decoder for the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    fugato_state::setters! {
        /// Refuses frames longer than so many bytes.
        pub fn most(bytes: usize) { most = bytes }
    }

    /// Reads the next bytes of a stream of server-sent events, and appends the events that they
    /// complete. After an error nothing more can be read.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let mut wrong = None;
        let read = self.lines.push(bytes, self.most, |data| {
            if wrong.is_none() {
                self.frames += 1;
                match one(data) {
                    Ok(event) => events.extend(event),
                    Err(kind) => wrong = Some(kind),
                }
            }
        });
        let frame = self.frames;
        match (wrong, read) {
            (Some(kind), _) => Err(DecodeError { frame, kind }),
            (None, Err(_)) => Err(DecodeError {
                frame: frame + 1,
                kind: DecodeErrorKind::TooLong,
            }),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Reads one message of a protocol that has messages, such as a WebSocket's.
    pub fn message(&mut self, message: &str) -> Result<Option<Event>, DecodeError> {
        self.frames += 1;
        let failed = |kind| DecodeError {
            frame: self.frames,
            kind,
        };
        if message.len() > self.most {
            return Err(failed(DecodeErrorKind::TooLong));
        }
        one(message.as_bytes()).map_err(failed)
    }
}

/// Reads the events back from a whole stream of server-sent events that was encoded with full
/// fidelity. [`Decoder`] does the same as bytes come in.
pub fn decode(wire: &str) -> Result<Vec<Event>, DecodeError> {
    let mut events = vec![];
    Decoder::new().push(wire.as_bytes(), &mut events)?;
    Ok(events)
}

fn one(data: &[u8]) -> Result<Option<Event>, DecodeErrorKind> {
    if data.trim_ascii() == b"[DONE]" {
        return Ok(None);
    }
    let carrier: CustomFrame = serde_json::from_slice(data).map_err(DecodeErrorKind::Event)?;
    let part = match carrier.kind.as_deref() {
        Some("data-ev") => carrier.data,
        _ => None,
    };
    if let Some(part) = part {
        let event = serde_json::from_str(part.get());
        return event.map(Some).map_err(DecodeErrorKind::Event);
    }
    let inner = |place: Option<Place>| place.and_then(|place| place.ev);
    let places = [carrier.ext, carrier.extra, carrier.metadata];
    let found = carrier.ev.or_else(|| places.into_iter().find_map(inner));
    Ok(found.map(|event| *event))
}

/// A frame, and the places in which protocols allow custom data.
#[derive(Deserialize)]
struct CustomFrame<'a> {
    #[serde(default, rename = "type", borrow)]
    kind: Option<std::borrow::Cow<'a, str>>,
    #[serde(default, borrow)]
    data: Option<&'a serde_json::value::RawValue>,
    #[serde(default)]
    ev: Option<Box<Event>>,
    #[serde(default)]
    ext: Option<Place>,
    #[serde(default)]
    extra: Option<Place>,
    #[serde(default)]
    metadata: Option<Place>,
}

#[derive(Deserialize)]
struct Place {
    #[serde(default)]
    ev: Option<Box<Event>>,
}

/// The error for a stream that these encoders do not write.
#[derive(Debug, Error)]
#[error("frame {frame} of the stream cannot be read")]
pub struct DecodeError {
    /// The frame, from 1.
    pub frame: usize,
    /// The defect of the frame.
    #[source]
    pub kind: DecodeErrorKind,
}

/// The defects of a frame.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// It is not JSON, or its event cannot be parsed.
    #[error("it is not an event")]
    Event(#[source] serde_json::Error),
    /// It is longer than the limit.
    #[error("it is too long")]
    TooLong,
}
