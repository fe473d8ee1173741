//! A summary takes the place of older messages, or everything stays as it is.
use std::sync::Arc;

use fugato_agent::memory::{
    Compact, CompactLayers, Compactable, CompactionInput, CompactionStatistics, LayeredMemory,
    compactions,
};
use fugato_graph::{END, Graph, Node, Runner};
use fugato_llm::{ModelError, ModelErrorKind};
use fugato_memory::{
    Compaction, CompactionPolicy, CompactionUpdate, DialogueTurn, History, HistoryUpdate, Speaker,
    TaskState, TaskUpdate, Trigger,
};
use fugato_state::{Message, State, ThreadId, ToolCall};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_trace::RunTrace;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Talk {
    history: Vec<Message>,
    said: Compaction,
    work: Compaction,
}

#[derive(Debug, Serialize, Deserialize)]
enum Change {
    Said(Vec<Message>),
    Compacted(String, CompactionUpdate),
}

impl State for Talk {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Said(messages) => self.history.extend(messages),
            Change::Compacted(part, update) if part == "work" => self.work.apply(update),
            Change::Compacted(_, update) => self.said.apply(update),
        }
    }
}

/// Returns the policies: above forty tokens all turns but the last are summarised, and all steps
/// but the last two.
fn policies() -> &'static [CompactionPolicy; 2] {
    static POLICIES: std::sync::LazyLock<[CompactionPolicy; 2]> = std::sync::LazyLock::new(|| {
        let when = || {
            CompactionPolicy::default()
                .when(Trigger::Tokens(40))
                .most_characters(60)
        };
        [when().keep_recent(1), when().by_steps().keep_recent(2)]
    });
    &POLICIES
}

impl Compactable for Talk {
    fn compacting(&self) -> Vec<CompactionInput<'_>> {
        let [turns, steps] = policies();
        let part = |part, done, policy: &CompactionPolicy| CompactionInput {
            part,
            history: &self.history,
            done,
            policy: policy.clone(),
            beginning: "making room",
            over: "there is room again",
            failed: "there is no more room than before",
        };
        if self.history.iter().any(|said| !said.tool_calls.is_empty()) {
            vec![part("work", &self.work, steps)]
        } else {
            vec![part("said", &self.said, turns)]
        }
    }

    fn compacted(part: &str, update: CompactionUpdate) -> Change {
        Change::Compacted(part.to_owned(), update)
    }
}

fn long(text: &str) -> String {
    text.repeat(20)
}

fn turns(count: usize) -> Vec<Message> {
    let turn = |n| {
        [
            Message::user(long("ask ")),
            Message::assistant(format!("answer {n}")),
        ]
    };
    (0..count).flat_map(turn).collect()
}

fn graph<S: State + Default>(node: impl Node<S> + 'static) -> Graph<S> {
    let graph = Graph::<S>::starting_at("compact")
        .node("compact", node)
        .edge("compact", END);
    graph.build().expect("the graph is sound")
}

struct Ran {
    state: Talk,
    codes: Vec<String>,
    summaries: Vec<String>,
    statistics: Vec<CompactionStatistics>,
}

async fn run(model: &Scripted, said: Vec<Message>) -> Ran {
    compacted(Compact::new(Arc::new(model.clone())), said).await
}

