//! Answers of a model, kept in a file and given again.

mod near;
mod record;
mod replay;
mod secrets;

use std::{io, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChatDelta, ChatRequest, ModelError, ModelErrorKind, RetryAdvice};

pub use record::Record;
pub use replay::Replay;
pub use secrets::Secrets;

/// The form of a line. Version 1: the first.
const VERSION: u32 = 1;

/// A cassette cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// It cannot be opened or read.
    #[error("the cassette {path} cannot be opened")]
    Open {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line is not an exchange.
    #[error("line {line} of the cassette cannot be read")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// Why not.
        source: serde_json::Error,
    },
    /// A line was written by another version.
    #[error("line {line} of the cassette has version {version}, and not {VERSION}")]
    Version {
        /// Its number, from 1.
        line: usize,
        /// Its version.
        version: u32,
    },
    /// The request of a line does not have the digest that the line says.
    #[error("the request in line {line} of the cassette was changed; record it anew")]
    Changed {
        /// Its number, from 1.
        line: usize,
    },
}

/// One line of a cassette: what was asked, and what came.
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

/// An error as it is kept. Its cause is not: it can be anything.
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

/// What an answer depends on, in a form that is always the same, without secrets.
fn asked(request: &ChatRequest, secrets: &Secrets) -> Value {
    let mut asked = request.clone();
    (asked.timeout, asked.attempts) = (None, None);
    asked.metadata.clear();
    // A request whose schema or message cannot be written as JSON does not exist.
    let mut asked = serde_json::to_value(asked).unwrap_or_default();
    if let Value::Object(fields) = &mut asked {
        for field in ["timeout", "attempts", "metadata"] {
            fields.remove(field);
        }
    }
    secrets.scrub_value(&mut asked);
    asked
}

/// A digest in the manner of FNV-1a. It notices accidents, and is no defence against forgery.
///
/// It is made of the leaves, so that the order of fields, which another crate of the same program
/// can change, has no part in it.
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
