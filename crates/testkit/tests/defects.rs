//! Defects of other agent engines, each as a test that shows that it cannot happen here.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use fugato_graph::{
    AnswerError, Answers, Context, END, Ended, Graph, Outcome, RunErrorKind, Runner, RunnerOptions,
};
use fugato_state::{Question, State, ThreadId};
use fugato_store::MemoryLog;
use fugato_testkit::{
    kernel::{Cut, RecordingLog},
    log::Opened,
};
use serde::{Deserialize, Serialize};

/// What was done, and where to go.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Work {
    done: Vec<String>,
    pair: (u8, i64),
    shade: Option<Shade>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shade {
    Plain,
    Mixed { of: (u8, u8), depth: f64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Change {
    Did(String),
    Pair(u8, i64),
    Shade(Shade),
}

impl State for Work {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Did(what) => self.done.push(what),
            Change::Pair(a, b) => self.pair = (a, b),
            Change::Shade(shade) => self.shade = Some(shade),
        }
    }
}

fn did(what: impl Into<String>) -> Change {
    Change::Did(what.into())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Every test runs on the log in memory; what a log could do otherwise is in the kernel's suite,
/// which every log passes.
struct Bench {
    log: RecordingLog,
    now: Arc<AtomicI64>,
    thread: ThreadId,
    opened: Opened,
}

impl Bench {
    fn new() -> Self {
        let now = Arc::new(AtomicI64::new(1_000_000));
        let clock = now.clone();
        let log = MemoryLog::with_clock(move || clock.load(Ordering::SeqCst));
        let opened = Opened::whole(log);
        let log = RecordingLog::over(opened.clone());
        Self {
            log,
            now,
            thread: ThreadId::new("work").unwrap(),
            opened,
        }
    }

    fn runner(&self, graph: &Graph<Work>) -> Runner<Work> {
        Runner::new(graph.clone(), Arc::new(self.log.clone()))
    }

    /// The process died, and another one looks at the same log.
    fn another_process(&mut self) {
        self.now.fetch_add(60_000, Ordering::SeqCst);
        self.log = RecordingLog::over(self.opened.clone());
    }

    async fn head(&self) -> u64 {
        self.opened
            .log
            .head(&self.thread)
            .await
            .unwrap()
            .map_or(0, |head| head.seq)
    }
}

#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A node that does what it is called.
    fn node(
        &self,
        name: &'static str,
    ) -> impl Fn(Context<Work>) -> std::future::Ready<Change> + Send + Sync + 'static {
        let calls = self.clone();
        move |_| {
            calls.note(name);
            std::future::ready(did(name))
        }
    }
}

#[tokio::test]
async fn d1_a_router_that_failed_runs_again_and_so_does_what_follows() {
    let mut bench = Bench::new();
    let calls = Calls::default();
    let graph = |broken: bool| {
        Graph::<Work>::starting_at("a")
            .node("a", calls.node("a"))
            .node("b", calls.node("b"))
            .branch(
                "a",
                ["b"],
                move |_| if broken { Err("typo") } else { Ok("b") },
            )
            .edge("b", END)
            .build()
            .unwrap()
    };
    let failed = bench
        .runner(&graph(true))
        .start(&bench.thread, ())
        .await
        .unwrap_err();
    assert_eq!(failed.kind, RunErrorKind::Router { node: "a".into() });
    bench.another_process();
    let ended = bench
        .runner(&graph(false))
        .retry(&bench.thread)
        .await
        .unwrap();
    assert_eq!(ended.state().done, names(&["a", "b"]));
    assert_eq!(calls.take(), names(&["a", "b"]));
}

