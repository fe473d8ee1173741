use serde::Deserialize;
use thiserror::Error;

use crate::Event;

/// Reads the events back from a stream of server-sent events that was encoded with full fidelity:
/// OpenAI chunks or named events.
///
/// Frames without an event, such as the end of the stream, are passed over.
pub fn decode(wire: &str) -> Result<Vec<Event>, DecodeError> {
    let mut events = vec![];
    for (at, line) in wire.lines().enumerate() {
        let Some(data) = line.strip_prefix("data:").map(str::trim) else {
            continue;
        };
        if data == "[DONE]" {
            continue;
        }
        let carrier: Carrier = serde_json::from_str(data).map_err(|source| DecodeError {
            line: at + 1,
            source,
        })?;
        let extension = carrier.extension.and_then(|extension| extension.ev);
        events.extend(carrier.ev.or(extension).map(|event| *event));
    }
    Ok(events)
}

#[derive(Deserialize)]
struct Carrier {
    #[serde(default)]
    ev: Option<Box<Event>>,
    #[serde(default, alias = "ext", alias = "extra")]
    extension: Option<Extension>,
}

#[derive(Deserialize)]
struct Extension {
    #[serde(default)]
    ev: Option<Box<Event>>,
}

/// A stream is not one that these encoders write.
#[derive(Debug, Error)]
#[error("line {line} of the stream is not an event")]
pub struct DecodeError {
    /// The line, from 1.
    pub line: usize,
    source: serde_json::Error,
}
