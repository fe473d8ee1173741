//! Answers with noise of every kind, and their intended meaning.
//!
//! `tests/peers/clients/noisy.py` generates them, and says which of them `json_repair` reads
//! correctly.

use std::collections::BTreeMap;

use fugato_llm::{Contract, NoObject, ObjectPiece, ObjectReader, extract};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
struct Line {
    kind: String,
    raw: String,
    wanted: Option<Map<String, Value>>,
    oracle: bool,
}

fn lines() -> Vec<Line> {
    let lines = include_str!("../data/noisy.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line is an answer"))
        .collect()
}

#[test]
fn l4_noisy_answers_are_read_as_they_are_meant() {
    let lines = lines();
    let (mut oracle, mut meant) = (0, 0);
    for Line {
        kind,
        raw,
        wanted,
        oracle: is_right,
    } in lines
    {
        oracle += usize::from(is_right);
        let Some(wanted) = wanted else { continue };
        meant += 1;
        let found = extract(&raw).map(|found| found.object);
        assert_eq!(found, Ok(wanted), "{kind}: {raw}");
    }
    assert!(oracle > 250 && oracle <= meant, "{oracle} of {meant}");
}

#[test]
fn l4_what_nobody_can_know_is_refused() {
    let mut told = BTreeMap::<_, Vec<_>>::new();
    for line in lines().into_iter().filter(|line| line.wanted.is_none()) {
        let why = match extract(&line.raw).expect_err("nobody can know") {
            NoObject::Broken { expected, .. } => expected,
            other => other.to_string(),
        };
        let told = told.entry(line.kind).or_default();
        if !told.contains(&why) {
            told.push(why);
        }
    }
    let cut = vec!["the text ends before the JSON object does".to_owned()];
    let expected = [
        (
            "a_list",
            vec!["the text is a JSON array, not an object".into()],
        ),
        ("cut_in_key", cut.clone()),
        ("cut_in_number", cut.clone()),
        ("cut_in_text", cut),
        (
            "missing_quote",
            vec!["quotes within a string to be escaped".into()],
        ),
        ("twice", vec!["each key once".into()]),
        ("words", vec!["there is no JSON object in the text".into()]),
    ];
    assert_eq!(told, expected.map(|(kind, why)| (kind.into(), why)).into());
}

#[test]
fn noisy_answers_that_grow_end_like_whole_ones() {
    for line in lines() {
        let (mut reader, mut fields) = (ObjectReader::default(), Map::new());
        for piece in line.raw.chars() {
            for piece in reader.push(piece.encode_utf8(&mut [0; 4])) {
                match piece {
                    ObjectPiece::Field { name, value } => {
                        fields.insert(name.to_string(), value);
                    }
                    ObjectPiece::Void => fields.clear(),
                    _ => {}
                }
            }
        }
        let found = reader.finish();
        assert_eq!(found, extract(&line.raw), "{}", line.raw);
        if let Ok(found) = found {
            fields.iter().for_each(|(name, value)| {
                assert_eq!(found.object.get(name), Some(value));
            });
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    AskUser,
    Confirm,
    Done,
}

/// A contract that only some of the answers keep.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Strict {
    speak: String,
    action: Action,
    reason: String,
}

#[test]
fn l4_nothing_that_breaks_the_schema_gets_through() {
    let (contract, mut kept) = (Contract::<Strict>::new("strict"), 0);
    let all = lines();
    for line in &all {
        let Ok(read) = contract.read(&line.raw) else {
            continue;
        };
        kept += 1;
        let wanted = line.wanted.as_ref().expect("what is unknowable is refused");
        let read = serde_json::to_value(read).expect("it is plain");
        for key in ["speak", "action", "reason"] {
            assert_eq!(read.get(key), wanted.get(key), "{}", line.raw);
        }
    }
    assert!(kept > 80 && kept < all.len() / 2, "{kept}");
}