#[tokio::test]
async fn d2_of_two_runs_of_one_thread_none_vanishes() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("a")
        .node("a", async |_: Context<Work>| tokio::task::yield_now().await)
        .edge("a", END)
        .build()
        .unwrap();
    let (one, two) = (bench.runner(&graph), bench.runner(&graph));
    let (one, two) = tokio::join!(
        one.start(&bench.thread, did("one")).into_future(),
        two.start(&bench.thread, did("two")).into_future(),
    );
    let (won, lost) = match (one, two) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
        other => panic!("one should be refused: {other:?}"),
    };
    assert!(matches!(lost.kind, RunErrorKind::Busy { .. }), "{lost:?}");
    let stored = bench
        .runner(&graph)
        .state(&bench.thread)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.done, won.state().done);
    assert_eq!(stored.done.len(), 1);
}

#[tokio::test]
async fn d3_an_answer_goes_to_the_question_of_its_name() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("act")
        .node("act", async |cx: Context<Work>| {
            let skipped = cx.memo::<bool>()?.is_some();
            if let Some(send) = cx.answer::<bool>("send mail?")? {
                return Ok(Outcome::done([did(format!("send {send}"))]));
            }
            if let Some(delete) = cx.answer::<bool>("delete?")? {
                assert!(skipped && delete);
            }
            let asks = if skipped { "send mail?" } else { "delete?" };
            let ask = Outcome::ask(Question::new::<bool>(asks, asks));
            ask.remember(true)
        })
        .edge("act", END)
        .build()
        .unwrap();
    let runner = bench.runner(&graph);
    runner.start(&bench.thread, ()).await.unwrap();
    let asked = runner
        .resume(&bench.thread, Answers::only(true).unwrap())
        .await
        .unwrap();
    let keys: Vec<_> = asked
        .interrupts()
        .iter()
        .map(|i| i.question.key.as_str())
        .collect();
    assert_eq!(keys, ["send mail?"]);
    let stale = Answers::to("act#1~1", true).unwrap();
    let refused = runner.resume(&bench.thread, stale).await.unwrap_err();
    let open = vec!["act#1~2".into()];
    let unknown = AnswerError::Unknown {
        id: "act#1~1".into(),
        open,
    };
    assert_eq!(refused.kind, RunErrorKind::Answer(unknown));
    let ended = runner
        .resume(&bench.thread, Answers::only(false).unwrap())
        .await
        .unwrap();
    assert_eq!(ended.state().done, names(&["send false"]));
}

fn two_questions(calls: &Calls) -> Graph<Work> {
    Graph::<Work>::starting_at("open")
        .node("open", calls.node("open"))
        .pause("a", |_| "a?", |_, a: Option<u8>| did(format!("a {a:?}")))
        .pause("b", |_| "b?", |_, b: Option<u8>| did(format!("b {b:?}")))
        .node("last", calls.node("last"))
        .edge("open", "a")
        .edge("open", "b")
        .join(["a", "b"], "last")
        .edge("last", END)
        .build()
        .unwrap()
}

#[tokio::test]
async fn d4_null_is_an_answer_and_nothing_is_ignored() {
    let bench = Bench::new();
    let runner = bench.runner(&two_questions(&Calls::default()));
    runner.start(&bench.thread, ()).await.unwrap();
    let head = bench.head().await;
    for (answers, waits) in [
        (Answers::none(), true),
        (Answers::to("x", 1).unwrap(), false),
        (Answers::only(1).unwrap(), false),
    ] {
        let kind = runner
            .resume(&bench.thread, answers)
            .await
            .unwrap_err()
            .kind;
        assert_eq!(
            matches!(kind, RunErrorKind::Waiting { .. }),
            waits,
            "{kind:?}"
        );
        assert_eq!(matches!(kind, RunErrorKind::Answer(_)), !waits, "{kind:?}");
    }
    assert_eq!(bench.head().await, head);
    let nulls = Answers::to("a#1~1", ()).unwrap().and("b#1~2", ()).unwrap();
    let ended = runner.resume(&bench.thread, nulls).await.unwrap();
    assert_eq!(
        ended.state().done,
        names(&["open", "a None", "b None", "last"])
    );
}

