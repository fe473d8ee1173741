//! Summaries replace long conversations and long work, or leave them unchanged.
use std::sync::Arc;

use expect_test::expect;
use fugato::{
    agent::memory::{CompactionStatistics, compactions},
    llm::{ChatRequest, ModelError, ModelErrorKind},
    prompt::{EstimatedTokens, TokenCount as _},
    state::{Compaction, ConversationUpdate, Message, ToolCall},
    stream::EventKind,
    trace::RunTrace,
};
use fugato_testkit::{Scripted, ScriptedReply as Said, assert_contains, consent::WorldStore};
use scheduler::{
    agent::{CompactedHistory, Request, Update},
    calendar::Lang,
};
use serde_json::{Value, json};

use crate::common::{
    FIRST, Talk, Turn, card, deps, ends, look, place, plan, strict, task, told, week,
};

const SUMMARY: &str = "The person revises in the morning.";

fn says(said: &Value) -> Said {
    Said::text(said.to_string())
}

/// Returns the answers that lead to a plan, and these after them.
fn planned(then: impl IntoIterator<Item = Said>) -> Vec<Said> {
    let begin = [says(&task()), says(&plan(["Place it"]))];
    begin.into_iter().chain(then).collect()
}

fn closed() -> Said {
    Said::error(ModelError::new(ModelErrorKind::Unavailable, "closed"))
}

fn stage(store: &Arc<WorldStore>, script: impl IntoIterator<Item = Said>) -> Talk {
    let model = Scripted::new(script);
    let deps = deps(week()).mind(strict(model.clone()));
    Talk::over(store.clone(), &deps, model, 30)
}

/// Returns four turns of 12,000 tokens each: more than half of the limit of a prompt.
fn turns() -> Vec<Message> {
    let turn = |n: usize| {
        [
            Message::user(format!("turn {n}: {}", "word ".repeat(9_600))),
            Message::assistant(format!("answer {n}")),
        ]
    };
    (0..4).flat_map(turn).collect()
}

/// Returns twelve looks of 4,000 tokens each.
fn looks() -> Vec<Message> {
    let look = |n: usize| {
        let call = ToolCall::new(format!("c{n}"), "get_overview", json!({}));
        [
            Message::assistant("").with_tool_calls([call]),
            Message::tool(
                format!("c{n}"),
                format!("look {n}: {}", "seen ".repeat(3_200)),
            ),
        ]
    };
    (0..12).flat_map(look).collect()
}

/// Asks for something after all this.
async fn ask(stage: &Talk, before: &[Message], request: Request) -> Turn {
    let said = |message: &Message| Update::Talked(ConversationUpdate::Said(message.clone()));
    let requested = stage.service().input(request.classes([1]));
    let input: Vec<_> = before.iter().map(said).chain([requested]).collect();
    stage.start(input).await
}

fn request() -> Request {
    Request::new("Place it")
}

/// Returns the model requests of the stages with this name.
fn asked(stage: &Talk, name: &str) -> Vec<ChatRequest> {
    let mut asked = stage.model.requests();
    asked.retain(|request| request.metadata["stage"] == name);
    asked
}

/// Returns the statistics from the log.
async fn statistics(stage: &Talk) -> Vec<CompactionStatistics> {
    let runs = RunTrace::read(&stage.runner(), stage.thread())
        .await
        .unwrap();
    let tasks = runs.iter().flat_map(|run| &run.tasks);
    tasks.flat_map(|task| compactions(&task.notes)).collect()
}

