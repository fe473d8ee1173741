//! Tests of the understanding by rule, and of the course of a conversation.
use std::sync::Arc;

use async_trait::async_trait;
use expect_test::expect;
use fugato::{RunnerOptions, trace::RunTrace};
use fugato_testkit::assert_contains;
use serde_json::{Value, json};
use steward::{
    CardReply,
    deps::Deps,
    form::FormKind,
    graph::{action, planner, runtime, slots, target},
    ledger::{Documents, Ledger, LedgerError, LedgerWrite, Receipt},
    state::{RequestKind, Runtime, Steward},
    steward_service::StewardService,
};

use crate::common::{
    CLAIM, StewardFixture, TRIP, TestResult, asked, asked_fields, assert_written, claim, desk,
    thread, trip,
};

fn names(nodes: impl Iterator<Item = Arc<str>>) -> String {
    nodes.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn stw_1_to_5_the_graphs_have_their_nodes() -> TestResult {
    let stage = StewardFixture::new().await;
    let deps = stage.clerk.deps();
    let nodes = [
        names(planner(deps)?.node_names()),
        names(slots(deps)?.node_names()),
        names(runtime(deps)?.node_names()),
        names(target(deps)?.node_names()),
        names(action(deps)?.node_names()),
    ];
    expect![[r"
        prepare_context detect_model_intent done off_topic rule_fallback attach_action_steps
        slot_prepare_context slot_tool_decision done rule_fallback
        runtime_memory_context runtime_action_decision runtime_tool_decision done rule_fallback
        prepare_context model_intent slot_decision runtime_decision flow_guard action_plan human_review action_execute persist_state response_adapter
        action_checkpoint_load action_execute_node action_checkpoint_persist"]].assert_eq(&nodes.join("\n"));
    Ok(())
}

#[tokio::test]
async fn a_trip_and_a_claim_are_read_in_both_languages() {
    let english_trip = "Please apply for a business trip to Shanghai from March 2 to March 5 for a customer visit, by train, budget 1200 yuan";
    let english_claim = "Reimburse my taxi 86.50 yuan from February 20, receipt.pdf attached";
    let mut trip_en = trip();
    (trip_en["reason"], trip_en["destination"]) = (json!("customer visit"), json!("Shanghai"));
    let mut claim_en = claim();
    (claim_en["reason"], claim_en["attachments"]) = (json!("taxi"), json!(["receipt.pdf"]));
    let cases = [
        (TRIP, "application", "submit", trip()),
        (english_trip, "application", "submit", trip_en),
        (CLAIM, "reimbursement", "draft", claim()),
        (english_claim, "reimbursement", "draft", claim_en),
    ];
    for (message, form, goal, fields) in cases {
        let plan = StewardFixture::new().await.plan(message).await;
        let task = &plan["tasks"][0];
        assert_eq!(task["form"], form, "{message}");
        assert_eq!(task["goal"], goal, "{message}");
        assert_eq!(task["fields"], fields, "{message}");
        assert_eq!(plan["planning_source"], "rule");
        assert_eq!(plan["missing_fields"], json!([]));
    }
}

#[tokio::test]
async fn stw_12_what_is_missing_is_data_of_each_form() {
    let trip = "reason start_date end_date destination transport estimated_amount";
    for (message, missing) in [
        ("申请出差", trip),
        ("报销", "expense_date category amount reason attachments"),
        ("关联 R-1", "application"),
        ("attach receipt.pdf", "reimbursement"),
        (CLAIM, ""),
    ] {
        let plan = StewardFixture::new().await.plan(message).await;
        let missing: Vec<_> = missing.split_whitespace().collect();
        for told in [&plan, &plan["tasks"][0]] {
            assert_eq!(told["missing_fields"], json!(missing), "{message}");
        }
    }
}

#[tokio::test]
async fn stw_8_the_state_survives_a_round_trip() -> TestResult {
    let stage = StewardFixture::new().await;
    stage.chat(TRIP).await;
    let kept = stage.state().await;
    let stored = serde_json::to_value(&kept)?;
    assert_eq!(serde_json::from_value::<Steward>(stored.clone())?, kept);
    for field in [
        "request",
        "conversation_id",
        "message",
        "base_date",
        "steward_state",
        "model_call_traces",
        "intent_result",
        "slot_decision",
        "runtime_decision",
        "action_plan",
        "action_result",
        "response",
        "fallback_reason",
    ] {
        assert!(stored.get(field).is_some(), "{field}");
    }
    // Every field may be missing: an older state opens.
    let old: Steward = serde_json::from_value(json!({}))?;
    assert_eq!(old, Steward::default());
    Ok(())
}

#[tokio::test]
async fn stw_10_preparing_cleans_and_writes_nothing() {
    let stage = StewardFixture::new().await;
    let plan = stage.plan("  申请\u{0} 出差  \n\n 去上海 ").await;
    let kept = stage.state().await;
    assert_eq!(kept.message, "申请 出差\n去上海");
    assert_eq!(kept.base_date, "2026-02-25");
    assert_eq!(plan["pending_interrupt"], Value::Null);
    assert_eq!(stage.tried(), 0);
}

#[tokio::test]
async fn stw_t3_without_a_model_the_rules_plan_and_say_why() {
    let plan = StewardFixture::new().await.plan(TRIP).await;
    assert_eq!(plan["planning_source"], "rule");
    assert_eq!(plan["fallback_reason"], "没有模型");
    assert_eq!(plan["model_call_traces"], json!([]));
}

#[tokio::test]
async fn stw_14_what_is_about_something_else_has_no_tasks() {
    let stage = StewardFixture::new().await;
    let plan = stage.chat("今天天气怎么样？").await;
    assert_eq!(plan["off_topic"], true);
    assert_eq!(plan["tasks"], json!([]));
    assert_contains(&plan["reply"], "出差");
}

#[tokio::test]
async fn stw_14_doubt_and_conflicts_never_go_on() {
    let stage = StewardFixture::new().await;
    // A trip or a claim?
    let unsure = stage
        .chat("3月2日到3月5日出差上海的费用1200元，坐火车，事由拜访客户")
        .await;
    assert_eq!(unsure["flow"]["verdict"], "confirm", "{unsure}");
    assert_eq!(unsure["pending_interrupt"], Value::Null);
    let sure = stage.chat("申请").await;
    assert_ne!(sure["pending_interrupt"], Value::Null, "{sure}");
    stage.agree().await;
    assert_eq!(stage.documents().await.applications.len(), 1);

    // The same days again.
    let again = stage
        .chat("申请出差：3月4日到3月8日去北京开会，坐飞机，预算3000元")
        .await;
    assert_eq!(again["flow"]["verdict"], "block", "{again}");
    assert_contains(&again["reply"], "A-1");
    assert_eq!(again["pending_interrupt"], Value::Null);

    // The same claim again.
    stage.chat(CLAIM).await;
    stage.agree().await;
    let twice = stage.chat(CLAIM).await;
    assert_eq!(twice["flow"]["verdict"], "block", "{twice}");
    assert_eq!(stage.documents().await.reimbursements.len(), 1);
    assert_eq!(stage.tried(), 2);
}

#[tokio::test]
async fn stw_t17_where_it_cannot_be_looked_up_nothing_goes_on() {
    let stage = StewardFixture::new().await;
    let deps = Deps::new(&desk(), Arc::new(FailingTable), None);
    let options = RunnerOptions::default();
    let clerk = StewardService::new(&deps, &stage.store, &options, Runtime::Graph).unwrap();
    let request = asked(RequestKind::Chat, TRIP);
    let answer = clerk.request(&thread(), request).await.unwrap();
    assert_eq!(answer["flow"]["verdict"], "block", "{answer}");
    assert_eq!(answer["pending_interrupt"], Value::Null);
    assert_contains(&answer["fallback_reason"], "down");
}

struct FailingTable;

#[async_trait]
impl Ledger for FailingTable {
    async fn documents(&self, _: &str) -> Result<Documents, LedgerError> {
        Err(LedgerError::Unavailable("it is down".into()))
    }

    async fn write(&self, _: &str, _: &LedgerWrite) -> Result<Receipt, LedgerError> {
        Err(LedgerError::Unavailable("it is down".into()))
    }
}

#[tokio::test]
async fn stw_13_words_add_what_is_missing() {
    let stage = StewardFixture::new().await;
    let dates = json!(["start_date", "end_date", "transport", "estimated_amount"]);
    for (words, missing) in [
        ("申请出差去上海拜访客户", dates),
        ("3月2日到3月5日", json!(["transport", "estimated_amount"])),
        ("火车", json!(["estimated_amount"])),
    ] {
        let plan = stage.chat(words).await;
        assert_eq!(plan["missing_fields"], missing, "{plan}");
    }
    let card = stage.chat("预算1200元").await;
    assert_eq!(asked_fields(&card), &trip(), "{card}");
    assert_written(&stage.agree().await, "A-1");
}

#[tokio::test]
async fn stw_13_what_is_said_under_a_card_changes_it_confirms_it_or_cancels_it() {
    let stage = StewardFixture::new().await;
    stage.chat(TRIP).await;
    let changed = stage
        .press(CardReply {
            text: Some("预算1500元".into()),
            ..CardReply::reject()
        })
        .await;
    let amount = &changed["pending_interrupt"]["prompt"]["call"]["arguments"]["estimated_amount"];
    assert_eq!(amount, &json!(1500), "{changed}");

    // Words that no rule understands lead to the same question.
    let again = stage.chat("嗯……这个嘛").await;
    assert_ne!(again["pending_interrupt"], Value::Null, "{again}");
    assert_eq!(stage.tried(), 0);

    let done = stage.chat("确认").await;
    assert_eq!(done["action_result"]["outcome"], "succeeded", "{done}");
    let written = &stage.documents().await.applications[0].fields;
    assert_eq!(written["estimated_amount"], 1500);

    stage.chat(CLAIM).await;
    let cancelled = stage.chat("取消").await;
    let outcome = &cancelled["action_result"]["outcome"];
    assert_eq!(outcome, "cancelled", "{cancelled}");
    assert_eq!(stage.documents().await.reimbursements.len(), 0);
    assert_eq!(stage.tried(), 1);
}

#[tokio::test]
async fn stw_13_the_next_task_comes_when_one_is_done() {
    let stage = StewardFixture::new().await;
    let first = stage.chat(&format!("{TRIP}。{CLAIM}")).await;
    assert_eq!(first["tasks"].as_array().map(Vec::len), Some(2), "{first}");
    let second = stage.agree().await;
    let call = &second["pending_interrupt"]["prompt"]["call"];
    assert_eq!(call["name"], "create_reimbursement_draft", "{second}");
    stage.agree().await;
    let documents = stage.documents().await;
    assert_eq!(documents.applications.len(), 1);
    assert_eq!(documents.reimbursements.len(), 1);
}

#[tokio::test]
async fn stw_t15_supplemented_fields_are_in_the_state_that_is_told() {
    let stage = StewardFixture::new().await;
    stage.plan("申请出差去上海拜访客户，坐火车").await;
    let words = "3月2日到3月5日，预算1200元";
    let decided = stage.says(RequestKind::Decide, words).await;
    assert_eq!(decided["runtime_decision"]["decision"], "supplement");
    assert_eq!(decided["missing_fields"], json!([]));
    let task = &decided["steward_state"]["tasks"][0];
    assert_eq!(task["fields"], trip(), "{decided}");
    assert_eq!(decided["planning_source"], "rule");
}

#[tokio::test]
async fn stw_12_slots_are_judged_for_a_form_that_is_named() {
    let stage = StewardFixture::new().await;
    let kind = RequestKind::Slots {
        form: Some(FormKind::Reimbursement),
    };
    let judged = stage.says(kind, "打车费86.5元").await;
    let judged = &judged["slot_decision"];
    let fields = json!({ "amount": 86.5, "category": "transport", "currency": "CNY" });
    assert_eq!(judged["fields"], fields);
    let missing = json!(["expense_date", "reason", "attachments"]);
    assert_eq!(judged["missing_fields"], missing);
}

#[tokio::test]
async fn stw_23_steps_are_on_each_task_and_on_the_plan() {
    let stage = StewardFixture::new().await;
    let plan = stage.plan(TRIP).await;
    let names = |steps: &Value| -> Vec<String> {
        let steps = steps.as_array().cloned().unwrap_or_default();
        steps
            .iter()
            .filter_map(|step| step["action"].as_str().map(str::to_owned))
            .collect()
    };
    let whole = [
        "fill_application_fields",
        "build_application_preview",
        "validate_required_fields",
        "run_duplicate_precheck",
        "submit_application",
    ];
    assert_eq!(names(&plan["action_steps"]), whole);
    assert_eq!(names(&plan["tasks"][0]["action_steps"]), whole);
    let offered = &plan["tasks"][0]["suggested_actions"][0];
    assert_eq!(offered["step"]["action"], "submit_application");
    assert_eq!(offered["arguments"], trip());
    assert_eq!(offered["step"]["confirmation_required"], true);
}

#[tokio::test]
async fn stw_w5_phases_are_told_in_order() {
    let stage = StewardFixture::new().await;
    let turn = stage.say(TRIP).await;
    let mut phases = turn.statuses();
    phases.dedup();
    let expected = "planning judging_fields executing waiting_for_confirmation";
    assert_eq!(phases.join(" "), expected);
}

#[tokio::test]
async fn stw_w4_w7_the_log_tells_which_nodes_a_request_went_through() -> TestResult {
    let stage = StewardFixture::new().await;
    stage.chat(TRIP).await;
    stage.agree().await;
    let runs = RunTrace::read(stage.clerk.runner(), &thread()).await?;
    let mut nodes: Vec<_> = runs[0]
        .tasks
        .iter()
        .map(|task| task.node().to_owned())
        .collect();
    nodes.dedup();
    for node in [
        "detect_model_intent",
        "rule_fallback",
        "flow_guard",
        "action_plan",
        "human_review",
        "action_execute_node",
        "persist_state",
        "response_adapter",
    ] {
        assert!(nodes.iter().any(|known| known == node), "{node}: {nodes:?}");
    }
    assert!(runs[0].tasks.iter().any(|task| task.took().is_some()));
    Ok(())
}

#[test]
fn stw_20_no_file_of_a_node_is_long() -> TestResult {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for folder in [".", "graph", "action"] {
        for file in std::fs::read_dir(source.join(folder))? {
            let path = file?.path();
            let holds_nodes = folder != "." || path.ends_with("legacy.rs");
            if !holds_nodes {
                continue;
            }
            let lines = std::fs::read_to_string(&path)?.lines().count();
            assert!(lines <= 300, "{} has {lines} lines", path.display());
        }
    }
    Ok(())
}
