//! Scenarios of the ends of streams.
use fugato_state::{Interrupt, InterruptId, Question, RunId, ThreadId};
use fugato_stream::{Event, EventKind, Fidelity, Frames};

use super::{BOTH, EncoderFactory, any_event, any_events, encoded, random};
use crate::log::{Failure, holds, same};

/// A stream ends once: events after its end add nothing.
pub fn finishes_once(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    let late = (any_events(), any_event());
    random(&late, 64, |(events, late)| {
        for fidelity in BOTH {
            let mut encoder = factory.encoder(fidelity);
            let mut frames = Frames::new();
            for event in &events {
                encoder.encode(event, &mut frames);
            }
            encoder.finish(&mut frames);
            let ended = frames.clone();
            encoder.finish(&mut frames);
            encoder.encode(&late, &mut frames);
            encoder.finish(&mut frames);
            same("the frames after the end", &frames, &ended)?;
        }
        Ok(())
    })
}

/// A stream says so if its events end before their run does, and only then.
pub fn tells_of_a_break(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    if !factory.tells_of_a_break() {
        return Ok(());
    }
    for fidelity in BOTH {
        let broken = end_of(factory, fidelity, &[started(), said()]);
        holds(broken.contains(BROKEN), || {
            format!("a client is not told that the run was broken off: {broken:?}")
        })?;
        for end in ends() {
            let ended = end_of(factory, fidelity, &[started(), said(), event(end)]);
            holds(!ended.contains(BROKEN), || {
                format!("a run that has ended is said to be broken off: {ended:?}")
            })?;
        }
    }
    Ok(())
}

/// A run that waits for an answer counts as complete, even for a reader that sees only its
/// question.
pub fn waits_for_answers(factory: &dyn EncoderFactory) -> Result<(), Failure> {
    if !factory.tells_of_a_break() {
        return Ok(());
    }
    for fidelity in BOTH {
        let asked = [started(), event(EventKind::InterruptRaised(interrupt()))];
        let waits = end_of(factory, fidelity, &asked);
        holds(!waits.contains(BROKEN), || {
            format!("a run that waits is said to be broken off: {waits:?}")
        })?;
        let answered = EventKind::InterruptAnswered {
            id: interrupt().id,
            answer: true.into(),
        };
        let went_on = end_of(
            factory,
            fidelity,
            &[&asked[..], &[event(answered)]].concat(),
        );
        holds(went_on.contains(BROKEN), || {
            format!("a run that went on must end: {went_on:?}")
        })?;
    }
    Ok(())
}

/// The text of every encoder for events that end without the end of their run.
const BROKEN: &str = "the stream ended before the run did";

fn end_of(factory: &dyn EncoderFactory, fidelity: Fidelity, events: &[Event]) -> String {
    let frames = encoded(factory.encoder(fidelity), events);
    frames.as_str().to_owned()
}

fn ends() -> [EventKind; 4] {
    [
        EventKind::RunFinished { output: None },
        EventKind::RunParked {
            interrupts: vec![interrupt()],
        },
        EventKind::RunFailed {
            error: "no model".into(),
        },
        EventKind::RunCancelled {
            by: "p".into(),
            why: "enough".into(),
        },
    ]
}

fn event(kind: EventKind) -> Event {
    Event {
        thread: ThreadId::new("desk").expect("a short name is allowed"),
        run: RunId(1),
        seq: None,
        origin: None,
        kind,
    }
}

fn started() -> Event {
    event(EventKind::RunStarted { resumed: false })
}

fn said() -> Event {
    event(EventKind::TextDelta {
        block: "b".into(),
        text: "so".into(),
    })
}

fn interrupt() -> Interrupt {
    Interrupt {
        id: InterruptId::from("i1"),
        task: "confirm#1".to_owned(),
        question: Question::new::<bool>("ok", "Place it?"),
    }
}