#[tokio::test]
async fn d5_two_questions_of_one_task_have_two_ids_and_both_are_shown() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("tools")
        .node("tools", async |cx: Context<Work>| {
            let answers = (cx.answer::<u8>("one")?, cx.answer::<u8>("two")?);
            Ok::<_, serde_json::Error>(match answers {
                (Some(one), Some(two)) => Outcome::done([did(format!("{one} {two}"))]),
                _ => Outcome::Ask {
                    memo: None,
                    questions: vec![Question::new::<u8>("one", 1), Question::new::<u8>("two", 2)],
                },
            })
        })
        .edge("tools", END)
        .build()
        .unwrap();
    let runner = bench.runner(&graph);
    let parked = runner.start(&bench.thread, ()).await.unwrap();
    let ids: Vec<_> = parked.interrupts().iter().map(|i| i.id.as_str()).collect();
    assert_eq!(ids, ["tools#1~1", "tools#1~2"]);
    let crossed = Answers::to("tools#1~2", 2)
        .unwrap()
        .and("tools#1~1", 1)
        .unwrap();
    let ended = runner.resume(&bench.thread, crossed).await.unwrap();
    assert_eq!(ended.state().done, names(&["1 2"]));
}

#[tokio::test]
async fn d6_answering_runs_no_prefix_again() {
    let mut bench = Bench::new();
    let calls = Calls::default();
    let graph = two_questions(&calls);
    bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    for id in ["a#1~1", "b#1~2"] {
        bench.another_process();
        bench
            .runner(&graph)
            .resume(&bench.thread, Answers::to(id, 1).unwrap())
            .await
            .unwrap();
    }
    assert_eq!(calls.take(), names(&["open", "last"]));
}

#[tokio::test]
async fn d7_a_node_renamed_while_a_thread_waits_in_it_loses_no_answer() {
    let bench = Bench::new();
    let graph = |name: &str, old: Option<&str>| {
        let graph = Graph::<Work>::starting_at(name)
            .pause(name, |_| "well?", |_, ok: bool| did(ok.to_string()))
            .edge(name, END);
        match old {
            Some(old) => graph.renamed(old, name).build().unwrap(),
            None => graph.build().unwrap(),
        }
    };
    bench
        .runner(&graph("ask", None))
        .start(&bench.thread, ())
        .await
        .unwrap();
    let answers = Answers::only(true).unwrap();
    let lost = bench
        .runner(&graph("confirm", None))
        .resume(&bench.thread, answers.clone())
        .await;
    let gone = RunErrorKind::GraphChanged {
        gone: vec!["node \"ask\"".into()],
    };
    assert_eq!(lost.unwrap_err().kind, gone);
    let kept = bench
        .runner(&graph("confirm", Some("ask")))
        .resume(&bench.thread, answers)
        .await;
    assert_eq!(kept.unwrap().state().done, names(&["true"]));
}

#[tokio::test]
async fn d8_a_route_to_nowhere_is_no_success() {
    let bench = Bench::new();
    let calls = Calls::default();
    let built = Graph::<Work>::starting_at("a")
        .node("a", calls.node("a"))
        .edge("a", "bb")
        .build();
    let problem = "the graph cannot be built: the edge from \"a\" to \"bb\" mentions \"bb\", which is no node";
    assert_eq!(built.unwrap_err().to_string(), problem);
    let graph = Graph::<Work>::starting_at("a")
        .node("a", calls.node("a"))
        .branch("a", ["a", END], |_| "bb")
        .build()
        .unwrap();
    let failed = bench
        .runner(&graph)
        .start(&bench.thread, ())
        .await
        .unwrap_err();
    let text =
        "thread \"work\", after 0 steps: the branch of node a chose \"bb\"; it declares a, END";
    assert_eq!(failed.to_string(), text);
}

