//! The expense steward with real model servers: aimock, which calls functions as it is told to, and
//! a small model on llama.cpp, which mostly answers garbage.

use std::{sync::Arc, time::Duration};

use fugato::{
    Answers, BoxError, ChatModel, MemoryLog, OpenAi, RunnerOptions, ThreadId,
    graph::ThreadStatus,
    llm::{ApiKey, Fallback, Timeout},
};
use serde_json::{Value, json};
use servers::{Aimock, Llama};
use steward::{
    CardReply, check,
    deps::Deps,
    ledger::{self, Documents, Ledger},
    service::RuleData,
    state::{Request, RequestKind, Runtime},
    steward_service::StewardService,
};

const KEY: &str = "sk-steward-0123456789";
/// What is asked for, with everything that is required.
const DRAFT: &str = "帮我保存一个出差申请草稿：3月2日到3月5日去上海拜访客户，坐火车，预算1200元";
/// How long a server may take for one answer.
const PATIENCE: Duration = Duration::from_secs(10);

fn fields() -> Value {
    json!({
        "reason": "拜访客户", "start_date": "2026-03-02", "end_date": "2026-03-05",
        "destination": "上海", "transport": "train", "estimated_amount": 1200,
    })
}

/// A server that plans what is asked for by calling the function.
fn fixtures() -> String {
    let task =
        json!({ "form": "application", "goal": "draft", "fields": fields(), "confidence": 0.9 });
    let plan = json!({ "off_topic": false, "tasks": [task] });
    let call = json!({ "name": "plan_expense_tasks", "arguments": plan.to_string() });
    json!({ "fixtures": [{ "match": { "userMessage": "草稿" }, "response": { "toolCalls": [call] } }] })
        .to_string()
}

fn client(url: &str, name: &str) -> Timeout<OpenAi> {
    Timeout::new(OpenAi::new(url, name).key(ApiKey::new(KEY))).total(PATIENCE)
}

/// A conversation that saves a draft, up to the card, then over it; what is written at the end.
async fn saves_a_draft(model: Arc<dyn ChatModel>) -> Result<(Value, Documents), BoxError> {
    let tables: Arc<dyn Ledger> = ledger::open(":memory:").await?;
    let deps = Deps::new(&RuleData::load()?, tables.clone(), Some(model));
    let store = Arc::new(MemoryLog::default());
    let clerk = StewardService::new(&deps, &store, &RunnerOptions::default(), Runtime::Graph)?;
    let thread = ThreadId::new("draft")?;
    let request = Request::new(RequestKind::Chat, "draft", "ann").on("2026-02-25");
    let answer = clerk.request(&thread, request.message(DRAFT)).await?;
    assert_eq!(tables.documents("ann").await?, Documents::default());
    if let ThreadStatus::Waiting(open) = clerk.runner().status(&thread).await? {
        let asked = open.into_iter().next().ok_or("a card is open")?;
        let digest = asked.question.digest.ok_or("it says what is shown")?;
        let answers = Answers::none().approving(asked.id, CardReply::approve(), digest)?;
        clerk.runner().resume(&thread, answers).await?;
    }
    Ok((answer, tables.documents("ann").await?))
}

#[tokio::test]
async fn stw_w2_a_model_server_plans_by_calling_the_function() -> Result<(), BoxError> {
    let Some(server) = Aimock::start(&fixtures()) else {
        return Ok(());
    };
    let (answer, documents) = saves_a_draft(Arc::new(client(server.url(), "main"))).await?;
    assert_eq!(answer["planning_source"], "llm_function_call", "{answer}");
    let [draft] = &documents.applications[..] else {
        return Err(format!("one draft is written: {documents:?}").into());
    };
    assert_eq!(
        json!([draft.status, draft.fields]),
        json!(["draft", fields()])
    );
    Ok(())
}

#[tokio::test]
async fn stw_w2_30_a_backup_answers_for_a_server_that_is_not_there() -> Result<(), BoxError> {
    let Some(server) = Aimock::start(&fixtures()) else {
        return Ok(());
    };
    // Nobody listens on the port of a server that has ended.
    let gone = Aimock::start(&fixtures()).ok_or("it was there before")?;
    let url = gone.url().to_owned();
    drop(gone);
    let chain = Fallback::new(client(&url, "main")).or(client(server.url(), "backup"));
    let lines = check::lines(&check::models(Some(Arc::new(chain))).await?).join("\n");
    for told in [
        "llm_function_call",
        "backup_succeeded",
        "main unreachable",
        "backup answered",
    ] {
        assert!(lines.contains(told), "{told}: {lines}");
    }
    Ok(())
}

#[tokio::test]
async fn stw_t20_a_small_model_degrades_and_the_draft_is_saved_all_the_same() -> Result<(), BoxError>
{
    let Some(server) = Llama::start(KEY) else {
        return Ok(());
    };
    let (answer, documents) = saves_a_draft(Arc::new(client(server.url(), "small"))).await?;
    let traces = answer["model_call_traces"].as_array().ok_or("traces")?;
    assert!(!traces.is_empty(), "{answer}");
    println!("a small model: {} {traces:?}", answer["planning_source"]);
    // Whatever it came to is told; where it came to nothing, the rules have saved the draft.
    if answer["planning_source"] == "rule" {
        assert!(answer["fallback_reason"].is_string(), "{answer}");
        let [draft] = &documents.applications[..] else {
            return Err(format!("one draft is written: {documents:?}").into());
        };
        let mut kept = fields();
        // The rules read the currency from the message, too.
        kept["currency"] = json!("CNY");
        assert_eq!(json!(draft.fields), kept);
    }
    Ok(())
}
