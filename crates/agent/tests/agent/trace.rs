//! Every model call is in the log of the thread, with its chain of attempts.
use std::{sync::Arc, time::Duration};

use fugato_agent::trace::{ModelCall, RecordedModel, model_calls, recorded};
use fugato_graph::{BoxError, Context, END, Graph, Runner};
use fugato_llm::{
    ChatModel, ChatModelExt as _, ChatRequest, Fallback, ModelError, ModelErrorKind, Usage,
};
use fugato_state::{Message, State, ThreadId, ToolCall};
use fugato_store::MemoryLog;
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_trace::RunTrace;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Transcript(String);

#[derive(Debug, Serialize, Deserialize)]
struct Say(String);

impl State for Transcript {
    type Update = Say;

    fn apply(&mut self, Say(text): Say) {
        self.0 = text;
    }
}

fn graph(model: Arc<dyn ChatModel>) -> Graph<Transcript> {
    let think = move |_: Context<Transcript>| {
        let model = model.clone();
        async move {
            let request = ChatRequest::new([Message::user("Hello?")]).metadata("stage", "think");
            let answer = model.complete(request).await?;
            Ok::<_, BoxError>(Say(answer.message.content))
        }
    };
    // A closure becomes a node before it is decorated.
    Graph::<Transcript>::starting_at("think")
        .node("think", recorded(fugato_graph::IntoNode::into_node(think)))
        .edge("think", END)
        .build()
        .expect("the graph is sound")
}

async fn run(model: impl ChatModel + 'static) -> Vec<RunTrace> {
    let runner = Runner::new(graph(Arc::new(model)), Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let ended = runner.start(&thread, Say("go".into())).await;
    drop(ended);
    RunTrace::read(&runner, &thread)
        .await
        .expect("the log can be read")
}

fn busy() -> ScriptedReply {
    ScriptedReply::error(ModelError::new(ModelErrorKind::RateLimited, "later"))
}

fn calls(runs: &[RunTrace]) -> Vec<ModelCall> {
    let tasks = runs.iter().flat_map(|run| &run.tasks);
    tasks.flat_map(|task| model_calls(&task.notes)).collect()
}

fn lines(runs: &[RunTrace]) -> Vec<String> {
    calls(runs).iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn l16_the_log_keeps_the_chain_of_attempts_of_every_call() {
    let main = Scripted::new([busy().after(Duration::from_millis(120))]).named("main");
    let answer = ScriptedReply::text("Hi").after(Duration::from_millis(80));
    let backup = Scripted::new([answer]).named("backup");
    let runs = run(RecordedModel::new(Fallback::new(main).or(backup))).await;
    assert_eq!(
        lines(&runs),
        ["think: main 120 ms rate_limited, backup 80 ms"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_without_decorators_has_one_attempt_and_its_cost() {
    let usage = Usage::default();
    let runs = run(RecordedModel::new(Scripted::new([ScriptedReply::text(
        "Hi",
    )
    .usage(usage)])))
    .await;
    assert_eq!(lines(&runs), ["think: scripted 0 ms"]);
    assert_eq!(
        calls(&runs).first().map(|call| call.usage),
        Some(Some(usage))
    );
}

#[tokio::test(start_paused = true)]
async fn l16_the_words_of_a_call_are_kept_as_far_as_one_wants() {
    let runs =
        run(RecordedModel::new(Scripted::new([ScriptedReply::text("好的, gladly")])).keeping(11))
            .await;
    let [call] = &calls(&runs)[..] else {
        panic!("{runs:?}")
    };
    assert_eq!(
        (&*call.prompt, &*call.answer),
        ("er: Hello?\n", "好的, gla")
    );
    let wanted = ToolCall::new("c1", "look", json!({ "at": 3 }));
    let runs =
        run(RecordedModel::new(Scripted::new([ScriptedReply::tool_calls([wanted])])).keeping(100))
            .await;
    let [call] = &calls(&runs)[..] else {
        panic!("{runs:?}")
    };
    assert_eq!(call.prompt, "user: Hello?\n");
    assert_eq!(call.answer, "\n→ look {\"at\":3}");
}

/// A failed task has no notes, so its error names the models that it called.
#[tokio::test(start_paused = true)]
async fn a_failed_task_tells_whom_it_had_asked() {
    let main = Scripted::new([busy()]).named("main");
    let backup = Scripted::new([busy()]).named("backup");
    let runs = run(RecordedModel::new(Fallback::new(main).or(backup))).await;
    let attempts = runs
        .iter()
        .flat_map(|run| &run.tasks)
        .flat_map(|task| &task.attempts);
    let errors: Vec<_> = attempts
        .filter_map(|attempt| attempt.error.as_deref())
        .collect();
    let [error] = errors[..] else {
        panic!("{errors:?}");
    };
    assert!(
        error.contains("it had asked think: main 0 ms rate_limited, backup 0 ms rate_limited")
            && error.contains("later"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_nobody_watches_is_not_kept() {
    let runs = run(Scripted::new([ScriptedReply::text("Hi")])).await;
    assert_eq!(lines(&runs), [""; 0]);
}

#[tokio::test]
async fn outside_of_a_node_a_watched_model_is_as_it_was() {
    let model = RecordedModel::new(Scripted::new([ScriptedReply::text("Hi")]));
    let answer = model
        .complete(ChatRequest::new([Message::user("Hello?")]))
        .await;
    let answer = answer.expect("there is a reply");
    assert_eq!(answer.message.content, "Hi");
}
