//! Failed calls: repaired, or honestly reported.
use expect_test::expect;
use fugato_testkit::{assert_contains, assert_starts_with};
use serde_json::{Value, json};

use crate::common::{Home, WISH, finish, order, searches, use_tool};

fn revision(params: &Value) -> String {
    json!({ "thought": "另一个路径", "params": params }).to_string()
}

#[tokio::test]
async fn trn_9_trn_t2_a_failing_call_is_corrected_and_succeeds() {
    let plan = json!({ "steps": [{ "type": "tool", "name": "read_file" }] }).to_string();
    let stage = Home::scripted([
        searches(),
        plan,
        use_tool("read_file", &json!({ "path": "plan.md" })),
        revision(&json!({ "path": "Documents/plan_v1.md" })),
        finish(),
        "第一周调研，第二周原型。".to_owned(),
    ]);
    let scene = stage.say(WISH).await;
    // TRN-W1: the note has old and new arguments and the cause, and the new ones are executed.
    let expected = json!({
        "call": "c1", "name": "read_file", "attempt": 1, "old": { "path": "plan.md" },
        "new": { "path": "Documents/plan_v1.md" }, "thought": "另一个路径",
        "cause": "没有 \"plan.md\"；list_files 会列出有什么",
    });
    assert_eq!(scene.custom("correction"), [expected]);
    expect!["user_input, task_analysis, planning, thinking, tool_call read_file, tool_result failed, correction, tool_call read_file, tool_result ok, thinking, final_answer"].assert_eq(&order(&scene).join(", "));
    let uses = stage.state().await.turn.uses;
    let made = uses.iter().map(|made| {
        let is_read = made.text.contains("调研");
        (&*made.call.id, made.attempt, is_read)
    });
    let expected = [("c1", 1, false), ("c1.2", 2, true)];
    assert_eq!(made.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn trn_9_trn_t2_rules_mend_calls_too() {
    let stage = Home::by_rule();
    let scene = stage.say("find the proposal in ~/Docs/plan_v1.md").await;
    let told = &scene.custom("correction")[0];
    assert_eq!(told["old"]["path"], "~/Docs/plan_v1.md");
    assert_eq!(told["new"]["path"], Value::Null);
    assert_contains(&scene.answer(), "Documents/plan_v1.md");
}

#[tokio::test]
async fn trn_w1_trn_t3_attempts_are_counted_per_call_and_the_answer_is_honest() {
    let plan = json!({ "steps": [{ "type": "tool", "name": "read_file" }] }).to_string();
    let stage = Home::scripted([
        searches(),
        plan.clone(),
        use_tool("read_file", &json!({ "path": "1" })),
        revision(&json!({ "path": "1" })), // the same again is refused
        revision(&json!({ "path": "2" })),
        revision(&json!({ "path": "3" })),
        // Three attempts failed: there is another plan, and a new count for another call.
        plan,
        use_tool("read_file", &json!({ "path": "4" })),
        revision(&json!({ "path": "Documents/plan_v1.md" })),
        finish(),
        "Read at last.".to_owned(),
    ]);
    let scene = stage.say(WISH).await;
    assert_eq!(scene.answer(), "Read at last.");
    let turn = stage.state().await.turn;
    let uses = turn.uses.iter();
    let made: Vec<_> = uses.map(|made| (&*made.call.id, made.attempt)).collect();
    let expected = [("c1", 1), ("c1.2", 2), ("c1.3", 3), ("c2", 1), ("c2.2", 2)];
    assert_eq!(made, expected);
    // A repaired call is no failure; of the others the last attempt is one.
    let failed: Vec<_> = turn.failed().map(|made| made.call.id.as_str()).collect();
    assert_eq!(failed, ["c1.3"]);

    // By rule there is nothing more to try, and the answer names the failure.
    let stage = Home::by_rule();
    let scene = stage.say("read missing.md").await;
    let failed = "I could not do this:\n- reading a file: there is no \"missing.md\"";
    assert_starts_with(&scene.answer(), failed);
    assert_eq!(scene.custom("correction")[0]["new"], Value::Null);
}

#[tokio::test]
async fn trn_w7_a_reference_without_a_value_stops_its_step_and_calls_nothing() {
    let plan = json!({ "steps": [
        { "type": "tool", "name": "list_files", "params": { "pattern": "nothing like this" } },
        { "type": "tool", "name": "read_file", "params": { "path": "{{selected_path}}" } },
    ] })
    .to_string();
    let stage = Home::scripted([
        searches(),
        plan,
        use_tool("list_files", &json!({ "pattern": "nothing like this" })),
        use_tool("read_file", &json!({ "path": "{{selected_path}}" })),
        finish(),
        "There is no such file.".to_owned(),
    ]);
    let scene = stage.say(WISH).await;
    assert_eq!(scene.answer(), "There is no such file.");
    let turn = stage.state().await.turn;
    assert_eq!(turn.uses.len(), 1, "{:?}", turn.uses);
    let skipped = "read_file 需要 {{selected_path}}，而前面没有步骤找到它";
    assert_eq!(turn.skipped, [skipped]);
}
