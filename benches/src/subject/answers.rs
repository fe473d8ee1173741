use serde::Deserialize;
use serde_json::{Map, Value};

use crate::BoxError;

/// What a model answered where one object was asked for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct JsonAnswer {
    /// The answer.
    pub raw: String,
    /// What is meant by it; none where nobody can know.
    pub wanted: Option<Map<String, Value>>,
}

/// The answers of which it is known what is meant, so often that they make so many KB.
pub fn answers(kilobytes: u64) -> Result<Vec<JsonAnswer>, BoxError> {
    let lines = include_str!("../../../crates/llm/tests/data/noisy.jsonl").lines();
    let all: Vec<JsonAnswer> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    let mut left = kilobytes * 1000;
    let known = all.iter().filter(|answer| answer.wanted.is_some()).cycle();
    Ok(known
        .take_while(|answer| {
            let begins = left > 0;
            left = left.saturating_sub(answer.raw.len() as u64);
            begins
        })
        .cloned()
        .collect())
}
