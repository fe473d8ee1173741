//! The workload `repair` on llm_json.
use std::{hint::black_box, process::ExitCode};

use llm_json::{RepairOptions, loads};
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
struct JsonAnswer {
    raw: String,
    wanted: Option<serde_json::Value>,
}

/// The answers of which it is known what is meant, so often that they make so many KB.
fn answers(kilobytes: u64) -> Result<Vec<JsonAnswer>, serde_json::Error> {
    let lines = include_str!("../../../../crates/llm/tests/data/noisy.jsonl").lines();
    let all: Vec<JsonAnswer> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    let mut left = kilobytes * 1000;
    let known = all.iter().filter(|answer| answer.wanted.is_some()).cycle();
    let begins = |answer: &&JsonAnswer| {
        let begins = left > 0;
        left = left.saturating_sub(answer.raw.len() as u64);
        begins
    };
    Ok(known.take_while(begins).cloned().collect())
}

fn main() -> ExitCode {
    peer_harness::answer(|bench| {
        if bench.workload != "repair" {
            return Ok(Err("it repairs JSON and does nothing else"));
        }
        let answers = answers(bench.size)?;
        let options = RepairOptions::default();
        let right = answers
            .iter()
            .filter(|answer| loads(&answer.raw, &options).ok() == answer.wanted)
            .count();
        // Beside the figures: how many it reads as they are meant.
        eprintln!("{right} of {} as they are meant", answers.len());
        let measured = bench.rounds(
            bench.size,
            || Ok(()),
            |()| async {
                for answer in &answers {
                    black_box(loads(&answer.raw, &options)).ok();
                }
                Ok(())
            },
        )?;
        Ok(Ok(measured))
    })
}
