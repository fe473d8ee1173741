//! Defects of other engines, each by its name in `docs/requirements.md`: here they cannot happen.
use std::{
    collections::BTreeMap,
    error::Error,
    future::{Ready, ready},
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
};

use fugato::{
    Answers, BoxError, Context, END, Ended, Graph, MemoryLog, Node, Outcome, Question, Runner,
    State, ThreadId,
    graph::{AnswerError, GraphBuilder, RunErrorKind},
};
use serde::{Deserialize, Serialize};

type Tested = Result<(), Box<dyn Error>>;

/// What was done, in the order in which it was folded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Trail(Vec<String>);

impl State for Trail {
    type Update = String;

    fn apply(&mut self, update: String) {
        self.0.push(update);
    }
}

fn says(word: &'static str) -> impl Fn(Context<Trail>) -> Ready<String> {
    move |_| ready(word.to_owned())
}

fn starting_at(start: &str) -> GraphBuilder<Trail> {
    Graph::<Trail>::starting_at(start)
}

fn over_memory(graph: Graph<Trail>) -> Runner<Trail> {
    Runner::new(graph, Arc::new(MemoryLog::default()))
}

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

fn counted(
    count: &Arc<AtomicU32>,
    word: &'static str,
) -> impl Fn(Context<Trail>) -> Ready<String> + use<> {
    let count = count.clone();
    move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        ready(word.to_owned())
    }
}

#[tokio::test]
async fn d1_a_router_that_failed_is_asked_again_and_what_follows_runs() -> Tested {
    let (ran, asked) = (Arc::new(AtomicU32::new(0)), AtomicU32::new(0));
    let graph = starting_at("write")
        .node("write", counted(&ran, "written"))
        .node("after", says("after"))
        .branch("write", ["after"], move |_| {
            let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
            if first { "nowhere" } else { "after" }
        })
        .edge("after", END)
        .build()?;
    let runner = over_memory(graph);
    assert!(runner.start(&thread(), ()).await.is_err());
    let ended = runner.retry(&thread()).await?;
    assert_eq!(ended.state().0, ["written", "after"]);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    Ok(())
}

#[tokio::test]
async fn d3_an_answer_reaches_the_question_that_it_names_and_no_other() -> Tested {
    let graph = starting_at("delete")
        .pause(
            "delete",
            |_| "delete?",
            |_, yes: bool| format!("delete {yes}"),
        )
        .pause("send", |_| "send?", |_, yes: bool| format!("send {yes}"))
        .edge("delete", "send")
        .edge("send", END)
        .build()?;
    let runner = over_memory(graph);
    let first = runner.start(&thread(), ()).await?.interrupts()[0]
        .id
        .clone();
    let second = runner
        .resume(&thread(), Answers::to(first.clone(), false)?)
        .await?;
    let refused = runner.resume(&thread(), Answers::to(first, true)?).await;
    let kind = refused.expect_err("the question was answered").kind;
    assert!(matches!(
        kind,
        RunErrorKind::Answer(AnswerError::Unknown { .. })
    ));
    let open = second.interrupts()[0].id.clone();
    let ended = runner.resume(&thread(), Answers::to(open, true)?).await?;
    assert_eq!(ended.state().0, ["delete false", "send true"]);
    Ok(())
}

#[tokio::test]
async fn d4_wrong_answers_are_typed_errors_and_change_nothing() -> Tested {
    let graph = starting_at("ask")
        .node("ask", Asking)
        .edge("ask", END)
        .build()?;
    let runner = over_memory(graph);
    runner.start(&thread(), ()).await?;
    let before = runner.history(&thread(), 1, 100).await?.len();
    let wrong = [
        Answers::only(())?,
        Answers::only(BTreeMap::<String, bool>::new())?,
        Answers::only(true)?,
        Answers::to("nobody-asked", true)?,
        Answers::none(),
    ];
    for answers in wrong {
        assert!(
            runner.resume(&thread(), answers.clone()).await.is_err(),
            "{answers:?}"
        );
    }
    assert_eq!(runner.history(&thread(), 1, 100).await?.len(), before);
    Ok(())
}

/// Asks two questions at once.
struct Asking;