#[tokio::test]
async fn d9_a_converging_node_runs_once() {
    let bench = Bench::new();
    let calls = Calls::default();
    let both = Graph::<Work>::starting_at("a")
        .node("a", calls.node("a"))
        .node("b", calls.node("b"))
        .edge("a", "b")
        .edge("b", END)
        .branch("a", ["b", END], |_| END)
        .build();
    assert!(
        both.is_err(),
        "an edge and a branch from one node are not both taken"
    );
    let graph = Graph::<Work>::starting_at("open")
        .node("open", calls.node("open"))
        .node("a", calls.node("a"))
        .node("b", calls.node("b"))
        .node("meet", calls.node("meet"))
        .node("join", calls.node("join"))
        .edge("open", "a")
        .edge("open", "b")
        .edge("a", "meet")
        .edge("b", "meet")
        .join(["a", "b", "meet"], "join")
        .edge("join", END)
        .build()
        .unwrap();
    bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    let mut ran = calls.take();
    ran.sort();
    assert_eq!(ran, names(&["a", "b", "join", "meet", "open"]));
}

#[tokio::test]
async fn d10_what_a_task_does_to_its_own_copy_reaches_nobody() {
    let bench = Bench::new();
    let spoils = async |cx: Context<Work>| {
        let mut own = cx.state().clone();
        own.done.clear();
        own.done.push("spoiled".into());
        Change::Pair(0, i64::try_from(own.done.len()).unwrap_or(0))
    };
    let graph = Graph::<Work>::starting_at("open")
        .node("open", Calls::default().node("open"))
        .node("a", spoils)
        .node("b", async |cx: Context<Work>| {
            did(cx.state().done.join(","))
        })
        .edge("open", "a")
        .edge("open", "b")
        .edge("a", END)
        .edge("b", END)
        .build()
        .unwrap();
    let ended = bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    let expected = Work {
        done: names(&["open", "open"]),
        pair: (0, 1),
        shade: None,
    };
    assert_eq!(*ended.state(), expected);
    assert_eq!(
        *bench
            .runner(&graph)
            .state(&bench.thread)
            .await
            .unwrap()
            .unwrap(),
        expected
    );
}

#[tokio::test]
async fn d11_types_survive_a_resume() {
    let mut bench = Bench::new();
    let graph = Graph::<Work>::starting_at("a")
        .node("a", async |_: Context<Work>| {
            let mixed = Shade::Mixed {
                of: (1, 255),
                depth: 0.1 + 0.2,
            };
            vec![
                Change::Pair(7, i64::MAX),
                Change::Shade(Shade::Plain),
                Change::Shade(mixed),
            ]
        })
        .pause("ask", |_| "on?", |_, (): ()| did("on"))
        .edge("a", "ask")
        .edge("ask", END)
        .build()
        .unwrap();
    let before = bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    bench.another_process();
    let after = bench
        .runner(&graph)
        .resume(&bench.thread, Answers::only(()).unwrap())
        .await
        .unwrap();
    let mut expected = before.state().clone();
    expected.done = names(&["on"]);
    assert_eq!(*after.state(), expected);
    assert_eq!(expected.pair, (7, i64::MAX));
}

#[tokio::test]
async fn d13_a_step_is_stored_before_the_next_and_a_failing_log_is_noticed_at_once() {
    let bench = Bench::new();
    let heads = Calls::default();
    let mut graph = Graph::<Work>::starting_at("n0");
    for n in 0..20 {
        let (log, thread) = (bench.opened.log.clone(), bench.thread.clone());
        let heads = heads.clone();
        let next = if n == 19 {
            END.to_owned()
        } else {
            format!("n{}", n + 1)
        };
        graph = graph
            .node(format!("n{n}"), move |_: Context<Work>| {
                let (log, thread, heads) = (log.clone(), thread.clone(), heads.clone());
                async move {
                    let head = log.head(&thread).await?.map_or(0, |head| head.seq);
                    heads.note(head.to_string());
                    Ok::<_, fugato_graph::BoxError>(did("n"))
                }
            })
            .edge(format!("n{n}"), next);
    }
    let graph = graph.build().unwrap();
    bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    // The start is stored with the first step; losing both is losing neither.
    let expected: Vec<_> = (0..20)
        .map(|n| if n == 0 { 0 } else { n + 2 }.to_string())
        .collect();
    assert_eq!(heads.take(), expected);
    let full = Bench::new();
    full.log.cut(3, Cut::Full);
    assert!(full.runner(&graph).start(&full.thread, ()).await.is_err());
    assert_eq!(heads.take().len(), 3);
}

