//! Tests of the requests to models, and of their failures.
use std::{sync::Arc, time::Duration};

use fugato::{
    ChatModel,
    llm::{Fallback, ModelError, ModelErrorKind, Retry, Timeout},
};
use fugato_testkit::{Scripted, ScriptedReply as Said, assert_contains};
use serde_json::{Value, json};
use steward::{check, state::RequestKind};
use tokio::time::Instant;

use crate::common::{StewardFixture, TRIP, TestResult, call, trip};

const PLAN: &str = "plan_expense_tasks";

fn planned(goal: &str) -> Value {
    json!({ "off_topic": false, "tasks": [{ "form": "application", "goal": goal, "fields": trip(), "confidence": 0.95 }] })
}

/// Returns a plan with another value of a field.
fn planned_with(field: &str, value: &str) -> Value {
    let mut plan = planned("submit");
    plan["tasks"][0]["fields"][field] = json!(value);
    plan
}

fn down() -> ModelError {
    ModelError::new(ModelErrorKind::Unavailable, "maintenance")
}

/// A model behind the limits that a program sets.
fn limited(model: Scripted) -> Timeout<Scripted> {
    Timeout::new(model).total(Duration::from_secs(10))
}

#[tokio::test]
async fn stw_t13_w2_a_model_that_calls_the_function_plans() {
    let model = Scripted::new([call(PLAN, planned("draft"))]);
    let stage = StewardFixture::modelled(model.clone()).await;
    let plan = stage.plan("帮我把下周的出差存个草稿").await;
    assert_eq!(plan["planning_source"], "llm_function_call", "{plan}");
    assert_eq!(plan["tasks"][0]["goal"], "draft");
    assert_eq!(plan["tasks"][0]["fields"], trip());
    assert_eq!(plan["fallback_reason"], Value::Null);
    assert_eq!(plan["model_call_traces"][0]["outcome"], "main_succeeded");
    let steps = plan["action_steps"].as_array().unwrap();
    assert_eq!(steps.last().unwrap()["action"], "save_application_draft");
    // One question is enough: the words are not read again for the slots.
    let asked = &model.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].timeout, Some(Duration::from_secs(10)));
    assert_eq!(asked[0].attempts, Some(3));
}

