//! Recording of a model's answers into a file, and replay of them.

mod near;
mod record;
mod replay;
mod secrets;

use std::{io, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChatDelta, ChatRequest, ModelError, ModelErrorKind, RetryAdvice};

pub use record::Recorder;
pub use replay::Replay;
pub use secrets::Secrets;

/// The format version of a line. Version 1 is the first.
const VERSION: u32 = 1;

/// The error if a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be opened or read.
    #[error("the cassette {path} cannot be opened")]
    Open {
        /// The path of the cassette.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// A line is not a recorded exchange.
    #[error("line {line} of the cassette cannot be read")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// A line has another format version.
    #[error("line {line} of the cassette has version {version}, and not {VERSION}")]
    Version {
        /// The number of the line, from 1.
        line: usize,
        /// The version of the line.
        version: u32,
    },
    /// The request in a line does not have the digest that the line states.
    #[error("the request in line {line} of the cassette was changed; record it anew")]
    Changed {
        /// The number of the line, from 1.
        line: usize,
    },
}

/// One line of a cassette: a request and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Exchange {
    version: u32,
    digest: String,
    model: String,
    request: Value,
    deltas: Vec<ChatDelta>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<KeptError>,
}

/// An error as it is recorded. Its source is left out, because it can be of any type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeptError {
    kind: ModelErrorKind,
    advice: RetryAdvice,
    context: String,
}

impl From<KeptError> for ModelError {
    fn from(kept: KeptError) -> Self {
        Self::new(kept.kind, kept.context).advice(kept.advice)
    }
}

/// Returns the parts of a request on which the answer depends, as JSON without secrets. Equal
/// requests give equal values.
fn asked(request: &ChatRequest, secrets: &Secrets) -> Value {
    let mut asked = request.clone();
    (asked.timeout, asked.attempts) = (None, None);
    asked.metadata.clear();
    // Every request can be written as JSON, so the default is never used.
    let mut asked = serde_json::to_value(asked).unwrap_or_default();
    if let Value::Object(fields) = &mut asked {
        for field in ["timeout", "attempts", "metadata"] {
            fields.remove(field);
        }
    }
    secrets.scrub_value(&mut asked);
    asked
}

/// Returns an FNV-1a digest. It detects accidental changes and is no protection against forgery.
///
/// It is computed from the leaves, so that it does not depend on the order of fields, which a
/// feature that another crate of the same program enables can change.
fn digest(asked: &Value) -> String {
    let leaves = near::leaves(asked).into_iter();
    let bytes = leaves.flat_map(|(place, leaf)| format!("{place} {leaf}\n").into_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests;