#[tokio::test]
async fn d14_a_failing_task_keeps_its_siblings() {
    let bench = Bench::new();
    let calls = Calls::default();
    let failing = Arc::new(AtomicUsize::new(1));
    let fails = failing.clone();
    let graph = Graph::<Work>::starting_at("open")
        .node("open", calls.node("open"))
        .node("good", calls.node("good"))
        .node("bad", move |_: Context<Work>| {
            let fails = fails.load(Ordering::SeqCst) == 1;
            async move { if fails { Err("boom") } else { Ok(did("bad")) } }
        })
        .edge("open", "good")
        .edge("open", "bad")
        .edge("good", END)
        .edge("bad", END)
        .build()
        .unwrap();
    bench
        .runner(&graph)
        .start(&bench.thread, ())
        .await
        .unwrap_err();
    failing.store(0, Ordering::SeqCst);
    let ended = bench.runner(&graph).retry(&bench.thread).await.unwrap();
    assert_eq!(ended.state().done, names(&["open", "good", "bad"]));
    assert_eq!(calls.take(), names(&["open", "good"]));
}

#[tokio::test]
async fn d15_a_crash_after_any_append_runs_no_finished_node_again() {
    for nth in 1..=3 {
        let mut bench = Bench::new();
        let calls = Calls::default();
        let graph = Graph::<Work>::starting_at("a")
            .node("a", calls.node("a"))
            .node("b", calls.node("b"))
            .node("c", calls.node("c"))
            .edge("a", "b")
            .edge("b", "c")
            .edge("c", END)
            .build()
            .unwrap();
        bench.log.cut(nth, Cut::DiesAfter);
        bench
            .runner(&graph)
            .start(&bench.thread, ())
            .await
            .unwrap_err();
        bench.another_process();
        if nth < 3 {
            bench.runner(&graph).recover(&bench.thread).await.unwrap();
        }
        assert_eq!(calls.take(), names(&["a", "b", "c"]), "append {nth}");
        let stored = bench
            .runner(&graph)
            .state(&bench.thread)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(stored.done, names(&["a", "b", "c"]));
    }
}

#[tokio::test]
async fn d16_the_order_of_updates_does_not_depend_on_timing() {
    for late in 0..4_u32 {
        let bench = Bench::new();
        let graph = Graph::<Work>::starting_at("plan")
            .node("plan", async |_: Context<Work>| ())
            .node("worker", move |cx: Context<Work>| async move {
                let n: u32 = cx.item()?;
                for _ in 0..(n + late) % 4 * 10 {
                    tokio::task::yield_now().await;
                }
                Ok::<_, fugato_graph::BoxError>(did(n.to_string()))
            })
            .scatter("plan", "worker", |_| 0..4)
            .edge("worker", END)
            .build()
            .unwrap();
        let ended = bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
        assert_eq!(ended.state().done, names(&["0", "1", "2", "3"]));
    }
}

#[tokio::test]
async fn d17_an_answer_reaches_one_task_and_finished_siblings_stay() {
    let bench = Bench::new();
    let graph = two_questions(&Calls::default());
    let runner = bench.runner(&graph);
    runner.start(&bench.thread, ()).await.unwrap();
    let left = runner
        .resume(&bench.thread, Answers::to("a#1~1", 1).unwrap())
        .await
        .unwrap();
    let open: Vec<_> = left.interrupts().iter().map(|i| i.id.as_str()).collect();
    assert_eq!(open, ["b#1~2"]);
    let ended = runner
        .resume(&bench.thread, Answers::only(2).unwrap())
        .await
        .unwrap();
    assert_eq!(
        ended.state().done,
        names(&["open", "a Some(1)", "b Some(2)", "last"])
    );
}

