//! Tests of the legacy path: it gives the same answers, it takes over, and it can be chosen.
use std::{collections::BTreeSet, sync::atomic::Ordering};

use fugato::trace::RunTrace;
use fugato_testkit::{Scripted, assert_contains};
use serde_json::{Value, json};
use steward::{
    graph,
    state::{RequestKind, Runtime},
};

use crate::common::{
    CLAIM, StewardFixture, TRIP, TestResult, agreed, asked, asked_fields, assert_written, call,
    requested, thread, trip,
};

#[test]
fn stw_7_the_switch_has_three_words() -> TestResult {
    for (word, runtime) in [
        ("graph", Runtime::Graph),
        ("langgraph", Runtime::Graph),
        ("", Runtime::Graph),
        ("legacy", Runtime::Legacy),
    ] {
        assert_eq!(word.parse::<Runtime>()?, runtime);
    }
    let unknown = "banana".parse::<Runtime>().unwrap_err();
    assert_contains(
        &unknown.to_string(),
        "allowed are graph, langgraph and legacy",
    );
    Ok(())
}

/// No node and no checkpoint of the graphs is on the legacy path, and it works without them.
#[tokio::test]
async fn stw_7_the_legacy_path_has_nodes_and_checkpoints_of_its_own() -> TestResult {
    let stage = StewardFixture::new().await;
    let deps = stage.clerk.deps();
    #[expect(deprecated, reason = "it is compared with what replaces it")]
    let legacy = steward::legacy::legacy(deps)?;
    let names = |graph: &fugato::Graph<steward::state::Steward>| {
        let names = graph.node_names().map(|name| name.to_string());
        names.collect::<BTreeSet<String>>()
    };
    let (own, target) = (names(&legacy), names(&graph::target(deps)?));
    let shared: Vec<_> = own.intersection(&target).collect();
    assert_eq!(shared, [""; 0]);
    let shared: Vec<_> = own
        .intersection(&names(&graph::action(deps)?))
        .cloned()
        .collect();
    assert_eq!(shared, [""; 0]);
    let source = include_str!("../../src/legacy.rs");
    assert!(!source.contains("crate::graph") && !source.contains("graph::{action"));

    // The graphs are unplugged: there is a runner of the legacy path, and no other.
    let runner = fugato::Runner::new(legacy, stage.store.clone());
    let asks = runner
        .start(&thread(), requested(asked(RequestKind::Chat, TRIP)))
        .await?;
    let card = asks.interrupts().first().ok_or("a card is open")?;
    let digest = card.question.digest.clone().ok_or("it has a digest")?;
    let yes = fugato::Answers::none().approving(
        card.id.clone(),
        steward::CardReply::approve(),
        digest,
    )?;
    let done = runner.resume(&thread(), yes).await?;
    assert_eq!(
        done.state()
            .action_result
            .as_ref()
            .map(|it| it.outcome.as_str()),
        Some("succeeded")
    );
    assert_eq!(stage.documents().await.applications.len(), 1);
    Ok(())
}

/// Returns an answer without the parts that depend on the path.
fn same(mut answer: Value) -> Value {
    for told in ["runtime", "conversation_id", "client_trace_id"] {
        answer.as_object_mut().unwrap().remove(told);
    }
    answer["steward_state"].take();
    // Interrupts are named by their position in the log.
    answer["pending_interrupt"] = answer["pending_interrupt"]["prompt"].take();
    answer
}