#[tokio::test(start_paused = true)]
async fn stw_t4_30_the_backup_is_asked_at_once_when_the_main_model_hangs() {
    let main = Scripted::new([Said::hang()]).named("main");
    let backup = Scripted::new([call(PLAN, planned("submit"))]).named("backup");
    let chain = Fallback::new(limited(main)).or(limited(backup));
    let stage = StewardFixture::modelled(chain).await;
    let begin = Instant::now();
    let plan = stage.plan(TRIP).await;
    assert_eq!(plan["planning_source"], "llm_function_call", "{plan}");
    let trace = &plan["model_call_traces"][0];
    assert_eq!(trace["outcome"], "backup_succeeded");
    let tried = trace["attempts"].as_array().unwrap().iter();
    let tried: Vec<_> = tried.map(|it| it["model"].clone()).collect();
    assert_eq!(tried, ["main", "backup"]);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(11), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn stw_11_c5_three_attempts_over_the_chain_and_then_the_rules() {
    let [main, backup] =
        ["main", "backup"].map(|name| Scripted::new([down(), down(), down()]).named(name));
    let chain = Retry::new(Fallback::new(main.clone()).or(backup.clone())).attempts(9);
    let plan = StewardFixture::modelled(chain).await.plan(TRIP).await;
    assert_eq!(plan["planning_source"], "rule");
    assert_eq!(plan["tasks"][0]["fields"], trip());
    assert_eq!(plan["model_call_traces"][0]["outcome"], "all_failed");
    assert_contains(&plan["fallback_reason"], "maintenance");
    assert_eq!(main.requests().len() + backup.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn stw_11_a_model_that_hangs_for_ever_does_not_hang_the_steward() {
    let stage = StewardFixture::modelled(Scripted::new([Said::hang()])).await;
    let begin = Instant::now();
    let plan = stage.plan(TRIP).await;
    assert_eq!(plan["planning_source"], "rule");
    let took = begin.elapsed();
    assert!(took <= Duration::from_secs(31), "{took:?}");
}

#[tokio::test]
async fn a_call_that_does_not_fit_is_corrected_and_counted() {
    let wrong = || call(PLAN, planned_with("transport", "rocket"));
    let model = Scripted::new([wrong(), call(PLAN, planned("submit"))]);
    let stage = StewardFixture::modelled(model.clone()).await;
    let plan = stage.plan(TRIP).await;
    assert_eq!(plan["planning_source"], "llm_function_call");
    let outcomes = plan["model_call_traces"].as_array().unwrap().iter();
    let outcomes: Vec<_> = outcomes.map(|it| it["outcome"].clone()).collect();
    assert_eq!(outcomes, ["rejected", "main_succeeded"]);
    let told = model.requests()[1].messages.last().unwrap().content.clone();
    assert_contains(&told, ["rocket", "train, plane"]);

    let stubborn = Scripted::new([wrong(), wrong(), wrong()]);
    let stage = StewardFixture::modelled(stubborn.clone()).await;
    assert_eq!(stage.plan(TRIP).await["planning_source"], "rule");
    assert_eq!(stubborn.requests().len(), 3);
}

#[tokio::test]
async fn stw_t20_31_w1_a_foreign_call_is_traced_and_degrades() {
    // It can be read: the plan says in which form it came.
    let written = format!(
        "<tool_call>{}</tool_call>",
        json!({ "name": PLAN, "arguments": planned("submit") })
    );
    let stage = StewardFixture::modelled(Scripted::new([written.as_str()])).await;
    let plan = stage.plan(TRIP).await;
    assert_eq!(plan["planning_source"], "llm_text_call", "{plan}");
    assert_eq!(plan["model_call_traces"][0]["outcome"], "foreign_format");
    assert_eq!(plan["tasks"][0]["fields"], trip());

    // It cannot: the rules plan, at once, and the trace says why.
    for foreign in [
        "<function=plan_expense_tasks><parameter=tasks>…</parameter></function>",
        "[TOOL_CALLS] plan_expense_tasks(trip)",
        "<invoke name=\"plan_expense_tasks\"></invoke>",
    ] {
        let model = Scripted::new([foreign]);
        let stage = StewardFixture::modelled(model.clone()).await;
        let plan = stage.plan(TRIP).await;
        assert_eq!(plan["planning_source"], "rule", "{plan}");
        assert_eq!(plan["model_call_traces"][0]["outcome"], "foreign_format");
        assert_contains(&plan["fallback_reason"], "调用形式");
        assert_eq!(plan["tasks"][0]["fields"], trip());
        assert_eq!(model.requests().len(), 1);
    }
}

#[tokio::test]
async fn stw_t19_a_model_that_pollutes_the_reason_is_cleaned() {
    let polluted = planned_with("reason", "拜访客户交通火车");
    let stage = StewardFixture::modelled(Scripted::new([call(PLAN, polluted)])).await;
    let plan = stage.plan(TRIP).await;
    assert_eq!(plan["tasks"][0]["fields"]["reason"], "拜访客户");
}

#[tokio::test]
async fn stw_t16_what_is_certain_is_decided_before_a_model_is_asked() {
    let model = Scripted::new([call(PLAN, planned("submit"))]);
    let stage = StewardFixture::modelled(model.clone()).await;
    stage.plan(TRIP).await;
    for (words, decision) in [
        ("好的", "confirm"),
        ("预算1500元", "supplement"),
        ("取消", "cancel"),
    ] {
        let decided = stage.says(RequestKind::Decide, words).await;
        assert_eq!(decided["runtime_decision"]["decision"], decision);
        assert_eq!(decided["planning_source"], "rule");
    }
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn stw_33_what_a_model_takes_for_a_consent_is_none() -> TestResult {
    let model = Scripted::new([
        call(PLAN, planned("submit")),
        call("decide_next", json!({ "decision": "confirm" })),
    ]);
    let stage = StewardFixture::modelled(model).await;
    stage.chat(TRIP).await;
    let again = stage.chat("嗯那就这么着呗").await;
    assert_ne!(again["pending_interrupt"], Value::Null, "{again}");
    assert_eq!(stage.tried(), 0);
    stage.agree().await;
    assert_eq!(stage.tried(), 1);
    Ok(())
}

#[tokio::test]
async fn a_model_decides_where_rules_cannot() {
    let more = json!({ "decision": "supplement", "fields": { "estimated_amount": 900 } });
    let model = Scripted::new([call(PLAN, planned("submit")), call("decide_next", more)]);
    let stage = StewardFixture::modelled(model).await;
    stage.plan(TRIP).await;
    let decided = stage.says(RequestKind::Decide, "便宜点，九百吧").await;
    assert_eq!(decided["planning_source"], "llm_function_call", "{decided}");
    let fields = &decided["steward_state"]["tasks"][0]["fields"];
    assert_eq!(fields["estimated_amount"], 900);
}

#[tokio::test]
async fn stw_29_no_model_names_a_step_and_none_sees_a_key() {
    let mut wrong = planned("submit");
    wrong["tasks"][0]["action_steps"] = json!([{ "action": "submit_application" }]);
    let model = Scripted::new([call(PLAN, wrong)]);
    let stage = StewardFixture::modelled(model.clone()).await;
    let plan = stage.plan(TRIP).await;
    let steps = plan["action_steps"].as_array().map(Vec::len);
    assert_eq!(steps, Some(5), "{plan}");
    assert_eq!(plan["pending_interrupt"], Value::Null);
}

#[tokio::test]
async fn stw_w2_a_command_tells_who_answers() -> TestResult {
    let main = Scripted::new([down()]).named("main");
    let backup = Scripted::new([call(PLAN, planned("draft"))]).named("backup");
    let chain: Arc<dyn ChatModel> = Arc::new(Fallback::new(main).or(backup));
    let lines = check::lines(&check::models(Some(chain)).await?).join("\n");
    assert_contains(
        &lines,
        [
            "planning_source=llm_function_call",
            "backup_succeeded",
            "main unavailable",
            "backup answered",
        ],
    );
    let nobody = check::lines(&check::models(None).await?);
    let expected = ["planning_source=rule", "fallback_reason=there is no model"];
    assert_eq!(nobody, expected);
    Ok(())
}
