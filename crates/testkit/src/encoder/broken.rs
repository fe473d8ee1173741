//! Encoders that break one promise each.
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use fugato_stream::{Encoder, Event, EventKind, Fidelity, Frames, OpenAiEncoder};

use super::{EncoderFactory, Wire};

/// The flaw of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncoderFlaw {
    /// Its output differs from stream to stream for the same events.
    CountsStreams,
    /// It writes nothing if there are frames already.
    LooksAtFrames,
    /// Its frames have no end.
    ForgetsBlankLine,
    /// It writes text without escaping.
    WritesRawText,
    /// It sends empty pieces.
    SendsEmptyPieces,
    /// Its keep-alive looks like an event.
    PingsWithData,
    /// It loses some events.
    LosesEvents,
    /// It always writes everything, at any fidelity.
    TellsEverything,
    /// It ends whenever `finish` is called.
    EndsTwice,
    /// It ends a broken stream like a complete one.
    HidesBreaks,
    /// It reports an open question as a failure.
    FailsWhenAsked,
}

impl EncoderFlaw {
    /// All flaws.
    pub const ALL: &'static [Self] = &[
        Self::CountsStreams,
        Self::LooksAtFrames,
        Self::ForgetsBlankLine,
        Self::WritesRawText,
        Self::SendsEmptyPieces,
        Self::PingsWithData,
        Self::LosesEvents,
        Self::TellsEverything,
        Self::EndsTwice,
        Self::HidesBreaks,
        Self::FailsWhenAsked,
    ];

    /// Returns the scenario that must reject it.
    pub fn rejected_by(self) -> &'static str {
        match self {
            Self::CountsStreams => "deterministic",
            Self::LooksAtFrames => "appends_only",
            Self::ForgetsBlankLine => "frames_are_whole",
            Self::WritesRawText => "text_makes_no_structure",
            Self::SendsEmptyPieces => "empty_pieces_are_left_out",
            Self::PingsWithData => "keep_alive_is_no_event",
            Self::LosesEvents => "full_decodes_back",
            Self::TellsEverything => "strict_carries_no_event",
            Self::EndsTwice => "finishes_once",
            Self::HidesBreaks => "tells_of_a_break",
            Self::FailsWhenAsked => "waits_for_answers",
        }
    }
}

/// A factory of encoders with a flaw.
#[derive(Debug, Clone)]
pub struct BrokenEncoders {
    flaw: EncoderFlaw,
    streams: Arc<AtomicU64>,
}

impl BrokenEncoders {
    /// Creates a factory of encoders with this flaw.
    pub fn new(flaw: EncoderFlaw) -> Self {
        Self {
            flaw,
            streams: Arc::default(),
        }
    }
}

impl EncoderFactory for BrokenEncoders {
    fn encoder(&self, fidelity: Fidelity) -> Box<dyn Encoder> {
        let fidelity = match self.flaw {
            EncoderFlaw::TellsEverything => Fidelity::Full,
            _ => fidelity,
        };
        let stream = match self.flaw {
            EncoderFlaw::CountsStreams => self.streams.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        let id = format!("run-{stream}");
        Box::new(BrokenEncoder {
            flaw: self.flaw,
            inner: OpenAiEncoder::new(&id, "desk", 0).fidelity(fidelity),
        })
    }

    fn wire(&self) -> Wire {
        Wire::Events
    }
}

struct BrokenEncoder {
    flaw: EncoderFlaw,
    inner: OpenAiEncoder,
}

impl Encoder for BrokenEncoder {
    fn encode(&mut self, event: &Event, frames: &mut Frames) {
        match (self.flaw, &event.kind) {
            (EncoderFlaw::LooksAtFrames, _) if !frames.is_empty() => {}
            (EncoderFlaw::LosesEvents, EventKind::NodeStarted)
            | (EncoderFlaw::FailsWhenAsked, EventKind::InterruptRaised(_)) => {}
            (EncoderFlaw::ForgetsBlankLine, EventKind::NodeStarted) => {
                frames.frame(|out| out.push_str("data: {}\n"));
            }
            (EncoderFlaw::WritesRawText, EventKind::NodeFailed { error, .. }) => {
                frames.frame(|out| {
                    out.push_str("data: ");
                    out.push_str(error);
                    out.push_str("\n\n");
                });
            }
            (EncoderFlaw::SendsEmptyPieces, EventKind::TextDelta { text, .. })
                if text.is_empty() =>
            {
                frames.frame(|out| out.push_str("data: {}\n\n"));
            }
            _ => self.inner.encode(event, frames),
        }
    }

    fn finish(&mut self, frames: &mut Frames) {
        match self.flaw {
            EncoderFlaw::EndsTwice | EncoderFlaw::HidesBreaks => {
                frames.frame(|out| out.push_str("data: [DONE]\n\n"));
            }
            _ => self.inner.finish(frames),
        }
    }

    fn keep_alive(&self, frames: &mut Frames) {
        if self.flaw == EncoderFlaw::PingsWithData {
            frames.frame(|out| out.push_str("data: {}\n\n"));
        } else {
            self.inner.keep_alive(frames);
        }
    }

    fn content_type(&self) -> &'static str {
        self.inner.content_type()
    }
}