async fn compacted(compact: Compact, said: Vec<Message>) -> Ran {
    let runner = Runner::new(graph::<Talk>(compact), Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let mut events = runner.start(&thread, Change::Said(said));
    let (mut codes, mut summaries) = (vec![], vec![]);
    while let Some(event) = events.next().await {
        if let EventKind::Status { code, summary } = event.kind {
            codes.push(code);
            summaries.push(summary);
        }
    }
    let state = (*events.await.expect("it ends").state()).clone();
    let runs = RunTrace::read(&runner, &thread)
        .await
        .expect("the log can be read");
    let statistics = runs
        .iter()
        .flat_map(|run| &run.tasks)
        .flat_map(|task| compactions(&task.notes))
        .collect();
    Ran {
        state,
        codes,
        summaries,
        statistics,
    }
}

#[tokio::test]
async fn sch_116_older_turns_become_a_summary_and_a_watermark() {
    let model = Scripted::new(["They asked twice."]);
    let said = turns(3);
    let ran = run(&model, said.clone()).await;
    let (summary, recent) = ran.state.said.view(&ran.state.history);
    assert_eq!((summary, recent), ("They asked twice.", &said[4..]));
    assert_eq!(ran.state.history, said, "the originals stay");
    assert_eq!(ran.codes, ["context_compact_start", "context_compact_done"]);
    let told: Vec<_> = ran
        .statistics
        .iter()
        .map(|one| (&*one.part, one.upto, one.tokens_after, &one.failure))
        .collect();
    assert_eq!(told, [("said", 4, 5, &None)]);
    assert!(
        ran.statistics
            .iter()
            .all(|one| one.tokens_before > one.tokens_after)
    );
    let request = model.requests().remove(0);
    assert_eq!(request.sampling.max_tokens, Some(4_000));
}

#[tokio::test]
async fn sch_116_what_is_short_enough_is_left_alone() {
    let ran = run(&Scripted::new([""; 0]), turns(1)).await;
    assert_eq!(
        (ran.state.said, ran.codes.len(), ran.statistics.len()),
        (Compaction::default(), 0, 0)
    );
}

#[tokio::test]
async fn sch_116_a_failure_leaves_everything_as_it_is() {
    let broken = ScriptedReply::error(ModelError::new(ModelErrorKind::Unavailable, "closed"));
    for model in [
        Scripted::new([broken]),
        // The first summary is too long, and the second one empty.
        Scripted::new([ScriptedReply::text(long("word ")), ScriptedReply::text("")]),
    ] {
        let said = turns(3);
        let ran = run(&model, said.clone()).await;
        assert_eq!(
            ran.state,
            Talk {
                history: said,
                ..Talk::default()
            }
        );
        assert_eq!(ran.codes, ["context_compact_start", "context_compact_done"]);
        let nothing = ["making room", "there is no more room than before"];
        assert_eq!(
            ran.summaries, nothing,
            "no summary is told of that there is not"
        );
        assert!(ran.statistics.iter().all(|one| one.failure.is_some()));
        assert_eq!((ran.statistics.len(), model.left()), (1, 0));
    }
}

#[tokio::test]
async fn trn_4_a_rule_makes_a_summary_where_no_model_does() {
    let broken = ScriptedReply::error(ModelError::new(ModelErrorKind::Unavailable, "closed"));
    let model = Scripted::new([broken]);
    let mut said = turns(3);
    said.insert(1, Message::user("Remember that I am allergic to nuts."));
    let all = std::iter::repeat_n(Message::user("hello"), 60).collect();
    for (compact, said, summary, failed) in [
        (
            Compact::by_rule(0.9),
            said.clone(),
            "Remember that I am allergic to nuts.",
            false,
        ),
        (Compact::by_rule(0.9), all, "…", false),
        (
            Compact::new(Arc::new(model)).or_by_rule(0.9),
            said,
            "Remember that I am allergic to nuts.",
            true,
        ),
    ] {
        let ran = compacted(compact, said).await;
        assert_eq!(ran.state.said.summary, summary);
        let told = ran
            .statistics
            .iter()
            .map(|one| (one.by_rule, one.failure.is_some()));
        assert_eq!(told.collect::<Vec<_>>(), [(true, failed)]);
    }
}

/// The model gets the reason why its summary was rejected.
#[tokio::test]
async fn sch_116_an_unusable_summary_is_asked_for_once_more() {
    let model = Scripted::new([
        ScriptedReply::text(long("word ")),
        ScriptedReply::text("Short."),
    ]);
    let ran = run(&model, turns(3)).await;
    assert_eq!(ran.state.said.summary, "Short.");
    let told = model
        .requests()
        .remove(1)
        .messages
        .pop()
        .map(|last| last.content);
    assert!(told.is_some_and(|told| told.contains("at most 60 are allowed")));
}

/// One turn with many calls: the work in it is compacted, and no call loses its result.
#[tokio::test]
async fn sch_116_long_work_within_a_turn_is_compacted_step_by_step() {
    let step = |n: usize| {
        let call = ToolCall::new(format!("c{n}"), "look", json!({}));
        [
            Message::assistant("").with_tool_calls([call]),
            Message::tool(format!("c{n}"), long("seen ")),
        ]
    };
    let mut said = vec![Message::user("look around")];
    said.extend((0..4).flat_map(step));
    let model = Scripted::new(["Two looks."]);
    let ran = run(&model, said.clone()).await;
    let (summary, recent) = ran.state.work.view(&said);
    assert_eq!((summary, recent), ("Two looks.", &said[5..]));
    assert_eq!(ran.state.said, Compaction::default());
}

#[tokio::test]
async fn sch_116_a_later_summary_is_merged_with_the_one_before() {
    let model = Scripted::new(["They asked twice.", "They asked four times."]);
    let compact = Compact::new(Arc::new(model.clone()));
    let runner = Runner::new(graph::<Talk>(compact), Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    for _ in 0..2 {
        runner
            .start(&thread, Change::Said(turns(2)))
            .await
            .expect("it ends");
    }
    let asked = model.requests().pop().expect("it was asked twice").messages;
    assert!(
        asked
            .iter()
            .any(|message| message.content.contains("They asked twice."))
    );
    let state = runner.state(&thread).await.expect("the log can be read");
    let done = state.map(|state| (state.said.summary.clone(), state.said.upto));
    assert_eq!(done, Some(("They asked four times.".into(), 6)));
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Layers {
    history: History,
    task: TaskState,
}

#[derive(Debug, Serialize, Deserialize)]
enum Layer {
    History(HistoryUpdate),
    Task(TaskUpdate),
}

impl State for Layers {
    type Update = Layer;

    fn apply(&mut self, change: Layer) {
        match change {
            Layer::History(update) => self.history.apply(update),
            Layer::Task(update) => self.task.apply(update),
        }
    }
}

impl LayeredMemory for Layers {
    fn history(&self) -> &History {
        &self.history
    }

    fn task(&self) -> &TaskState {
        &self.task
    }

    fn compacted(task: TaskUpdate, history: HistoryUpdate) -> Vec<Layer> {
        vec![Layer::Task(task), Layer::History(history)]
    }
}

async fn layers(model: &Scripted, turns: usize) -> Layers {
    let said = |at: usize| {
        let by = if at.is_multiple_of(2) {
            Speaker::User
        } else {
            Speaker::Assistant
        };
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        let turn = DialogueTurn::new(by, long("a word or more "), at);
        Layer::History(HistoryUpdate::Said(turn))
    };
    let compact = CompactLayers::new(Arc::new(model.clone()));
    let runner = Runner::new(graph::<Layers>(compact), Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let said: Vec<Layer> = (0..turns).map(said).collect();
    let ended = runner.start(&thread, said).await.expect("it ends");
    (*ended.state()).clone()
}

#[tokio::test]
async fn pln_23_older_turns_move_into_what_is_known_of_the_task() {
    let summary = json!({"goal": "sell the house", "facts": ["it has two floors"]}).to_string();
    let model = Scripted::new([ScriptedReply::text(summary)]);
    let after = layers(&model, 16).await;
    assert_eq!(after.task.goal, "sell the house");
    assert_eq!(after.history.turns().len(), 6);
    // The recent turns are not summarised.
    let told = model.requests().remove(0).messages.remove(1).content;
    assert_eq!(
        told.matches("person: ").count() + told.matches("agent: ").count(),
        10
    );
}

#[tokio::test]
async fn pln_t4_neither_layer_changes_if_the_summary_is_of_no_use() {
    let model = Scripted::new(["no", "no", "no"]);
    let after = layers(&model, 16).await;
    assert_eq!(
        (after.history.turns().len(), after.task),
        (16, TaskState::default())
    );
    let few = layers(&Scripted::new([""; 0]), 6).await;
    assert_eq!(few.history.turns().len(), 6);
}
