//! Random graphs: the same outcomes give the same state and the same folded log, in any order, and
//! after a crash at any point.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use fugato_graph::{
    Answers, BoxError, Context, END, Graph, GraphBuilder, Outcome, RunError, RunResult, Runner,
    ThreadStatus,
};
use fugato_state::{Question, State, ThreadId};
use fugato_store::MemoryLog;
use fugato_testkit::{
    kernel::{AppendFault, RecordingLog, replay_check},
    log::OpenedLog,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Lines(Vec<String>);

impl State for Lines {
    type Update = String;

    fn apply(&mut self, line: String) {
        self.0.push(line);
    }
}

/// The part of a graph between two meeting points.
#[derive(Debug, Clone)]
enum Part {
    Node {
        fails: bool,
    },
    Parallel {
        nodes: usize,
        fails: Option<usize>,
        asks: bool,
    },
    Scatter {
        items: usize,
    },
    Branch,
    Pause,
    Midway,
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        any::<bool>().prop_map(|fails| Part::Node { fails }),
        (2..5_usize, proptest::option::of(0..5_usize), any::<bool>())
            .prop_map(|(nodes, fails, asks)| Part::Parallel { nodes, fails, asks }),
        (0..6_usize).prop_map(|items| Part::Scatter { items }),
        Just(Part::Branch),
        Just(Part::Pause),
        Just(Part::Midway),
    ]
}

/// The durations of tasks, and the tasks that have failed once.
#[derive(Debug, Clone)]
struct Weather {
    seed: u64,
    failed: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Weather {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            failed: Arc::default(),
        }
    }

    /// Yields as often as the seed says for this task.
    async fn blow(&self, task: &str) {
        let hash = task.bytes().fold(self.seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        for _ in 0..(hash >> 7) % 6 {
            tokio::task::yield_now().await;
        }
    }

    fn fails_now(&self, task: &str) -> bool {
        let mut failed = self.failed.lock().unwrap();
        let times = failed.entry(task.to_owned()).or_default();
        *times += 1;
        *times == 1
    }
}

fn says(
    graph: GraphBuilder<Lines>,
    name: String,
    weather: &Weather,
    fails: bool,
) -> GraphBuilder<Lines> {
    let weather = weather.clone();
    graph.node(name, move |cx: Context<Lines>| {
        let weather = weather.clone();
        async move {
            let task = cx.task();
            weather.blow(&task).await;
            if fails && weather.fails_now(&task) {
                return Err(BoxError::from("not the first time"));
            }
            let item = cx.item::<u64>().unwrap_or_default();
            Ok(format!("{task} of {} and {item}", cx.state().0.len()))
        }
    })
}

fn asks(graph: GraphBuilder<Lines>, name: String, weather: &Weather) -> GraphBuilder<Lines> {
    let weather = weather.clone();
    graph.node(name, move |cx: Context<Lines>| {
        let weather = weather.clone();
        async move {
            weather.blow(&cx.task()).await;
            Ok::<_, BoxError>(match cx.answer::<u8>("n")? {
                Some(n) => Outcome::done([format!("{} heard {n}", cx.task())]),
                None => Outcome::ask(Question::new::<u8>("n", "n?")),
            })
        }
    })
}

fn pause(graph: GraphBuilder<Lines>, name: &str) -> GraphBuilder<Lines> {
    graph.pause(
        name,
        |lines| lines.0.len(),
        |lines, n: u8| format!("{n} after {}", lines.0.len()),
    )
}

