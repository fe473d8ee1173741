//! Scenarios of single frames.
use fugato_stream::{Event, EventKind, Fidelity, Frames};
use serde_json::Value;

use super::{BOTH, EncoderFactory, Wire, any_event, any_events, encoded, hostile_text, random};
use crate::log::{Failure, holds, same};

/// The same events give the same bytes.
pub fn deterministic(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    random(&any_events(), 64, |events| {
        for fidelity in BOTH {
            let frames = || encoded(factory.encoder(fidelity), &events);
            same("the frames", frames(), frames())?;
        }
        Ok(())
    })
}

/// Frames are appended, and an encoder's output does not depend on the frames that are there
/// already.
pub fn appends_only(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    random(&any_events(), 64, |events| {
        for fidelity in BOTH {
            let all = encoded(factory.encoder(fidelity), &events);
            let mut encoder = factory.encoder(fidelity);
            let (mut frames, mut pieces) = (Frames::new(), vec![]);
            let mut take = |frames: &mut Frames| {
                pieces.extend(frames.iter().map(str::to_owned));
                frames.clear();
            };
            for event in &events {
                encoder.encode(event, &mut frames);
                take(&mut frames);
            }
            encoder.finish(&mut frames);
            take(&mut frames);
            let whole: Vec<_> = all.iter().map(str::to_owned).collect();
            same("the frames, taken one by one", pieces, whole)?;
        }
        Ok(())
    })
}

/// Each frame is whole: a client that gets them one at a time can read each.
pub fn frames_are_whole(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    random(&any_events(), 128, |events| {
        for fidelity in BOTH {
            for frame in encoded(factory.encoder(fidelity), &events).iter() {
                whole(factory.wire(), frame)?;
            }
        }
        Ok(())
    })
}

/// Checks that a frame contains one item, in the form of its wire.
fn whole(wire: Wire, frame: &str) -> Result<(), Failure> {
    let wrong = |what: &str| Failure::new(format!("{what}: {frame:?}"));
    let data = match wire {
        Wire::Messages => frame,
        Wire::Events => {
            let lines = frame.strip_suffix("\n\n");
            let lines = lines.ok_or_else(|| wrong("a frame without an end"))?;
            let mut data = None;
            for line in lines.split(['\n', '\r']) {
                match line.split_once(": ") {
                    Some(("data", one)) if data.is_none() => data = Some(one),
                    Some(("id", id)) if id.parse::<u64>().is_ok() => {}
                    Some(("event", name)) if !name.is_empty() => {}
                    _ => return Err(wrong(&format!("the line {line:?}"))),
                }
            }
            data.ok_or_else(|| wrong("a frame without data"))?
        }
    };
    // Some readers take more characters for the end of a line than the standard does.
    let breaks = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{85}', '\u{2028}', '\u{2029}',
    ];
    holds(!data.contains(breaks), || {
        format!("a line break in {data:?}")
    })?;
    let is_end = wire == Wire::Events && data == "[DONE]";
    let is_object = serde_json::from_str::<Value>(data).is_ok_and(|value| value.is_object());
    holds(is_end || is_object, || format!("no object: {data:?}"))
}

/// The text of events stays text: a text that looks like the wire makes as many frames and lines as
/// any other.
pub fn text_makes_no_structure(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    let texts = (any_event(), hostile_text());
    random(&texts, 64, |(like, text)| {
        let of = |text: &str| {
            let event = |kind| Event {
                kind,
                ..like.clone()
            };
            [
                event(EventKind::TextDelta {
                    block: "b".into(),
                    text: text.into(),
                }),
                event(EventKind::ToolCallDelta {
                    call: "c".into(),
                    name: text.into(),
                    arguments: text.into(),
                }),
                event(EventKind::NodeFailed {
                    error: text.into(),
                    retry_at: None,
                }),
                event(EventKind::ToolStarted {
                    call: "c".into(),
                    name: text.into(),
                    preview: text.into(),
                }),
                event(EventKind::RunFailed { error: text.into() }),
            ]
        };
        for fidelity in BOTH {
            let lines = |text: &str| {
                let frames = encoded(factory.encoder(fidelity), &of(text));
                let lines = frames.iter().map(|frame| frame.split(['\n', '\r']).count());
                lines.collect::<Vec<_>>()
            };
            // Empty text may be left out.
            if !text.is_empty() {
                same("the lines of each frame", lines(&text), lines("a"))?;
            }
        }
        Ok(())
    })
}

/// An empty piece of a block is left out, unless a protocol requires it.
pub fn empty_pieces_are_left_out(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    let pieces = (any_event(), 0..3_u8);
    random(&pieces, 16, |(like, what)| {
        let block = || "b".into();
        let of = |text: &str| {
            let text = text.into();
            let block = block();
            let kind = match what {
                0 => EventKind::TextDelta { block, text },
                1 => EventKind::ReasoningDelta { block, text },
                _ => EventKind::ToolCallDelta {
                    call: block,
                    name: "place".into(),
                    arguments: text,
                },
            };
            Event {
                kind,
                ..like.clone()
            }
        };
        let mut encoder = factory.encoder(Fidelity::Strict);
        let mut frames = Frames::new();
        encoder.encode(&of("a"), &mut frames);
        frames.clear();
        encoder.encode(&of(""), &mut frames);
        same("frames of an empty piece", frames.as_str(), "")
    })
}

/// A keep-alive is no event, and can come between any two frames.
pub fn keep_alive_is_no_event(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    for fidelity in BOTH {
        let mut frames = Frames::new();
        factory.encoder(fidelity).keep_alive(&mut frames);
        for frame in frames.iter() {
            match factory.wire() {
                Wire::Messages => whole(Wire::Messages, frame)?,
                Wire::Events => {
                    let comment = frame.starts_with(':') && frame.ends_with("\n\n");
                    holds(comment && frame.lines().count() == 2, || {
                        format!("no comment: {frame:?}")
                    })?;
                }
            }
        }
        let read = super::reading::read(factory.wire(), &frames)?;
        same("events", read, vec![])?;
    }
    Ok(())
}
