//! Plans: rejection before anything is executed, and the values of references.
use fugato::state::{State as _, ToolStatus};
use fugato_testkit::assert_contains;
use serde_json::{Map, Value, json};
use transparent::{
    agent::{AgentState, Move, Request, TurnState, Update},
    intent::{Intent, IntentKind, Params},
    plan::{TurnStep, contract, filled},
};

fn tools() -> Vec<String> {
    ["list_files", "read_file"].map(str::to_owned).into()
}

fn read(steps: &Value) -> Result<Vec<TurnStep>, String> {
    let said = json!({ "steps": steps }).to_string();
    let read = contract(&tools()).read(&said);
    read.map(|plan| plan.steps).map_err(|why| why.correction())
}

/// Returns a turn in which one file was found.
fn turn() -> TurnState {
    let params = Params {
        keywords: vec!["项目".into(), "计划书".into()],
        ..Params::default()
    };
    let mut agent = AgentState::default();
    let listed = json!({ "files": [{ "path": "Documents/plan_v1.md" }] });
    for update in [
        Update::Asked(Request::new("找计划书")),
        Update::Understood(Intent::new(IntentKind::Search, 0.7, params)),
        Update::Moved {
            thought: String::new(),
            next: Move::Call {
                name: "list_files".into(),
                params: Map::new(),
            },
            step: None,
        },
        Update::Called {
            status: ToolStatus::Ok,
            text: "- Documents/plan_v1.md".into(),
            told: None,
            data: listed,
            repairable: false,
        },
    ] {
        agent.apply(update);
    }
    agent.turn
}

#[test]
fn trn_5_a_plan_searches_first_and_its_parameters_are_templates() {
    let steps = json!([
        { "type": "rag", "query": "{{query}}" },
        { "type": "tool", "name": "list_files", "params": { "pattern": "计划书" } },
        { "type": "tool", "name": "read_file", "params": { "path": "{{selected_path}}" } },
    ]);
    let steps = read(&steps).unwrap();
    let filled = steps.iter().map(|step| filled(step, &turn()).unwrap());
    let filled: Vec<TurnStep> = filled.collect();
    assert_eq!(filled[0].query, "项目 计划书");
    assert_eq!(filled[1], steps[1]);
    assert_eq!(
        json!(filled[2].params),
        json!({ "path": "Documents/plan_v1.md" })
    );
}

#[test]
fn trn_w7_references_are_checked_before_anything_is_executed() {
    let reads =
        |path: &str| json!({ "type": "tool", "name": "read_file", "params": { "path": path } });
    let sings = json!({ "type": "tool", "name": "sing" });
    let guesses = json!({ "type": "rag", "query": "x", "action": "guess" });
    let nothing = json!({ "type": "rag", "query": "" });
    for (step, told) in [
        (reads("{{the_path}}"), "{{the_path}} is not known"),
        (reads("{{selected_path}}"), "search or list first"),
        (sings, "there is no tool \"sing\""),
        (nothing, "it says what to look for"),
        (guesses, "or left out"),
    ] {
        assert_contains(&read(&json!([step])).unwrap_err(), told);
    }
    assert!(read(&json!([])).is_err());
    // A reference without a value stops the step, and nothing is called.
    let step = TurnStep::tool("read_file", json!({ "path": "{{selected_path}}" }));
    let missing = filled(&step, &TurnState::default()).unwrap_err();
    let expected = "read_file needs {{selected_path}}, and no step before it has found that";
    assert_eq!(missing.to_string(), expected);
}

#[test]
fn trn_w7_a_reference_that_is_a_whole_value_keeps_its_type() {
    let params = json!({ "words": "{{keywords}}", "text": "about {{ keywords }}", "n": 3 });
    let filled = filled(&TurnStep::tool("t", params), &turn()).unwrap();
    let expected = json!({ "words": ["项目", "计划书"], "text": "about 项目 计划书", "n": 3 });
    assert_eq!(Value::Object(filled.params), expected);
}

#[test]
fn trn_c2_a_search_needs_no_action() {
    let plain = read(&json!([{ "type": "rag", "query": "x" }]));
    let named = read(&json!([{ "type": "rag", "query": "x", "action": "hybrid_search" }]));
    assert_eq!(plain, named);
    assert_eq!(plain.unwrap(), [TurnStep::rag("x")]);
}

#[test]
fn trn_c4_a_step_may_have_keywords() {
    for step in [
        json!({ "type": "rag", "keywords": ["项目", "计划书"] }),
        json!({ "type": "rag", "query": ["项目", "计划书"], "name": null }),
    ] {
        let read = read(&json!([step])).unwrap();
        assert_eq!(read, [TurnStep::rag("项目 计划书")]);
    }
}