/// Builds the graph of these parts. They meet at `m0`, `m1` and so on.
fn graph(parts: &[Part], weather: &Weather) -> Graph<Lines> {
    let mut graph = Graph::<Lines>::starting_at("m0");
    for (n, part) in parts.iter().enumerate() {
        let (here, next) = (format!("m{n}"), format!("m{}", n + 1));
        graph = says(graph, here.clone(), weather, false);
        let inner = format!("p{n}");
        graph = match part {
            Part::Node { fails } => says(graph, inner.clone(), weather, *fails)
                .edge(here, inner.clone())
                .edge(inner, next),
            Part::Parallel { nodes, fails, asks } => {
                let names: Vec<_> = (0..*nodes).map(|k| format!("p{n}x{k}")).collect();
                for (k, name) in names.iter().enumerate() {
                    graph = match (k, asks) {
                        (0, true) => pause(graph, name),
                        (1, true) => self::asks(graph, name.clone(), weather),
                        _ => says(graph, name.clone(), weather, *fails == Some(k)),
                    };
                    graph = graph.edge(here.clone(), name.clone());
                }
                graph.join(names, next)
            }
            Part::Scatter { items } => {
                let items = *items as u64;
                says(graph, inner.clone(), weather, false)
                    .scatter(here, inner.clone(), move |_| 0..items)
                    .edge(inner, next)
            }
            Part::Branch => {
                let (left, right) = (format!("{inner}l"), format!("{inner}r"));
                let chosen = (left.clone(), right.clone());
                graph = says(graph, left.clone(), weather, false);
                says(graph, right.clone(), weather, true)
                    .branch(here, [left.clone(), right.clone()], move |lines| {
                        if lines.0.len() % 2 == 0 {
                            chosen.0.clone()
                        } else {
                            chosen.1.clone()
                        }
                    })
                    .edge(left, next.clone())
                    .edge(right, next)
            }
            Part::Pause => pause(graph, &inner)
                .edge(here, inner.clone())
                .edge(inner, next),
            Part::Midway => asks(graph, inner.clone(), weather)
                .edge(here, inner.clone())
                .edge(inner, next),
        };
    }
    let last = format!("m{}", parts.len());
    says(graph, last.clone(), weather, false)
        .edge(last, END)
        .build()
        .unwrap()
}

/// Continues a thread from any standing until its run has ended.
async fn carry_on(runner: &Runner<Lines>, thread: &ThreadId) -> Result<Lines, RunError> {
    loop {
        let ended = match runner.status(thread).await? {
            ThreadStatus::New => runner.start(thread, "in".to_owned()).await,
            ThreadStatus::Waiting(open) => {
                let none = Answers::none();
                let answers = open.iter().take(2).try_fold(none, |answers, interrupt| {
                    answers.and(interrupt.id.clone(), interrupt.id.as_str().len())
                });
                runner.resume(thread, answers?).await
            }
            ThreadStatus::Unfinished => runner.recover(thread).await,
            ThreadStatus::Failed { .. } => runner.retry(thread).await,
            _ => {
                let state = runner
                    .state(thread)
                    .await?
                    .expect("an idle thread has a state");
                return Ok((*state).clone());
            }
        };
        match ended {
            Ok(RunResult::Finished { state, .. }) => return Ok((*state).clone()),
            Ok(_) => {}
            // A task failed, and a retry succeeds; or the process died.
            Err(error) => drop(runner.status(thread).await.map_err(|_| error)?),
        }
    }
}

async fn check(parts: &[Part], seeds: (u64, u64), nth: usize, cut: AppendFault) {
    let thread = ThreadId::new("random").unwrap();
    let now = Arc::new(std::sync::atomic::AtomicI64::new(1_000_000));
    let opened = || {
        let clock = now.clone();
        let clock = move || clock.load(std::sync::atomic::Ordering::SeqCst);
        OpenedLog::whole(MemoryLog::with_clock(clock))
    };
    let mut ends = vec![];
    for seed in [seeds.0, seeds.1] {
        let (opened, weather) = (opened(), Weather::new(seed));
        let graph = graph(parts, &weather);
        let log = Arc::new(RecordingLog::over(opened.clone()));
        let end = carry_on(&Runner::new(graph.clone(), log), &thread)
            .await
            .unwrap();
        let by_log = Runner::on_log(graph, opened.log);
        assert_eq!(*by_log.state(&thread).await.unwrap().unwrap(), end);
        replay_check(&by_log, &thread, &end).await.unwrap();
        ends.push(end);
    }
    let (opened, weather) = (opened(), Weather::new(seeds.1));
    let graph = graph(parts, &weather);
    let log = RecordingLog::over(opened.clone());
    log.cut(nth, cut);
    // A run with few appends does not die; its end is compared too.
    let died = carry_on(&Runner::new(graph.clone(), Arc::new(log)), &thread).await;
    drop(died);
    now.fetch_add(60_000, std::sync::atomic::Ordering::SeqCst);
    let after = Arc::new(RecordingLog::over(opened));
    ends.push(carry_on(&Runner::new(graph, after), &thread).await.unwrap());
    let first = ends.first().cloned().unwrap();
    assert_eq!(ends, vec![first; 3]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: fugato_testkit::share_of(96), ..ProptestConfig::default() })]

    #[test]
    fn k24_random_graphs_end_the_same_in_any_order_and_after_any_crash(
        parts in proptest::collection::vec(part(), 1..6),
        seeds in any::<(u64, u64)>(),
        nth in 1..30_usize,
        after in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap();
        let cut = if after { AppendFault::DiesAfter } else { AppendFault::DiesBefore };
        runtime.block_on(check(&parts, seeds, nth, cut));
    }
}