#[async_trait::async_trait]
impl Node<Trail> for Asking {
    async fn run(&self, cx: Context<Trail>) -> Result<Outcome<String>, BoxError> {
        match (cx.answer::<bool>("a")?, cx.answer::<bool>("b")?) {
            (Some(a), Some(b)) => Ok(Outcome::done([format!("a {a}, b {b}")])),
            _ => Ok(Outcome::Ask {
                memo: None,
                questions: ["a", "b"].map(|key| Question::new::<bool>(key, key)).into(),
            }),
        }
    }
}

#[tokio::test]
async fn d5_two_questions_of_one_task_have_two_ids() -> Tested {
    let graph = starting_at("ask")
        .node("ask", Asking)
        .edge("ask", END)
        .build()?;
    let runner = over_memory(graph);
    let parked = runner.start(&thread(), ()).await?;
    let [a, b] = parked.interrupts() else {
        return Err("two questions are open".into());
    };
    assert_ne!(a.id, b.id);
    let answers = Answers::to(b.id.clone(), false)?.and(a.id.clone(), true)?;
    let ended = runner.resume(&thread(), answers).await?;
    assert_eq!(ended.state().0, ["a true, b false"]);
    Ok(())
}

#[tokio::test]
async fn d6_what_came_before_a_question_does_not_run_again() -> Tested {
    let ran = Arc::new(AtomicU32::new(0));
    let graph = starting_at("before")
        .node("before", counted(&ran, "before"))
        .pause("one", |_| 1, |_, yes: bool| format!("one {yes}"))
        .pause("two", |_| 2, |_, yes: bool| format!("two {yes}"))
        .edge("before", "one")
        .edge("one", "two")
        .edge("two", END)
        .build()?;
    let runner = over_memory(graph);
    runner.start(&thread(), ()).await?;
    runner.resume(&thread(), Answers::only(true)?).await?;
    let ended = runner.resume(&thread(), Answers::only(false)?).await?;
    assert_eq!(ended.state().0, ["before", "one true", "two false"]);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    Ok(())
}

#[tokio::test]
async fn d7_a_thread_that_waits_in_a_renamed_node_is_refused_by_name() -> Tested {
    let graph = |name: &str| {
        let ask = |_: &Trail| "well?";
        let graph = starting_at(name).pause(name, ask, |_, yes: bool| yes.to_string());
        graph.edge(name, END).build()
    };
    let log = Arc::new(MemoryLog::default());
    Runner::new(graph("old")?, log.clone())
        .start(&thread(), ())
        .await?;
    let renamed = Runner::new(graph("new")?, log.clone());
    let refused = renamed.resume(&thread(), Answers::only(true)?).await;
    let kind = refused.expect_err("the node is gone").kind;
    let RunErrorKind::GraphChanged { gone } = kind else {
        return Err(format!("{kind:?}").into());
    };
    assert!(gone.iter().any(|what| what.contains("old")), "{gone:?}");
    let again = Runner::new(graph("old")?, log)
        .resume(&thread(), Answers::only(true)?)
        .await?;
    assert_eq!(again.state().0, ["true"]);
    Ok(())
}

#[tokio::test]
async fn d8_a_route_to_nowhere_is_an_error_that_names_it() -> Tested {
    let graph = starting_at("a")
        .node("a", says("a"))
        .branch("a", ["a", END], |_| "misspelt");
    let failed = over_memory(graph.build()?).start(&thread(), ()).await;
    let expected = RunErrorKind::UndeclaredTarget {
        node: "a".into(),
        target: "misspelt".into(),
        declared: vec!["a".into(), END.into()],
    };
    assert_eq!(failed.expect_err("there is no such node").kind, expected);
    Ok(())
}

#[tokio::test]
async fn d9_where_ways_meet_a_node_runs_once() -> Tested {
    let diamond = || {
        let graph = starting_at("a")
            .node("a", says("a"))
            .node("b", says("b"))
            .node("c", says("c"));
        graph
            .node("d", says("d"))
            .edge("a", "b")
            .edge("a", "c")
            .edge("d", END)
    };
    let graphs = [
        diamond().edge("b", "d").edge("c", "d"),
        diamond().join(["b", "c"], "d"),
    ];
    for graph in graphs {
        let ended = over_memory(graph.build()?).start(&thread(), ()).await?;
        assert_eq!(ended.state().0, ["a", "b", "c", "d"]);
    }
    Ok(())
}

