//! Whatever a model gives as the arguments of a call: what gets through keeps to the schema, and
//! what does not is told why.
#![no_main]

use fugato_llm::{ChatDelta, Contract, DecisionStyle, ResponseFold, ToolCallDelta};
use libfuzzer_sys::fuzz_target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Place {
    Morning,
    Evening,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Move {
    #[schemars(range(min = 1, max = 7))]
    a: u8,
    #[serde(default)]
    b: Vec<Place>,
    c: Option<Box<Move>>,
}

thread_local! {
    static CONTRACT: Contract<Move> = Contract::new("move");
}

fuzz_target!(|text: &str| {
    CONTRACT.with(|contract| match contract.read(text) {
        Ok(read) => {
            let value = serde_json::to_value(&read).expect("it is plain");
            contract.json_schema().check(&value).expect("it keeps to the schema");
        }
        Err(rejected) => assert!(rejected.correction().ends_with("and nothing else.")),
    });
    let mut fold = ResponseFold::default();
    fold.push(ChatDelta::text(text));
    fold.push(ChatDelta::ToolCall(ToolCallDelta::new(0, text).name("move")));
    let response = fold.finish();
    for style in [DecisionStyle::Native, DecisionStyle::JsonAction, DecisionStyle::Text] {
        if let Err(rejected) = style.read(&response, "c") {
            assert!(!rejected.correction().is_empty());
        }
    }
});
