//! Scenarios of decoding.
use fugato_stream::{DecodeError, Decoder, Event, Fidelity, Frames};
use proptest::prelude::*;

use super::{EncoderFactory, Wire, any_events, encoded, random};
use crate::log::{Failure, same};

/// With full fidelity the same events are read back, wherever the bytes are cut, and with signs of
/// life in between.
pub fn full_decodes_back(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    let cuts = (any_events(), prop::collection::vec(1usize..90, 1..4));
    random(&cuts, 192, |(events, cuts)| {
        let mut encoder = factory.encoder(Fidelity::Full);
        let mut frames = Frames::new();
        for event in &events {
            encoder.encode(event, &mut frames);
            encoder.keep_alive(&mut frames);
        }
        encoder.finish(&mut frames);
        same("the events", read(factory.wire(), &frames)?, events.clone())?;
        if factory.wire() == Wire::Events {
            let pieces = pieces(frames.as_str().as_bytes(), &cuts).map_err(unreadable)?;
            same("the events of cut bytes", pieces, events)?;
        }
        Ok(())
    })
}

/// With strict fidelity a client gets what its protocol can express, and nothing to decode.
pub fn strict_carries_no_event(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    random(&any_events(), 64, |events| {
        let frames = encoded(factory.encoder(Fidelity::Strict), &events);
        same("the events", read(factory.wire(), &frames)?, vec![])
    })
}

pub(super) fn read(wire: Wire, frames: &Frames) -> Result<Vec<Event>, Failure> {
    let (mut decoder, mut events) = (Decoder::new(), vec![]);
    match wire {
        Wire::Events => {
            let bytes = frames.as_str().as_bytes();
            decoder.push(bytes, &mut events).map_err(unreadable)?;
        }
        Wire::Messages => {
            for frame in frames.iter() {
                events.extend(decoder.message(frame).map_err(unreadable)?);
            }
        }
    }
    Ok(events)
}

fn pieces(mut bytes: &[u8], cuts: &[usize]) -> Result<Vec<Event>, DecodeError> {
    let (mut decoder, mut events) = (Decoder::new(), vec![]);
    for cut in cuts.iter().cycle() {
        let Some((piece, rest)) = bytes.split_at_checked(*cut) else {
            break;
        };
        decoder.push(piece, &mut events)?;
        bytes = rest;
    }
    decoder.push(bytes, &mut events)?;
    Ok(events)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
fn unreadable(error: DecodeError) -> Failure {
    let kind = &error.kind;
    Failure::new(format!("the stream cannot be read: {error}: {kind:?}"))
}