#[tokio::test]
async fn d19_a_gate_is_passed_once_it_is_answered() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("gate")
        .pause(
            "gate",
            |_| "pass?",
            |_, pass: bool| did(format!("gate {pass}")),
        )
        .node("act", Calls::default().node("act"))
        .branch("gate", ["gate", "act"], |work| {
            if work.done.last().is_some_and(|last| last == "gate true") {
                "act"
            } else {
                "gate"
            }
        })
        .edge("act", END)
        .build()
        .unwrap();
    let runner = bench.runner(&graph);
    runner.start(&bench.thread, ()).await.unwrap();
    runner
        .resume(&bench.thread, Answers::only(false).unwrap())
        .await
        .unwrap();
    let ended = runner
        .resume(&bench.thread, Answers::only(true).unwrap())
        .await
        .unwrap();
    assert_eq!(
        ended.state().done,
        names(&["gate false", "gate true", "act"])
    );
}

#[tokio::test]
async fn d20_a_clock_that_steps_back_restores_nothing_old() {
    let bench = Bench::new();
    let graph = two_questions(&Calls::default());
    let runner = bench.runner(&graph);
    runner.start(&bench.thread, ()).await.unwrap();
    bench.now.store(5, Ordering::SeqCst);
    runner
        .resume(&bench.thread, Answers::to("a#1~1", 1).unwrap())
        .await
        .unwrap();
    bench.now.store(1, Ordering::SeqCst);
    let ended = runner
        .resume(&bench.thread, Answers::only(2).unwrap())
        .await
        .unwrap();
    let stored = runner.state(&bench.thread).await.unwrap().unwrap();
    assert_eq!(*stored, *ended.state());
    assert_eq!(stored.done.len(), 4);
}

#[test]
fn d23_a_hundred_thousand_steps_need_no_stack() {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let graph = Graph::<Count>::starting_at("a")
                .node("a", async |_: Context<Count>| 1)
                .branch(
                    "a",
                    ["a", END],
                    |count| if count.0 < 100_000 { "a" } else { END },
                )
                .build()
                .unwrap();
            let ended = Runner::ephemeral(graph.clone())
                .step_limit(u64::MAX)
                .run(())
                .await;
            assert_eq!(ended.unwrap().state().0, 100_000);
            let options = RunnerOptions::default().step_limit(u64::MAX);
            let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
            let thread = ThreadId::new("long").unwrap();
            let Ended::Finished { state, .. } = runner.start(&thread, ()).await.unwrap() else {
                panic!("nothing is asked");
            };
            assert_eq!(state.0, 100_000);
        });
    };
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Count(u32);

impl State for Count {
    type Update = u32;

    fn apply(&mut self, by: u32) {
        self.0 += by;
    }
}

fn asks(cx: &Context<Work>) -> Result<Outcome<Change>, serde_json::Error> {
    Ok(match cx.answer::<bool>("ok")? {
        Some(ok) => Outcome::done([did(ok.to_string())]),
        None => Outcome::ask(Question::new::<bool>("ok", "ok?")),
    })
}

#[tokio::test]
async fn d25_a_catch_all_cannot_swallow_a_question() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("tool")
        .node("tool", async |cx: Context<Work>| {
            // A wrapper that turns every error into a text for the model.
            asks(&cx).unwrap_or_else(|error| Outcome::done([did(error.to_string())]))
        })
        .edge("tool", END)
        .build()
        .unwrap();
    let runner = bench.runner(&graph);
    let parked = runner.start(&bench.thread, ()).await.unwrap();
    assert_eq!(parked.interrupts().len(), 1);
    let ended = runner
        .resume(&bench.thread, Answers::only(true).unwrap())
        .await
        .unwrap();
    assert_eq!(ended.state().done, names(&["true"]));
}