#[tokio::test]
async fn stw_t14_12_both_paths_say_the_same() {
    let turns: [&[&str]; 8] = [
        &[TRIP],
        &[CLAIM],
        &[
            "申请出差去上海拜访客户",
            "3月2日到3月5日",
            "火车，预算1200元",
            "确认",
        ],
        &["今天天气怎么样？"],
        &["出差费用1200元", "报销"],
        &[
            "Reimburse my taxi 86.50 yuan from February 20",
            "receipt.pdf",
        ],
        &[
            "申请出差存草稿：3月2日到3月5日去上海拜访客户，坐火车，预算1200元",
            "预算1500元",
        ],
        &["关联 R-1 到 A-1"],
    ];
    for kind in [
        RequestKind::Chat,
        RequestKind::Plan,
        RequestKind::Decide,
        RequestKind::Slots { form: None },
    ] {
        for messages in turns {
            let (graph, legacy) = (StewardFixture::new().await, StewardFixture::legacy().await);
            for (nth, message) in messages.iter().enumerate() {
                let kind = if nth == 0 {
                    RequestKind::Chat
                } else {
                    kind.clone()
                };
                let request = || asked(kind.clone(), message);
                let (one, other) = (graph.ask(request()).await, legacy.ask(request()).await);
                match (one, other) {
                    (Ok(one), Ok(other)) => {
                        assert_eq!(same(one), same(other), "{kind:?} {message}");
                    }
                    (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
                    (one, other) => panic!("{kind:?} {message}: {one:?} {other:?}"),
                }
            }
        }
    }
}

#[tokio::test]
async fn stw_t14_both_paths_say_the_same_with_a_model() {
    let fields = json!({ "off_topic": false, "tasks": [{ "form": "application", "fields": { "destination": "上海" } }] });
    let more = json!({ "decision": "supplement", "fields": { "transport": "car" } });
    let script = || {
        Scripted::new([
            call("plan_expense_tasks", fields.clone()),
            call("decide_next", more.clone()),
        ])
    };
    let (graph, legacy) = (
        StewardFixture::with(Some(script()), Runtime::Graph).await,
        StewardFixture::with(Some(script()), Runtime::Legacy).await,
    );
    for (kind, message) in [
        (RequestKind::Plan, "上海走一趟"),
        (RequestKind::Decide, "自己过去的话就这样吧，谢谢"),
    ] {
        let (one, other) = (
            graph.says(kind.clone(), message).await,
            legacy.says(kind, message).await,
        );
        let timeless = |answer: Value| {
            let mut answer = same(answer);
            for trace in answer["model_call_traces"].as_array_mut().unwrap() {
                trace["attempts"].take();
            }
            answer
        };
        assert_eq!(one["planning_source"], "llm_function_call", "{one}");
        assert_eq!(timeless(one), timeless(other));
    }
}

#[tokio::test]
async fn stw_t1_t2_the_graph_is_the_default_and_legacy_can_be_chosen() {
    let stage = StewardFixture::new().await;
    assert_eq!(stage.plan(TRIP).await["runtime"], "graph");
    let legacy = StewardFixture::legacy().await;
    let waits = legacy.chat(TRIP).await;
    assert_eq!(waits["runtime"], "legacy");
    assert_written(&legacy.agree().await, "A-1");
    // No node of the graphs that understand was there.
    let runs = RunTrace::read(legacy.clerk.runner(), &thread())
        .await
        .unwrap();
    let mut tasks = runs[0].tasks.iter();
    assert!(tasks.all(|task| !task.node().contains("detect_model_intent")));
}

#[tokio::test]
async fn stw_w6_one_request_can_choose_before_all_do() {
    let stage = StewardFixture::new().await;
    let request = asked(RequestKind::Plan, TRIP);
    let legacy = stage
        .clerk
        .on(Runtime::Legacy, &thread())
        .request(&request)
        .await
        .unwrap();
    assert_eq!(legacy["runtime"], "legacy");
    let graph = stage.plan(CLAIM).await;
    assert_eq!(graph["runtime"], "graph");
    assert_eq!(graph["tasks"][0]["form"], "reimbursement");
}

#[tokio::test]
async fn stw_t12_a_graph_that_breaks_is_stood_in_for_and_the_reason_is_kept() {
    let stage = StewardFixture::new().await;
    stage.books.panics.store(1, Ordering::SeqCst);
    let request = asked(RequestKind::Chat, TRIP).trace("r1");
    let answer = stage.ask(request.clone()).await.unwrap();
    assert_eq!(answer["runtime"], "legacy", "{answer}");
    assert_contains(&answer["fallback_reason"], "没有模型");
    let reason = stage.state().await.fallback_reason.clone();
    assert!(reason.is_some());
    assert_eq!(asked_fields(&answer), &trip());
    assert_written(&stage.agree().await, "A-1");
    assert_eq!(stage.documents().await.applications.len(), 1);
    // A repeat of the request at which the graph failed gets the answer of the legacy path.
    let again = stage.ask(request).await.unwrap();
    assert_eq!(again["action_result"]["data"]["document"], "A-1", "{again}");
    assert_eq!(stage.tried(), 1);
}

#[tokio::test]
async fn stw_t12_t10_after_a_write_whose_answer_was_lost_nothing_is_written_twice() {
    let stage = StewardFixture::new().await;
    stage.precheck("p1", &trip()).await;
    let waits = stage.does("s1", "submit_application", trip()).await;
    // All tries of the graph lose the answer, and the legacy path asks again.
    stage.books.lose.store(3, Ordering::SeqCst);
    let asks = stage
        .execute("s1", "submit_application", trip(), agreed(&waits))
        .await;
    assert_eq!(stage.documents().await.applications.len(), 1);
    let asks = asks.unwrap();
    let done = if asks["outcome"] == "needs_confirmation" {
        stage.agree().await
    } else {
        asks
    };
    assert_written(&done, "A-1");
    let tried = stage.books.tried.lock().unwrap().clone();
    let keys: BTreeSet<_> = tried.iter().map(|(key, ..)| key).collect();
    assert_eq!(keys.len(), 1);
    assert_eq!(stage.documents().await.applications.len(), 1);
}

/// The reason why a request was on the legacy path is in the log of its conversation.
#[tokio::test]
async fn stw_7_the_log_tells_the_reason_of_a_rollback() -> TestResult {
    let reasons = async |stage: &StewardFixture| {
        let history = stage.clerk.runner().history(&thread(), 1, 10_000).await?;
        let facts = history
            .iter()
            .map(|entry| json!(entry.stored()).to_string());
        let told = facts.collect::<Vec<_>>().join("\n");
        Ok::<_, fugato::BoxError>((told, stage.state().await.rollback.clone()))
    };
    let stage = StewardFixture::new().await;
    stage.chat(TRIP).await;
    assert_eq!(reasons(&stage).await?.1, None);
    let stage = StewardFixture::new().await;
    stage.books.panics.store(1, Ordering::SeqCst);
    stage.chat(TRIP).await;
    let (told, reason) = reasons(&stage).await?;
    assert_contains(&told, "fell_back");
    assert_contains(&reason.unwrap_or_default(), "the program is wrong here");
    let stage = StewardFixture::legacy().await;
    stage.chat(TRIP).await;
    let (told, reason) = reasons(&stage).await?;
    assert_contains(&told, "rolled_back");
    assert_contains(&reason.unwrap_or_default(), "STEWARD_AGENT_RUNTIME");
    Ok(())
}
