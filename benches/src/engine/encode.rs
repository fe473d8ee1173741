//! Pieces of text as they go over the wire.
use std::sync::Arc;

use fugato_state::{RunId, ThreadId};
use fugato_stream::{
    AgUiEncoder, AiSdkEncoder, Encoder, EnvelopeEncoder, Event, EventKind, Fidelity, Frames,
    NamedSseEncoder, OpenAiEncoder, Origin, Vocabulary,
};

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, timed},
};

/// How many events are encoded before a buffer is sent.
pub const SENT_AT_ONCE: usize = 64;

/// A piece of text, as a model sends them.
pub fn delta() -> Result<Event, BoxError> {
    let origin = Origin {
        scope: "".into(),
        node: "talk".into(),
        visit: 1,
        index: None,
        attempt: 1,
    };
    Ok(Event {
        thread: ThreadId::new("thread-1")?,
        run: RunId(1),
        seq: None,
        origin: Some(Arc::new(origin)),
        kind: EventKind::TextDelta {
            block: "b1".into(),
            text: "word ".into(),
        },
    })
}

/// Encodes an event so many times, and tells how many bytes that makes.
pub fn encode(encoder: &mut dyn Encoder, event: &Event, times: u64, frames: &mut Frames) -> u64 {
    let mut bytes = 0;
    for _ in 0..times {
        encoder.encode(event, frames);
        if frames.len() >= SENT_AT_ONCE {
            bytes += frames.as_str().len() as u64;
            frames.clear();
        }
    }
    bytes += frames.as_str().len() as u64;
    frames.clear();
    bytes
}

/// A frame for each event, in the protocol of this name.
pub(super) fn chunks(
    protocol: &str,
    size: u64,
    setting: &Setting,
) -> Result<Measurement, BoxError> {
    let event = event(protocol)?;
    rounds(setting, size, || {
        let (mut encoder, mut frames) = (encoder(protocol, Fidelity::Strict)?, Frames::new());
        let (bytes, spent) = timed(|| encode(encoder.as_mut(), &event, size, &mut frames));
        assert!(bytes > 40 * size, "every chunk is written");
        Ok(spent)
    })
}

/// What a protocol sends as soon as it comes: for most a piece of text.
pub fn event(protocol: &str) -> Result<Event, BoxError> {
    let mut event = delta()?;
    if protocol == "envelope" {
        // It keeps pieces of text until they are whole.
        event.kind = EventKind::Status {
            code: "working".into(),
            summary: "word ".into(),
        };
    }
    Ok(event)
}

/// The encoder of the protocol of this name.
pub fn encoder(protocol: &str, fidelity: Fidelity) -> Result<Box<dyn Encoder>, BoxError> {
    Ok(match protocol {
        "openai" => Box::new(OpenAiEncoder::new("run-1", "desk", 1_700_000_000).fidelity(fidelity)),
        "named" => Box::new(NamedSseEncoder::new(Vocabulary::REACT).fidelity(fidelity)),
        "ag-ui" => Box::new(AgUiEncoder::new().fidelity(fidelity)),
        "ai-sdk" => Box::new(AiSdkEncoder::new().fidelity(fidelity)),
        "envelope" => Box::new(EnvelopeEncoder::new(|| 1_700_000_000_000).fidelity(fidelity)),
        other => return Err(format!("there is no protocol {other:?}").into()),
    })
}