#[tokio::test]
async fn d10_a_copy_that_a_node_changes_reaches_nobody() -> Tested {
    let meddler = async |cx: Context<Trail>| {
        let mut copy = cx.state().clone();
        copy.0.push("unrecorded".into());
        copy.0.len().to_string()
    };
    let sibling = async |cx: Context<Trail>| cx.state().0.len().to_string();
    let graph = starting_at("a")
        .node("a", says("a"))
        .node("meddler", meddler)
        .node("sibling", sibling)
        .edge("a", "meddler")
        .edge("a", "sibling")
        .edge("meddler", END)
        .edge("sibling", END)
        .build()?;
    let ended = over_memory(graph).start(&thread(), ()).await?;
    assert_eq!(ended.state().0, ["a", "2", "1"]);
    Ok(())
}

/// Values that lose their type where they are stored by a name or as a guess.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Typed {
    pair: (u8, String),
    nested: Option<Nested>,
    large: u64,
    half: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Nested {
    Within { deep: Box<Option<Nested>> },
}

impl State for Typed {
    type Update = Self;

    fn apply(&mut self, update: Self) {
        *self = update;
    }
}

#[tokio::test]
async fn d11_values_keep_their_types_at_rest() -> Tested {
    let graph = || {
        let graph = Graph::<Typed>::starting_at("ask").edge("ask", END);
        graph
            .pause("ask", |_| "well?", |_, (): ()| None::<Typed>)
            .build()
    };
    let log = Arc::new(MemoryLog::default());
    let wanted = Typed {
        pair: (7, "seven".into()),
        nested: Some(Nested::Within {
            deep: Box::new(Some(Nested::Within {
                deep: Box::default(),
            })),
        }),
        large: u64::MAX,
        half: 2.0,
    };
    Runner::new(graph()?, log.clone())
        .start(&thread(), wanted.clone())
        .await?;
    let opened = Runner::new(graph()?, log);
    assert_eq!(
        *opened.resume(&thread(), Answers::only(())?).await?.state(),
        wanted
    );
    Ok(())
}

/// A graph whose `b` fails the first time, beside `a`, which does not.
fn failing_once(ran: &Arc<AtomicU32>) -> GraphBuilder<Trail> {
    let tries = Arc::new(AtomicU32::new(0));
    let fails = move |_: Context<Trail>| {
        let first = tries.fetch_add(1, Ordering::Relaxed) == 0;
        ready(if first {
            Err("not yet")
        } else {
            Ok("b".to_owned())
        })
    };
    let graph = starting_at("start")
        .node("start", says("start"))
        .node("a", counted(ran, "a"));
    let graph = graph.node("b", fails).edge("start", "a").edge("start", "b");
    graph.edge("a", END).edge("b", END)
}

#[tokio::test]
async fn d14_a_failure_keeps_what_its_siblings_did() -> Tested {
    let ran = Arc::new(AtomicU32::new(0));
    let runner = over_memory(failing_once(&ran).build()?);
    assert!(runner.start(&thread(), ()).await.is_err());
    let ended = runner.retry(&thread()).await?;
    assert_eq!(ended.state().0, ["start", "a", "b"]);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
    Ok(())
}

#[tokio::test]
async fn d16_the_order_of_folding_does_not_depend_on_timing() -> Tested {
    for slow in ["a", "b"] {
        let node = |name: &'static str| {
            move |_: Context<Trail>| async move {
                for _ in 0..if name == slow { 20 } else { 0 } {
                    tokio::task::yield_now().await;
                }
                name.to_owned()
            }
        };
        let graph = starting_at("start").node("start", says("start"));
        let graph = graph.node("a", node("a")).node("b", node("b"));
        let graph = graph
            .edge("start", "a")
            .edge("start", "b")
            .edge("a", END)
            .edge("b", END);
        let ended = over_memory(graph.build()?).start(&thread(), ()).await?;
        assert_eq!(ended.state().0, ["start", "a", "b"], "slow is {slow}");
    }
    Ok(())
}

