//! Scenarios of the seam between threads and the engine that places them: K29.
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fugato_graph::{
    Answers, BoxError, Context, END, Graph, Next, NodePolicy, RunErrorKind, Runner, RunnerOptions,
    ThreadStatus, Worker,
};
use fugato_state::ThreadId;

use super::{
    fixture::{Calls, Change, Fixture, NamedNode, Page, finished, kind, line, thread},
    world::Stage,
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

const LONG: Duration = Duration::from_secs(60);

/// A graph of nodes in a row, which note their names.
fn row(names: &[&'static str], calls: &Calls) -> Result<Graph<Page>, Failure> {
    let [first, ..] = names else {
        return Err(Failure::new("a row has a first node"));
    };
    let mut graph = Graph::<Page>::starting_at(*first);
    for (place, name) in names.iter().enumerate() {
        let to = names.get(place + 1).copied().unwrap_or(END);
        graph = graph
            .node(*name, NamedNode(name, calls.clone()))
            .edge(*name, to);
    }
    Ok(graph.build()?)
}

fn of_agent(desk: &Fixture, graph: &Graph<Page>, prefix: &str) -> Runner<Page> {
    let options = RunnerOptions::default().prefix(prefix);
    desk.runner_with(graph, options)
}

/// Of two agents of one store, a worker runs the threads of its own, and every request of a runner
/// for a thread of the other is refused; neither lists nor removes those of the other.
pub async fn k29_a_worker_takes_its_own_agents_threads(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let (ours, theirs) = (Calls::default(), Calls::default());
    let (orders, letters) = (row(&["order"], &ours)?, row(&["letter"], &theirs)?);
    let orders = of_agent(&desk, &orders, "orders/");
    let letters = of_agent(&desk, &letters, "letters/");
    for n in 0..20 {
        letters.submit(&thread(&format!("letters/{n}")), ()).await?;
    }
    orders.submit(&thread("orders/1"), ()).await?;
    let own = thread("orders/1");
    let worker = Worker::new(orders.clone())
        .concurrency(2)
        .poll(Duration::from_millis(1));
    let done = async {
        while !matches!(orders.status(&own).await, Ok(ThreadStatus::Idle)) {
            tokio::task::yield_now().await;
        }
    };
    let report = worker.run_until(done).await;
    same("runs that rested", (report.rested, report.failed), (1, 0))?;
    ours.ran(&["order#1"])?;
    theirs.ran(&[])?;

    let other = thread("letters/1");
    let head = desk.log_head(&other).await?;
    let refused = |kind: RunErrorKind| {
        let prefix = "orders/".to_owned();
        same("refusal", kind, RunErrorKind::OtherAgent { prefix })
    };
    refused(kind(orders.start(&other, ()).await)?)?;
    refused(kind(orders.recover(&other).await)?)?;
    refused(kind(orders.start(&thread("new"), ()).await)?)?;
    let driven = orders.drive(&other, LONG).await;
    refused(
        driven
            .err()
            .ok_or_else(|| Failure::new("it was driven"))?
            .kind,
    )?;
    same(
        "the head of the other's",
        desk.log_head(&other).await?,
        head,
    )?;
    if desk.opened.admin.is_some() {
        same("its own threads", orders.threads().await?, vec![own])?;
        same("the other's", letters.threads().await?.len(), 20)?;
    }
    same("due of its own", orders.due(9).await?, vec![])?;
    same("due of the other", letters.due(9).await?.len(), 9)
}

/// A drive lets a thread go on and says what comes next; repeating it at any time does nothing that
/// was done, and writes nothing.
pub async fn k29_a_drive_says_what_comes_next(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let tried = calls.clone();
    let graph = Graph::<Page>::starting_at("flaky")
        .node("flaky", move |cx: Context<Page>| {
            tried.note(format!("attempt {}", cx.attempt()));
            async move {
                if cx.attempt() == 1 {
                    return Err(BoxError::from("boom"));
                }
                Ok(line("tried"))
            }
        })
        .policy(
            "flaky",
            NodePolicy::default()
                .attempts(2)
                .backoff(Duration::from_secs(100), Duration::from_secs(100)),
        )
        .pause(
            "ask",
            |page| page.lines.len(),
            |_, yes: String| Change::Line(yes),
        )
        .edge("flaky", "ask")
        .edge("ask", END)
        .build()?;
    let options = RunnerOptions::default().longest_sleep(Duration::from_secs(1));
    let runner = desk.runner_with(&graph, options);
    let twice = async |expected: fn(Next) -> bool| {
        let next = runner.drive(&desk.thread, LONG).await?;
        holds(expected(next), || format!("it was {next:?}"))?;
        let head = desk.head().await?;
        let again = runner.drive(&desk.thread, LONG).await?;
        holds(expected(again), || format!("then it was {again:?}"))?;
        same("the head after a repeat", desk.head().await?, head)
    };
    twice(|next| next == Next::Done).await?;
    runner.submit(&desk.thread, ()).await?;
    twice(|next| matches!(next, Next::WakeAt { after, .. } if after > Duration::from_secs(90)))
        .await?;
    calls.ran(&["attempt 1"])?;
    desk.clock.advance(130_000);
    twice(|next| next == Next::WaitForAnswer).await?;
    calls.ran(&["attempt 2"])?;
    let asked = runner.interrupts(&desk.thread).await?;
    let [asked] = asked.as_slice() else {
        return Err(Failure::new(format!("{asked:?} are open")));
    };
    let answer = Answers::to(asked.id.clone(), "yes")?;
    finished(runner.resume(&desk.thread, answer).await)?.said(&["tried", "yes"])?;
    twice(|next| next == Next::Done).await
}

/// Of two drives of one thread, one runs it, and the other is told to come back at the end of the
/// lease; if the first one dies, the thread goes on then.
pub async fn k29_a_thread_that_is_held_is_retried_when_its_lease_ends(
    factory: &dyn LogFactory,
) -> CheckResult {
    let mut stage = Stage::of(Fixture::of(factory).await?, "");
    let graph = stage.wire("a -> held; held: door")?.build()?;
    let runner = stage.desk.runner(&graph);
    runner.submit(&stage.desk.thread, ()).await?;
    let (first, name) = (runner.clone(), stage.desk.thread.clone());
    let driving = tokio::spawn(async move { first.drive(&name, LONG).await });
    stage.door.reached().await;
    let head = stage.desk.head().await?;
    let second = stage.desk.runner(&graph);
    for held in [&runner, &second] {
        let next = held.drive(&stage.desk.thread, LONG).await?;
        let waits = matches!(next, Next::Retry { after, .. } if after <= Duration::from_secs(10));
        holds(waits, || format!("it was {next:?}"))?;
    }
    same("what is due meanwhile", second.due(9).await?, vec![])?;
    same("the head meanwhile", stage.desk.head().await?, head)?;
    driving.abort();
    stage.desk.another_process();
    let third = stage.desk.runner(&graph);
    same(
        "what is due then",
        third.due(9).await?,
        vec![stage.desk.thread.clone()],
    )?;
    let (third, name) = (third.clone(), stage.desk.thread.clone());
    let driving = tokio::spawn(async move { third.drive(&name, LONG).await });
    stage.door.reached().await;
    // The node of the first one may still be at the door.
    stage.door.open();
    stage.door.open();
    let next = driving
        .await
        .map_err(|error| Failure::new(error.to_string()))??;
    same("what comes next", next, Next::Done)
}

/// A drive whose time is over stops after its step; nothing is begun twice, and no attempt is
/// counted.
pub async fn k29_a_drive_yields_when_its_time_is_over(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let names: [&'static str; 4] = ["a", "b", "c", "d"];
    let mut graph = Graph::<Page>::starting_at("a");
    for (place, name) in names.iter().enumerate() {
        let (name, noted) = (*name, calls.clone());
        let to = names.get(place + 1).copied().unwrap_or(END);
        graph = graph
            .node(name, move |cx: Context<Page>| {
                noted.note(format!("{name} attempt {}", cx.attempt()));
                async {
                    tokio::time::sleep(Duration::from_millis(150)).await;
                    line("done")
                }
            })
            .edge(name, to);
    }
    let runner = desk.runner_with(&graph.build()?, RunnerOptions::default().crash_limit(1));
    runner.submit(&desk.thread, ()).await?;
    let mut yields = 0;
    loop {
        match runner.drive(&desk.thread, Duration::ZERO).await? {
            Next::Yield => yields += 1,
            next => {
                same("the end", next, Next::Done)?;
                break;
            }
        }
    }
    // A machine that is busy may take more than one step before it hears that the time is over.
    holds(yields >= 1, || format!("it yielded {yields} times"))?;
    calls.ran(&["a attempt 1", "b attempt 1", "c attempt 1", "d attempt 1"])
}

#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

impl Ear {
    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn hears(&self) -> impl Fn(&ThreadId) + Send + Sync + 'static {
        let heard = self.0.clone();
        move |thread: &ThreadId| {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push(thread.to_string());
        }
    }
}

/// A thread that is left to an engine wakes it when it is durable, and one that comes to its end does
/// not. A word that was lost is repeated by a look at what is due.
pub async fn k29_what_is_left_wakes_the_engine(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let ear = Ear::default();
    let graph = row(&["a"], &Calls::default())?;
    let runner = desk.runner(&graph).woken_by(ear.hears());
    finished(runner.start(&thread("at its end"), ()).await)?;
    same("after an end", ear.heard(), vec![])?;
    runner.submit(&desk.thread, ()).await?;
    same("after a submission", ear.heard(), vec!["desk".to_owned()])?;
    // The word is lost.
    same(
        "what is due",
        runner.due(9).await?,
        vec![desk.thread.clone()],
    )?;
    same(
        "and still due",
        runner.due(9).await?,
        vec![desk.thread.clone()],
    )?;
    same(
        "driven",
        runner.drive(&desk.thread, LONG).await?,
        Next::Done,
    )?;
    same("who drives is told by the result", ear.heard(), vec![])?;
    same("what is due then", runner.due(9).await?, vec![])
}

/// A run that is left to others where it asks at once waits for its answer, and nobody is to go on
/// with it.
pub async fn k29_a_question_is_left_to_nobody(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let ear = Ear::default();
    let graph = Graph::<Page>::starting_at("ask")
        .pause("ask", |_| "ok?", |_, yes: bool| line(format!("{yes}")))
        .edge("ask", END)
        .build()?;
    let runner = desk.runner(&graph).woken_by(ear.hears());
    runner.submit(&desk.thread, ()).await?;
    same("what the engine hears", ear.heard(), vec![])?;
    same("what is due", runner.due(9).await?, vec![])?;
    let next = runner.drive(&desk.thread, LONG).await?;
    same("what comes next", next, Next::WaitForAnswer)?;
    let ended = runner.resume(&desk.thread, Answers::only(true)?).await;
    finished(ended)?.said(&["true"])
}