/// Returns the statuses of the compaction that a person sees.
fn statuses(scene: &Turn) -> Vec<(&str, &str)> {
    let told = scene.events.iter().filter_map(|event| match &event.kind {
        EventKind::Status { code, summary } if code.starts_with("context_compact") => {
            Some((&**code, &**summary))
        }
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn sch_116_a_long_conversation_is_summed_up_once_and_for_good() {
    let store = Arc::new(WorldStore::in_memory());
    let script = planned([]);
    let first = stage(&store, script);
    ask(&first, &turns(), request()).await;
    assert_eq!(first.state().await.compacted, CompactedHistory::default());
    first.model.push(Said::text(SUMMARY));
    first.says(&place(FIRST, 1, 3));
    let wanted = first.approve().await;

    let compacted = wanted.state().compacted.clone();
    let done = &compacted.conversation;
    assert_eq!((&*done.summary, done.upto), (SUMMARY, 6));
    assert_eq!(wanted.state().conversation.history[..8], turns());
    let statuses = ["executing", "context_compact_start", "context_compact_done"];
    assert_eq!(wanted.statuses()[1..4], statuses);
    let [compact] = &asked(&first, "compact")[..] else {
        panic!("one summary is asked for");
    };
    assert_eq!(compact.sampling.max_tokens, Some(4_000));
    let [only] = &statistics(&first).await[..] else {
        panic!("one summary is kept in the log");
    };
    let told = (&*only.part, only.upto, &only.failure);
    assert_eq!(told, ("conversation", 6, &None));
    assert!(only.tokens_before > 36_000 && only.tokens_after < 20);

    // Another process continues the thread.
    let second = stage(&store, [says(&ends("done")), says(&json!("Done."))]);
    let scene = second.approve().await;
    assert_eq!(scene.state().compacted, compacted);
    assert!(asked(&second, "compact").is_empty());
    let shown = asked(&second, "execute").remove(0).messages;
    let said = &shown[1].content;
    assert!(said.contains(SUMMARY) && said.contains("turn 3:") && said.contains("Place it"));
    assert!(!said.contains("turn 2:"));
    assert!(EstimatedTokens.messages(&shown) < 40_000);
}

/// The summary is in the prompt of the very round in which it was made.
#[tokio::test]
async fn sch_39_a_summary_is_made_before_anybody_decides() {
    let script = planned([Said::text(SUMMARY), says(&place(FIRST, 1, 3))]);
    let stage = stage(&Arc::new(WorldStore::in_memory()), script);
    ask(&stage, &turns(), request()).await;
    stage.approve().await;
    let requests = stage.model.requests();
    let stages: Vec<_> = requests
        .iter()
        .map(|request| &*request.metadata["stage"])
        .collect();
    assert_eq!(stages, ["chat", "plan", "compact", "execute"]);
    assert!(told(&requests[3]).contains(SUMMARY));
}

/// The work is long, and the conversation is not.
#[tokio::test]
async fn sch_116_long_work_is_summed_up_by_itself() {
    let store = Arc::new(WorldStore::in_memory());
    let script = planned([
        Said::text(SUMMARY),
        says(&place(FIRST, 1, 3)),
        says(&ends("done")),
        says(&json!("Done.")),
    ]);
    let stage = stage(&store, script);
    let scene = ask(&stage, &looks(), request().always_execute()).await;
    scene.result();
    let shown = asked(&stage, "execute").remove(0);
    let [_, said, work, _] = &shown.messages[..] else {
        panic!("a prompt has four messages");
    };
    assert!(!said.content.contains(SUMMARY));
    assert!(work.content.contains(SUMMARY) && work.content.contains("look 11:"));
    assert!(!work.content.contains("look 0:"), "{}", told(&shown));
    let parts: Vec<_> = statistics(&stage)
        .await
        .into_iter()
        .map(|one| one.part)
        .collect();
    assert_eq!(parts, ["work"]);
    assert_eq!(scene.state().compacted.conversation, Compaction::default());
}

#[tokio::test]
async fn sch_116_a_failure_leaves_the_text_and_is_not_tried_for_ever() {
    let store = Arc::new(WorldStore::in_memory());
    let script = planned([
        closed(),
        says(&look("get_overview", json!({}))),
        closed(),
        says(&look("list_tasks", json!({}))),
        says(&ends("done")),
        says(&json!("Done.")),
    ]);
    let stage = stage(&store, script);
    let scene = ask(&stage, &turns(), request().always_execute()).await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    let failed = CompactedHistory {
        conversation_failures: 2,
        ..CompactedHistory::default()
    };
    assert_eq!(scene.state().compacted, failed);
    assert_eq!(statuses(&scene).len(), 4);
    let failed = statistics(&stage).await;
    assert_eq!(failed.len(), 2);
    for one in failed {
        assert!(one.failure.is_some());
        assert_eq!(one.tokens_after, one.tokens_before);
    }
    let execute = asked(&stage, "execute");
    assert_eq!(execute.len(), 3);
    for request in execute {
        assert_contains(&told(&request), "turn 0:");
    }

    // The next run tries again.
    let then = [
        look("get_overview", json!({})),
        ends("done"),
        json!("Done."),
    ];
    let then = [Said::text(SUMMARY)]
        .into_iter()
        .chain(then.iter().map(says));
    for said in planned(then) {
        stage.model.push(said);
    }
    let scene = ask(&stage, &[], request().always_execute()).await;
    assert_eq!(scene.state().compacted.conversation.summary, SUMMARY);
}

#[tokio::test]
async fn sch_116_its_statuses_are_in_the_language_of_the_person() {
    let told = |lang: Lang| async move {
        let script = planned([Said::text(SUMMARY), says(&place(FIRST, 1, 3))]);
        let stage = stage(&Arc::new(WorldStore::in_memory()), script);
        ask(&stage, &turns(), request().in_lang(lang)).await;
        let scene = stage.approve().await;
        let told = statuses(&scene).into_iter();
        let told = told.map(|(code, summary)| format!("{code}: {summary}"));
        told.collect::<Vec<_>>().join("\n")
    };
    expect![[r"
        context_compact_start: summing up what came before
        context_compact_done: what came before was summed up
        context_compact_start: 正在整理先前的内容
        context_compact_done: 先前的内容整理完毕"]]
    .assert_eq(&[told(Lang::En).await, told(Lang::Zh).await].join("\n"));
}

#[tokio::test]
async fn sch_116_nothing_is_summed_up_without_a_model_or_need() {
    let store = Arc::new(WorldStore::in_memory());
    let ruled = Talk::over(store, &deps(week()), Scripted::new([""; 0]), 30);
    let request_by_rule = Request::new("Plan my week").always_execute();
    let scene = ask(&ruled, &turns(), request_by_rule).await;
    assert!(scene.state().run.rounds.used > 0, "{:?}", scene.statuses());
    assert_eq!(statuses(&scene), []);
    assert_eq!(scene.state().compacted, CompactedHistory::default());

    let short = stage(
        &Arc::new(WorldStore::in_memory()),
        [task(), plan(["Place it"]), place(FIRST, 1, 3)]
            .iter()
            .map(says),
    );
    // Three of the four turns have less than half of the tokens.
    ask(&short, &turns()[..6], request()).await;
    let scene = short.approve().await;
    assert_eq!(card(&scene).kind, "confirm");
    assert_eq!(statuses(&scene), []);
}
