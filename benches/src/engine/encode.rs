//! Pieces of text as they go over the wire.
use std::sync::Arc;

use fugato_state::{RunId, ThreadId};
use fugato_stream::{
    AgUiEncoder, AiSdkEncoder, Encoder, Event, EventKind, Fidelity, Frames, NamedSseEncoder,
    OpenAiEncoder, Origin, Vocabulary,
};

use crate::{
    BoxError,
    measure::{Measured, Setting, rounds, timed},
};

/// How many events are encoded before a buffer is sent.
pub const SENT_AT_ONCE: usize = 64;

/// The encoders that send each piece, by the names of their protocols.
pub fn encoders(fidelity: Fidelity) -> [(&'static str, Box<dyn Encoder>); 4] {
    let named = NamedSseEncoder::new(Vocabulary::REACT).fidelity(fidelity);
    [
        ("openai", Box::new(openai(fidelity))),
        ("named", Box::new(named)),
        ("ag-ui", Box::new(AgUiEncoder::new().fidelity(fidelity))),
        ("ai-sdk", Box::new(AiSdkEncoder::new().fidelity(fidelity))),
    ]
}

fn openai(fidelity: Fidelity) -> OpenAiEncoder {
    OpenAiEncoder::new("run-1", "desk", 1_700_000_000).fidelity(fidelity)
}

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

pub(super) fn chunks(size: u64, setting: &Setting) -> Result<Measured, BoxError> {
    let event = delta()?;
    rounds(setting, size, || {
        let (mut encoder, mut frames) = (openai(Fidelity::Strict), Frames::new());
        let (bytes, spent) = timed(|| encode(&mut encoder, &event, size, &mut frames));
        assert!(bytes > 200 * size, "every chunk is written");
        Ok(spent)
    })
}