#[tokio::test]
async fn d17_an_answer_reaches_one_of_those_that_wait() -> Tested {
    let graph = starting_at("start")
        .node("start", says("start"))
        .node("done", says("done"))
        .pause("left", |_| "left", |_, yes: bool| format!("left {yes}"))
        .pause("right", |_| "right", |_, yes: bool| format!("right {yes}"))
        .edge("start", "left")
        .edge("start", "right")
        .edge("start", "done")
        .edge("left", END)
        .edge("right", END)
        .edge("done", END)
        .build()?;
    let runner = over_memory(graph);
    let parked = runner.start(&thread(), ()).await?;
    let right = parked
        .interrupts()
        .iter()
        .find(|asked| asked.question.prompt == "right");
    let right = right.ok_or("the question is open")?.id.clone();
    let parked = runner.resume(&thread(), Answers::to(right, true)?).await?;
    let open: Vec<_> = parked
        .interrupts()
        .iter()
        .map(|asked| &asked.question.prompt)
        .collect();
    assert_eq!(open, ["left"]);
    let ended = runner.resume(&thread(), Answers::only(false)?).await?;
    assert_eq!(
        ended.state().0,
        ["start", "left false", "right true", "done"]
    );
    Ok(())
}

#[tokio::test]
async fn d19_a_gate_is_passed_by_its_answer_each_time() -> Tested {
    let graph = starting_at("gate")
        .pause(
            "gate",
            |trail: &Trail| trail.0.len(),
            |_, yes: bool| yes.to_string(),
        )
        .branch("gate", ["gate", END], |trail| {
            if trail.0.len() < 3 { "gate" } else { END }
        })
        .build()?;
    let runner = over_memory(graph);
    runner.start(&thread(), ()).await?;
    for answered in 1..3 {
        let parked = runner.resume(&thread(), Answers::only(true)?).await?;
        assert_eq!(parked.interrupts()[0].question.prompt, answered);
    }
    let ended = runner.resume(&thread(), Answers::only(true)?).await?;
    assert_eq!(
        ended,
        Ended::Finished {
            state: Arc::new(Trail(vec!["true".into(); 3])),
            output: None
        }
    );
    Ok(())
}

#[tokio::test]
async fn d20_a_clock_that_goes_back_does_not_bring_back_the_past() -> Tested {
    let clock = Arc::new(AtomicI64::new(1_000_000));
    let hands = clock.clone();
    let log = Arc::new(MemoryLog::with_clock(move || hands.load(Ordering::Relaxed)));
    let graph = || starting_at("a").node("a", says("a")).edge("a", END).build();
    Runner::new(graph()?, log.clone())
        .start(&thread(), "first".to_owned())
        .await?;
    clock.store(10, Ordering::Relaxed);
    Runner::new(graph()?, log.clone())
        .start(&thread(), "second".to_owned())
        .await?;
    let latest = Runner::new(graph()?, log)
        .state(&thread())
        .await?
        .ok_or("the thread exists")?;
    assert_eq!(latest.0, ["first", "a", "second", "a"]);
    Ok(())
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Counter(u32);

impl State for Counter {
    type Update = u32;

    fn apply(&mut self, by: u32) {
        self.0 += by;
    }
}

#[tokio::test]
async fn d23_a_hundred_thousand_rounds_need_no_deeper_stack() -> Tested {
    const ROUNDS: u32 = 100_000;
    let graph = Graph::<Counter>::starting_at("again")
        .node("again", async |_: Context<Counter>| 1)
        .branch("again", ["again", END], |counter| {
            if counter.0 < ROUNDS { "again" } else { END }
        })
        .build()?;
    let runner = Runner::ephemeral(graph).step_limit(u64::from(ROUNDS) + 1);
    assert_eq!(runner.run(()).await?.state().0, ROUNDS);
    Ok(())
}

/// Turns every failure of a node into a remark, as wrappers of tools like to do.
struct CatchAll<N>(N);

#[async_trait::async_trait]
impl<N: Node<Trail>> Node<Trail> for CatchAll<N> {
    async fn run(&self, cx: Context<Trail>) -> Result<Outcome<String>, BoxError> {
        let outcome = self.0.run(cx).await;
        Ok(outcome.unwrap_or_else(|error| Outcome::done([format!("caught {error}")])))
    }
}

#[tokio::test]
async fn d25_a_question_passes_whatever_catches_errors() -> Tested {
    let graph = starting_at("ask")
        .node("ask", CatchAll(Asking))
        .edge("ask", END)
        .build()?;
    let parked = over_memory(graph).start(&thread(), ()).await?;
    assert_eq!(parked.interrupts().len(), 2);
    Ok(())
}
