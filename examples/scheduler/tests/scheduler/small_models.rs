//! Real answers of small models, read by the contract of execution.
use std::collections::BTreeMap;

use scheduler::contract::ExecutorDecision;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Replies {
    class: String,
    raw: String,
}

/// Each answer is a decision, or gets a correction that describes one.
#[test]
fn sch_41_what_small_models_say_is_a_decision_or_is_corrected() {
    let lines = include_str!("../../../../crates/llm/tests/data/model-outputs.jsonl").lines();
    let (contract, mut counts) = (ExecutorDecision::contract(true), BTreeMap::new());
    for line in lines {
        let said: Replies = serde_json::from_str(line).expect("a line is an answer");
        let came = match contract.read(&said.raw) {
            Ok(_) => "decided",
            Err(rejected) => {
                let correction = rejected.correction();
                let tells = ["- /", "- \"action\" (required)"];
                let told = tells.iter().any(|tell| correction.contains(tell));
                assert!(told, "{correction}");
                "corrected"
            }
        };
        *counts.entry((said.class, came)).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts
        .iter()
        .map(|((class, came), n)| (class.as_str(), *came, *n))
        .collect();
    let expected = [
        ("contract_violation", "corrected", 2),
        ("contract_violation", "decided", 1),
        ("fenced_ok", "corrected", 1),
        ("fenced_ok", "decided", 5),
        ("fenced_violation", "corrected", 2),
        ("invalid_json", "corrected", 4),
        ("no_json", "corrected", 7),
        ("tool_call_as_text", "corrected", 13),
        ("valid_json_wrong_action", "corrected", 1),
        ("valid_json_wrong_action", "decided", 3),
    ];
    assert_eq!(counts, expected);
}
