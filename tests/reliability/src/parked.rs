//! Many threads that wait for answers.
use std::{
    path::Path,
    time::{Duration, Instant},
};

use fugato_graph::{Answers, END, Graph, Worker};
use fugato_sqlite::{SqliteLog, SqliteOptions, Synchronous};
use fugato_state::ThreadId;
use futures::{StreamExt, stream};

use crate::{
    TrialResult,
    job::{FinishedJob, Job, approved},
    long::resident,
    store::{Store, path_spec},
};

/// What it takes to have threads that wait.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display(
    "{threads} threads wait: {with} KiB of memory, {without} KiB without them; {answered} \
     answered, p50 {median:.2} ms, p99 {p99:.2} ms"
)]
#[non_exhaustive]
pub struct ParkedThreads {
    /// How many wait.
    pub threads: u64,
    /// Memory of a process that works with a store without threads, in KiB.
    pub without: u64,
    /// Memory of the same process when it has worked with all of them beside it, in KiB.
    pub with: u64,
    /// Answers of which each thread went on to its end.
    pub answered: u64,
    /// How long half of them took at most, in milliseconds.
    pub median: f64,
    /// How long all but a hundredth of them took at most, in milliseconds.
    pub p99: f64,
}

/// Asks once, and ends.
pub fn graph() -> TrialResult<Graph<Job>> {
    Ok(Graph::<Job>::starting_at("ask")
        .pause("ask", |_| "go on?", |_, by: u64| FinishedJob(approved(by)))
        .edge("ask", END)
        .build()?)
}

fn name(number: u64) -> TrialResult<ThreadId> {
    Ok(ThreadId::new(format!("waits-{number:06}"))?)
}

/// Makes threads that wait, in a file.
pub async fn park(file: &Path, threads: u64) -> TrialResult<()> {
    // Nobody relies on them yet, so that the disk need not confirm each.
    let options = SqliteOptions::default().synchronous(Synchronous::Normal);
    let runner = Store::Sqlite(SqliteLog::open_with(file, options)?).runner(graph()?);
    let begun = (0..threads).map(|number| {
        let runner = runner.clone();
        async move { Ok::<_, crate::BoxError>(runner.start(&name(number)?, ()).await?) }
    });
    let mut begun = stream::iter(begun).buffer_unordered(64);
    while let Some(ended) = begun.next().await {
        ended?;
    }
    Ok(())
}

/// Works with a file in which so many threads wait, in a process that did nothing before, and
/// answers some of them.
pub async fn parked(file: &Path, threads: u64, answers: u64) -> TrialResult<ParkedThreads> {
    let empty = Store::open(&path_spec(&file.with_extension("empty"))).await?;
    work(&empty).await?;
    let without = resident()?;
    let store = Store::open(&path_spec(file)).await?;
    work(&store).await?;
    let runner = store.runner(graph()?);
    let mut took = vec![];
    // Spread over all of them.
    let stride = (threads / answers.max(1)).max(1);
    for number in (0..threads).step_by(usize::try_from(stride)?) {
        let begin = Instant::now();
        runner
            .resume(&name(number)?, Answers::only(number)?)
            .await?;
        took.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    let with = resident()?;
    took.sort_by(f64::total_cmp);
    let at = |hundredths: usize| took.get(took.len() * hundredths / 100).copied();
    Ok(ParkedThreads {
        threads,
        without,
        with,
        answered: took.len() as u64,
        median: at(50).unwrap_or_default(),
        p99: at(99).unwrap_or_default(),
    })
}

/// Looks for work for a moment, as a worker does that has none.
async fn work(store: &Store) -> TrialResult<()> {
    let worker = Worker::new(store.runner(graph()?)).poll(Duration::from_millis(10));
    let did = worker
        .run_until(tokio::time::sleep(Duration::from_millis(300)))
        .await;
    match (did.rested, did.failed) {
        (0, 0) => Ok(()),
        _ => Err("threads that wait were worked on".into()),
    }
}
