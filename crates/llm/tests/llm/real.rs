//! Recorded answers of small models, read by a contract.

use std::collections::BTreeMap;

use fugato_llm::{
    Ask, ChatDelta, Contract, Decision, DecisionStyle, ObjectReader, RejectedClass, ResponseFold,
    extract,
};
use fugato_state::ToolCall;
use fugato_testkit::Scripted;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Debug, Deserialize)]
struct Greeting {
    prompt: String,
    class: String,
    raw: String,
}

fn said() -> Vec<Greeting> {
    let lines = include_str!("../data/model-outputs.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line is an answer"))
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Continue,
    AskUser,
    Confirm,
    NextPlan,
    Done,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Tool {
    QueryTasks,
    QueryRange,
    Place,
    Move,
    MoveTask,
    Swap,
    Unplace,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only whether it can be read is of interest")]
struct Call {
    name: Tool,
    arguments: Map<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only whether it can be read is of interest")]
struct Verdict {
    speak: String,
    action: Action,
    #[serde(default)]
    reason: String,
    goal_check: Option<String>,
    tool_call: Option<Call>,
}

/// Returns the number of answers by their recorded class and their result.
fn counts() -> BTreeMap<(String, String), usize> {
    let contract = Contract::<Verdict>::new("decision");
    let mut counts = BTreeMap::new();
    for said in said() {
        let came = match contract.read(&said.raw) {
            Ok(_) => "a decision".to_owned(),
            Err(rejected) => {
                let correction = rejected.correction();
                assert!(correction.contains("Answer again with one JSON object"));
                assert!(
                    correction.contains("\"action\" (required): one of "),
                    "{correction}"
                );
                assert!(!correction.contains("continue|"), "{correction}");
                format!("{:?}", rejected.class)
            }
        };
        *counts.entry((said.class, came)).or_default() += 1;
    }
    counts
}

#[test]
fn sch_58_what_small_models_say_is_a_decision_or_is_corrected() {
    let expected = [
        ("contract_violation", "Schema", 3),
        ("fenced_ok", "a decision", 6),
        ("fenced_violation", "Alternatives", 1),
        ("fenced_violation", "Schema", 1),
        ("invalid_json", "NotJson", 1),
        ("invalid_json", "Truncated", 3),
        ("no_json", "NotJson", 7),
        ("tool_call_as_text", "Schema", 13),
        ("valid_json_wrong_action", "a decision", 4),
    ];
    let expected = expected.map(|(class, came, n)| ((class.to_owned(), came.to_owned()), n));
    assert_eq!(counts(), expected.into());
}

#[test]
fn l5_calls_that_small_models_write_as_text_are_read() {
    let mut calls = vec![];
    for said in said()
        .into_iter()
        .filter(|said| said.class == "tool_call_as_text")
    {
        let mut fold = ResponseFold::default();
        fold.push(ChatDelta::text(said.raw));
        let read = DecisionStyle::JsonAction.read(&fold.finish(), "c");
        let Decision { calls: read, .. } = read.expect(&said.prompt);
        calls.extend(read.into_iter().map(|call| (said.prompt.clone(), call)));
    }
    assert_eq!(calls.len(), 13);
    for (prompt, call) in calls {
        let wanted = match prompt.split_once("] ").map_or("", |(_, wish)| wish) {
            "Move task 12 to day 4, slot 2." => ToolCall::new(
                "c0",
                "move_task",
                json!({ "task_id": 12, "day": 4, "slot": 2 }),
            ),
            "Move task 3 to day 1 slot 5." => ToolCall::new(
                "c0",
                "move_task",
                json!({ "task_id": 3, "day": 1, "slot": 5 }),
            ),
            "列出所有待安排的任务。" => {
                ToolCall::new("c0", "query_tasks", json!({ "status": "pending" }))
            }
            _ => ToolCall::new("c0", "query_tasks", json!({ "status": "all" })),
        };
        assert_eq!(call, wanted, "{prompt}");
    }
}

#[test]
fn what_small_models_say_is_read_alike_while_it_streams() {
    for said in said() {
        let mut reader = ObjectReader::default();
        for c in said.raw.chars() {
            reader.push(c.encode_utf8(&mut [0; 4]));
        }
        assert_eq!(reader.finish(), extract(&said.raw), "{}", said.raw);
    }
}

#[tokio::test]
async fn sch_57_garbage_ends_in_a_typed_error_with_the_whole_story() {
    let garbage: Vec<_> = said()
        .into_iter()
        .filter(|said| said.class == "no_json")
        .collect();
    let model = Scripted::new(garbage.iter().map(|said| said.raw.as_str()));
    let contract = Contract::<Verdict>::new("decision");
    let ask = Ask::json("now", &contract).rejections(garbage.len().try_into().unwrap());
    let request = fugato_llm::ChatRequest::new([fugato_state::Message::user("What now?")]);
    let asked = ask.run(&model, request).await;
    let story = asked.expect_err("there is no decision in it").rejected;
    assert!(
        story
            .iter()
            .all(|rejected| rejected.class == RejectedClass::NotJson)
    );
    let raw: Vec<_> = story.into_iter().map(|rejected| rejected.raw).collect();
    let expected: Vec<_> = garbage.into_iter().map(|said| said.raw).collect();
    assert_eq!(raw, expected);
}
