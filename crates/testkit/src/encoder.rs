//! The conformance suite of [`Encoder`], and encoders that must not pass it.
//!
//! Each bullet of the contract is one or several scenarios, public functions on an
//! [`EncoderFactory`]. [`encoder_suite!`](crate::encoder_suite) makes a test of each:
//!
//! ```
//! use fugato_stream::{Encoder, Fidelity, NamedSseEncoder, Vocabulary};
//! use fugato_testkit::encoder::{EncoderFactory, Wire};
//!
//! struct NamedEvents;
//!
//! impl EncoderFactory for NamedEvents {
//!     fn encoder(&self, fidelity: Fidelity) -> Box<dyn Encoder> {
//!         Box::new(NamedSseEncoder::new(Vocabulary::REACT).fidelity(fidelity))
//!     }
//!
//!     fn wire(&self) -> Wire {
//!         Wire::Events
//!     }
//!
//!     fn tells_of_a_break(&self) -> bool {
//!         false
//!     }
//! }
//!
//! fugato_testkit::encoder_suite!(NamedEvents);
//! ```
//!
//! Most scenarios feed random events: whole runs and what is left of them, blocks and calls that
//! overlap and are never closed, texts that look like the wire.
mod broken;
mod ending;
mod events;
mod framing;
mod reading;

use fugato_stream::{Encoder, Event, Fidelity, Frames};
use proptest::{
    strategy::Strategy,
    test_runner::{Config, TestCaseError, TestRunner},
};

use crate::log::Failure;

pub use broken::{BrokenEncoders, EncoderFlaw};
pub use ending::{finishes_once, tells_of_a_break, waits_for_answers};
pub use events::{any_event, any_events, hostile_text};
pub use framing::{
    appends_only, deterministic, empty_pieces_are_left_out, frames_are_whole,
    keep_alive_is_no_event, text_makes_no_structure,
};
pub use reading::{full_decodes_back, strict_carries_no_event};

/// Makes the encoders that are tried.
pub trait EncoderFactory: Send + Sync {
    /// Creates an encoder. Two of them give the same output: an encoder that needs a clock gets a
    /// stopped one.
    fn encoder(&self, fidelity: Fidelity) -> Box<dyn Encoder>;

    /// Returns the wire of its frames.
    fn wire(&self) -> Wire;

    /// Returns true if a stream says so when its events end before their run. Encoders whose
    /// clients reconnect by themselves return false.
    fn tells_of_a_break(&self) -> bool {
        true
    }
}

/// The wire on which frames travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wire {
    /// Server-sent events.
    Events,
    /// Messages, each a JSON object.
    Messages,
}

macro_rules! scenarios {
    (($d:tt) $($scenario:ident)*) => {
        /// The names of the scenarios.
        pub const SCENARIOS: &[&str] = &[$(stringify!($scenario)),*];

        /// Runs the scenario of this name.
        pub fn run(scenario: &str, factory: &dyn EncoderFactory) -> Result<(), Failure> {
            match scenario {
                $(stringify!($scenario) => $scenario(factory),)*
                _ => Err(Failure::new(format!("there is no scenario {scenario:?}"))),
            }
        }

        /// Makes one `#[test]` of each scenario of [`encoder`](mod@crate::encoder), which runs it
        /// on the encoders of the given [`EncoderFactory`](crate::encoder::EncoderFactory).
        #[macro_export]
        macro_rules! encoder_suite {
            ($d factory:expr) => {
                $(
                    #[test]
                    fn $scenario() -> Result<(), $crate::log::Failure> {
                        $crate::encoder::$scenario(&$d factory)
                    }
                )*
            };
        }
    };
}

scenarios! { ($)
    deterministic
    appends_only
    frames_are_whole
    text_makes_no_structure
    empty_pieces_are_left_out
    keep_alive_is_no_event
    full_decodes_back
    strict_carries_no_event
    finishes_once
    tells_of_a_break
    waits_for_answers
}

const BOTH: [Fidelity; 2] = [Fidelity::Strict, Fidelity::Full];

/// Encodes these events, and finishes the stream.
fn encoded(mut encoder: Box<dyn Encoder>, events: &[Event]) -> Frames {
    let mut frames = Frames::new();
    for event in events {
        encoder.encode(event, &mut frames);
    }
    encoder.finish(&mut frames);
    frames
}

/// Runs a check on random values; a failure is shrunk.
fn random<S: Strategy>(
    values: &S,
    cases: u32,
    scenario: impl Fn(S::Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(values, |value| {
            scenario(value).map_err(|failure| TestCaseError::fail(failure.to_string()))
        })
        .map_err(|error| Failure::new(error.to_string()))
}
