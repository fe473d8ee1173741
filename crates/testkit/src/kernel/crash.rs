//! Scenarios of a crash at every append: K24.
use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use fugato_graph::{
    Answers, BoxError, Context, Durability, END, Graph, InDoubt, Node, Outcome, RunError,
    RunResult, Runner, RunnerOptions, Schedule, SubgraphInput, ThreadStatus,
};
use fugato_state::{EffectClass, Interrupt};

use super::{
    AppendFault,
    asking::midway,
    fixture::{Calls, Change, Fixture, NamedNode, Page, line},
    steps::three,
    world::{NamedNodesExt, WiringExt},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

/// Continues a thread from any standing until it is idle; every question gets its answer.
async fn carry_on(desk: &Fixture, runner: &Runner<Page>) -> Result<Page, RunError> {
    loop {
        let ended = match runner.status(&desk.thread).await? {
            ThreadStatus::New => runner.start(&desk.thread, line("in")).await?,
            ThreadStatus::Waiting(open) => {
                let answers = open.iter().try_fold(Answers::none(), |answers, interrupt| {
                    let answer = if interrupt.question.key == "answer" {
                        1
                    } else {
                        7
                    };
                    answers.and(interrupt.id.clone(), answer)
                });
                runner.resume(&desk.thread, answers?).await?
            }
            ThreadStatus::Unfinished => runner.recover(&desk.thread).await?,
            _ => match runner.state(&desk.thread).await? {
                Some(state) => return Ok((*state).clone()),
                None => runner.start(&desk.thread, line("in")).await?,
            },
        };
        if let RunResult::Finished { state, .. } = ended {
            return Ok((*state).clone());
        }
    }
}

/// The graphs in which a process dies, by their names.
const GRAPHS: [&str; 4] = ["three", "pause", "midway", "scatter"];

fn graph(name: &str, calls: &Calls) -> Result<Graph<Page>, Failure> {
    let says = |name| NamedNode(name, calls.clone());
    Ok(match name {
        "three" => three(calls)?,
        "midway" => midway(calls)?,
        "pause" => Graph::<Page>::starting_at("open")
            .says(calls, &["open", "a"])
            .pause("size", |_| "size?", |_, n: i64| Change::Count(n))
            .pause("sum", |_| "sum?", |_, n: i64| Change::Count(10 * n))
            .node("last", says("last"))
            .fork("open", &["a", "size", "sum"], "last")
            .edge("last", END)
            .build()?,
        _ => {
            let works = calls.clone();
            Graph::<Page>::starting_at("plan")
                .node("plan", says("plan"))
                .node("worker", move |cx: Context<Page>| {
                    works.note(cx.task());
                    async move { Ok::<_, BoxError>(line(cx.item::<String>()?)) }
                })
                .node("collect", async |cx: Context<Page>| {
                    line(cx.state().lines.concat())
                })
                .scatter("plan", "worker", |page| {
                    ["x", "y", "z"].map(|n| format!("{n}{}", page.count))
                })
                .edge("worker", "collect")
                .branch("collect", ["plan", END], |page| {
                    if page.lines.len() < 10 { "plan" } else { END }
                })
                .build()?
        }
    })
}

/// The process dies before or after any append, another one continues, and the end is the same as
/// without a crash. No task with a stored outcome runs again.
pub async fn k24_a_crash_at_any_append_changes_nothing(factory: &dyn LogFactory) -> CheckResult {
    for name in GRAPHS {
        let calls = Calls::default();
        let whole = Fixture::of(factory).await?;
        let expected = carry_on(&whole, &whole.runner(&graph(name, &calls)?)).await?;
        let appends = whole.log.commits().len();
        let once = calls.take();
        for nth in 1..=appends + 1 {
            for cut in [AppendFault::DiesBefore, AppendFault::DiesAfter] {
                let what = format!("{name}, append {nth} {cut:?}");
                // A task of a process that died may note its call late: it is no call of the next.
                let calls = Calls::default();
                let graph = graph(name, &calls)?;
                let mut desk = Fixture::of(factory).await?;
                desk.log.cut(nth, cut);
                let died = carry_on(&desk, &desk.runner(&graph)).await;
                let finished = finished_in(&desk).await?;
                let before = calls.take();
                desk.another_process();
                let page = carry_on(&desk, &desk.runner(&graph)).await?;
                same(&format!("{what}: the end"), page, expected.clone())?;
                let after = calls.take();
                let again = after
                    .iter()
                    .filter(|task| finished.contains(task))
                    .collect::<Vec<_>>();
                holds(again.is_empty(), || format!("{what}: again {again:?}"))?;
                let lost = once
                    .iter()
                    .find(|task| !before.contains(task) && !after.contains(task));
                holds(lost.is_none(), || format!("{what}: {lost:?} never ran"))?;
                holds(nth > 1 || died.is_err(), || {
                    format!("{what}: it did not die")
                })?;
            }
        }
    }
    Ok(())
}

/// Returns the tasks whose outcome is in the log.
async fn finished_in(desk: &Fixture) -> Result<Vec<String>, Failure> {
    let records = desk.log_of().read(&desk.thread, 1, 10_000).await?;
    let mut tasks = vec![];
    for (_, record) in records {
        let entry: serde_json::Value =
            serde_json::from_slice(record.0.get(1..).unwrap_or_default())?;
        for kind in ["stepped", "finished"] {
            let task = entry.pointer(&format!("/fact/{kind}/task"));
            tasks.extend(task.and_then(|task| task.as_str()).map(str::to_owned));
        }
    }
    Ok(tasks)
}

/// A node that acts, and whose result does not depend on the number of crashes.
#[derive(Clone)]
struct Acts(Calls);

#[async_trait]
impl Node<Page> for Acts {
    async fn run(&self, cx: Context<Page>) -> Result<Outcome<Change>, BoxError> {
        let mut said = vec![];
        for (key, class) in [
            ("once", EffectClass::Once),
            ("keyed", EffectClass::Keyed),
            ("again", EffectClass::Once),
        ] {
            let world = self.0.clone();
            let act = move |key: String| async move {
                world.note(key);
                Ok::<_, BoxError>("done".to_owned())
            };
            let done = cx.effect(key, class, &cx.task(), act).await?;
            said.push(line(format!("{} {key} {done}", cx.task())));
        }
        Ok(Outcome::done(said))
    }
}

/// Builds two tasks at once and a scatter of subgraphs, all of which act.
fn acting(world: &Calls) -> Result<Graph<Page>, Failure> {
    let inner = Graph::<Page>::starting_at("acts")
        .node("acts", Acts(world.clone()))
        .edge("acts", END)
        .build()?;
    Ok(Graph::<Page>::starting_at("open")
        .node("open", Acts(world.clone()))
        .node("one", Acts(world.clone()))
        .subgraph(
            "sub",
            &inner,
            |_: SubgraphInput<'_, Page>| Ok::<_, BoxError>(Page::default()),
            |_: &Page, inner: &Page| inner.lines.iter().cloned().map(line).collect::<Vec<_>>(),
        )
        .way(&["open", "one", END])
        .way(&["open", "sub", END])
        .build()?)
}

/// Returns the answer of a person who can see the world to the question whether this action
/// happened.
fn look(world: &SeenCounts, interrupt: &Interrupt) -> InDoubt {
    let shown = |field| {
        let shown = interrupt.question.prompt.get(field);
        shown.and_then(|shown| shown.as_str()).unwrap_or_default()
    };
    let address = format!("/{}/{}", shown("task"), shown("in_doubt"));
    if world.keys().any(|known| known.ends_with(&address)) {
        InDoubt::Happened("done".into())
    } else {
        InDoubt::DidNotHappen
    }
}

type SeenCounts = BTreeMap<String, usize>;

fn see(world: &Calls, seen: &mut SeenCounts) {
    for key in world.take() {
        *seen.entry(key).or_default() += 1;
    }
}

/// The process dies before or after any append, in lazy modes and schedules too, and the end is the
/// same as without a crash. Actions of class `Once` were done exactly once; a person was asked
/// about those in doubt.
pub async fn k24_a_crash_never_repeats_an_effect(factory: &dyn LogFactory) -> CheckResult {
    let batched = Durability::Batched {
        max_records: 1_000,
        max_delay: Duration::from_secs(3),
    };
    for (durability, schedule) in [
        (Durability::Strict, Schedule::Lockstep),
        (Durability::Strict, Schedule::Eager),
        (batched, Schedule::Eager),
        (Durability::AtPause, Schedule::Lockstep),
    ] {
        let options = RunnerOptions::default();
        let options = options.durability(durability).schedule(schedule);
        let mut nth = 1;
        while dies_at(factory, &options, nth).await? {
            nth += 1;
        }
        // Two branches that act in step share their appends: nine are the least.
        holds(nth > 9, || format!("{options:?}: only {nth} appends"))?;
    }
    Ok(())
}

/// Returns true if the run had this many appends, so that the cut took effect.
async fn dies_at(
    factory: &dyn LogFactory,
    options: &RunnerOptions,
    nth: usize,
) -> Result<bool, Failure> {
    let mut died = false;
    for cut in [AppendFault::DiesBefore, AppendFault::DiesAfter] {
        let mut desk = Fixture::of(factory).await?;
        let (world, mut seen) = (Calls::default(), SeenCounts::new());
        let graph = acting(&world)?;
        let what = format!(
            "{:?} {:?}, append {nth} {cut:?}",
            options.durability, options.schedule
        );
        desk.log.cut(nth, cut);
        for process in 0..9 {
            let runner = desk.runner_with(&graph, options.clone());
            let owners = world.owners();
            let ended = match runner.status(&desk.thread).await {
                Ok(ThreadStatus::New) => runner.start(&desk.thread, ()).await,
                Ok(ThreadStatus::Waiting(open)) => {
                    see(&world, &mut seen);
                    let mut answers = Answers::none();
                    for interrupt in open {
                        answers = answers.and(interrupt.id.clone(), look(&seen, &interrupt))?;
                    }
                    runner.resume(&desk.thread, answers).await
                }
                Ok(ThreadStatus::Unfinished) => runner.recover(&desk.thread).await,
                Ok(ThreadStatus::Idle) => break,
                Ok(other) => return Err(Failure::new(format!("{what}: {other:?}"))),
                Err(error) => Err(error),
            };
            holds(process < 8, || {
                format!("{what}: it comes to no end: {ended:?}")
            })?;
            if ended.is_err() {
                died = true;
                // Actions that had started finish in the background: whoever looks before that sees
                // none, and says so.
                world.settle(owners).await?;
                desk.another_process();
            }
        }
        see(&world, &mut seen);
        let mut twice = seen
            .iter()
            .filter(|(key, times)| !key.ends_with("keyed") && **times > 1);
        let twice = twice.next();
        holds(twice.is_none(), || format!("{what}: done twice: {twice:?}"))?;
        same(&format!("{what}: actions"), seen.len(), 9)?;
        let mut said = desk.page(&graph).await?.lines;
        said.sort();
        let tasks = ["one#1", "open#1", "sub#1/acts#1"];
        let all = tasks
            .iter()
            .flat_map(|task| ["again", "keyed", "once"].map(|key| format!("{task} {key} done")));
        same(&what, said, all.collect())?;
    }
    Ok(died)
}
