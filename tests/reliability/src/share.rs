//! Several processes that share the work of one store.
use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use fugato_graph::{HistoryEntry, HistoryEvent, ThreadStatus};
use fugato_state::ThreadId;
use fugato_store::{Claim, LeaseRequest, Status, ThreadFilter};

use crate::{
    TrialResult,
    chain::{self, Chain, Change, Walk},
    child::{Child, Start},
    evidence::{Evidence, EvidenceKind},
    scale::median,
    serve::{self, ServerLine},
    store::{Place, Store},
};

/// A queue of chains, and the processes that work on it.
#[derive(Debug)]
pub struct Queue {
    /// How its processes are started.
    pub start: Start,
    /// What its steps leave.
    pub evidence: Evidence,
    /// Where it lies.
    pub store: Store,
    threads: Vec<ThreadId>,
    steps: u64,
}

impl Queue {
    /// A queue in which nothing is.
    pub async fn new(program: &Path, place: &Place) -> TrialResult<Self> {
        let evidence = Evidence::in_folder(&place.folder.path().join("evidence"))?;
        let mut start = Start::new(program, &place.spec, &evidence);
        start.what = serve::ServedWork::Witnessed;
        Ok(Self {
            start,
            evidence,
            store: place.open().await?,
            threads: vec![],
            steps: 0,
        })
    }

    /// Puts so many chains of so many steps into it, with names that begin so.
    pub async fn fill(&mut self, prefix: &str, threads: usize, steps: u64) -> TrialResult<()> {
        let runner = self.store.runner(chain::graph(&Walk::default())?);
        self.threads.clear();
        self.steps = steps;
        for number in 0..threads {
            let thread = ThreadId::new(format!("{prefix}-{number:04}"))?;
            runner.submit(&thread, Change::Wanted(steps)).await?;
            self.threads.push(thread);
        }
        Ok(())
    }

    /// Starts a process that works on it.
    pub async fn worker(&self) -> TrialResult<Child> {
        let mut child = self.start.spawn()?;
        child.ready().await?;
        Ok(child)
    }

    /// How many of its threads have not come to their end.
    pub async fn left(&self) -> TrialResult<usize> {
        let Some(first) = self.threads.first() else {
            return Ok(0);
        };
        let mut filter = ThreadFilter::default();
        let prefix = first
            .as_str()
            .rsplit_once('-')
            .map_or("", |(prefix, _)| prefix);
        filter.prefix = format!("{prefix}-");
        let all = self.store.admin().list(filter).await?;
        let ended = all.iter().filter(|thread| thread.status == Status::Idle);
        Ok(self.threads.len() - ended.count())
    }

    /// Waits until no more than so many are left, and returns how long that took.
    pub async fn wait(&self, left: usize) -> TrialResult<Duration> {
        let begin = Instant::now();
        while self.left().await? > left {
            if begin.elapsed() > PATIENCE {
                return Err(format!("{} threads are still open", self.left().await?).into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(begin.elapsed())
    }

    /// What is wrong with how its threads came to their end.
    pub async fn problems(&self) -> TrialResult<Vec<String>> {
        let runner = self.store.runner(chain::graph(&Walk::default())?);
        let mut wrong = vec![];
        for thread in &self.threads {
            let standing = runner.status(thread).await?;
            if standing != ThreadStatus::Idle {
                wrong.push(format!("{thread} ended as {standing:?}"));
            }
            let state = runner.state(thread).await?;
            let ended = Chain {
                wanted: self.steps,
                taken: self.steps,
            };
            if state.as_deref() != Some(&ended) {
                wrong.push(format!("{thread} ended with {state:?}"));
            }
            wrong.extend(self.disorder(thread)?);
        }
        Ok(wrong)
    }

    /// Steps are taken in order, none is left out, and none that was stored is taken again.
    fn disorder(&self, thread: &ThreadId) -> TrialResult<Vec<String>> {
        let lines = self.evidence.lines(thread.as_str())?;
        let began = lines
            .iter()
            .filter(|line| matches!(line.what, EvidenceKind::Began { .. }));
        let visit = |task: &str| task.rsplit('#').next().and_then(|n| n.parse::<u64>().ok());
        let mut visits: Vec<_> = began.filter_map(|line| visit(&line.task)).collect();
        let mut wrong = vec![];
        if !visits.is_sorted() {
            wrong.push(format!("{thread} went back: {visits:?}"));
        }
        visits.dedup();
        if visits != (1..=self.steps).collect::<Vec<_>>() {
            wrong.push(format!("{thread} took the steps {visits:?}"));
        }
        Ok(wrong)
    }

    /// The records of all its threads.
    pub async fn history(&self) -> TrialResult<BTreeMap<String, Vec<HistoryEntry>>> {
        let runner = self.store.runner(chain::graph(&Walk::default())?);
        let mut all = BTreeMap::new();
        for thread in &self.threads {
            let history = runner.history(thread, 1, usize::from(u16::MAX)).await?;
            all.insert(thread.to_string(), history);
        }
        Ok(all)
    }

    /// The tasks that were begun again, as the logs tell it.
    pub async fn begun_again(&self) -> TrialResult<Vec<String>> {
        let all = self.history().await?;
        let entries = all.values().flatten();
        let again = entries.filter_map(|entry| match entry.event() {
            HistoryEvent::Resumed { tasks, .. } => Some(tasks.iter()),
            _ => None,
        });
        Ok(again
            .flatten()
            .map(|(task, n)| format!("{task} for the {n}. time"))
            .collect())
    }
}

const PATIENCE: Duration = Duration::from_mins(1);

/// What became of a queue whose worker was killed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HandOver {
    /// From the kill until another had begun each of its threads again, or ended them.
    pub took: Duration,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// Kills a worker in the midst of its threads, and lets another go on with them.
pub async fn hand_over(queue: &mut Queue) -> TrialResult<HandOver> {
    (queue.start.pause, queue.start.concurrency) = (20, 8);
    queue.fill("killed", 8, 40).await?;
    let first = queue.worker().await?;
    let held = queue.begun(8).await?;
    let second = queue.worker().await?;
    first.kill9().await?;
    let begin = Instant::now();
    let took = queue.gone_on(&held, begin).await?;
    queue.wait(0).await?;
    second.terminate().await?;
    let problems = queue.problems().await?;
    Ok(HandOver { took, problems })
}

impl Queue {
    /// Waits until so many threads have taken a step, and tells in which process.
    async fn begun(&self, threads: usize) -> TrialResult<BTreeMap<String, u32>> {
        let begin = Instant::now();
        loop {
            let mut seen = BTreeMap::new();
            for thread in &self.threads {
                if let Some(line) = self.evidence.lines(thread.as_str())?.last() {
                    seen.insert(thread.to_string(), line.process);
                }
            }
            if seen.len() >= threads {
                return Ok(seen);
            }
            if begin.elapsed() > PATIENCE {
                return Err("no thread begins".into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until every thread has taken a step in another process than before.
    async fn gone_on(&self, held: &BTreeMap<String, u32>, begin: Instant) -> TrialResult<Duration> {
        loop {
            let now = self.begun(held.len()).await?;
            if held
                .iter()
                .all(|(thread, process)| now.get(thread) != Some(process))
            {
                return Ok(begin.elapsed());
            }
            if begin.elapsed() > PATIENCE {
                return Err("nobody goes on with the threads of the dead".into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// What a worker said when it was asked to end in peace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainResult {
    /// Threads that it left to others.
    pub handed_over: u64,
    /// Tasks that were begun again for it.
    pub again: Vec<String>,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// Asks a worker to end in the midst of its threads, and lets another go on with them.
pub async fn drain(queue: &mut Queue) -> TrialResult<DrainResult> {
    (queue.start.pause, queue.start.concurrency) = (20, 8);
    queue.fill("drained", 8, 30).await?;
    let first = queue.worker().await?;
    queue.begun(8).await?;
    let said = first.terminate().await?;
    let Some(ServerLine::Worked(_, 0, handed_over)) = said.last() else {
        return Err(format!("the worker ended with {said:?}").into());
    };
    let second = queue.worker().await?;
    queue.wait(0).await?;
    second.terminate().await?;
    Ok(DrainResult {
        handed_over: *handed_over,
        again: queue.begun_again().await?,
        problems: queue.problems().await?,
    })
}

/// Threads that a worker of the race runs at once.
const THREADS: usize = 4;

/// How many durable steps a second so many workers take together, where each step waits 2 ms.
pub async fn throughput(queue: &mut Queue, workers: usize, steps: u64) -> TrialResult<f64> {
    queue.start.what = serve::ServedWork::Chain;
    (queue.start.pause, queue.start.concurrency) = (2, THREADS);
    let threads = 8 * workers;
    queue
        .fill(&format!("shared by {workers}"), threads, steps)
        .await?;
    let mut running = vec![];
    let begin = Instant::now();
    for _ in 0..workers {
        running.push(queue.worker().await?);
    }
    queue.wait(0).await?;
    let seconds = begin.elapsed().as_secs_f64();
    for worker in running {
        worker.terminate().await?;
    }
    let taken = steps.saturating_mul(threads as u64);
    // No queue is so long that this would be inexact.
    Ok(f64::from(u32::try_from(taken)?) / seconds)
}

/// The claims that are measured.
const CLAIMS: u32 = 200;

/// The time in milliseconds after which a worker without work claims again, as workers come.
const POLL: f64 = 250.0;

/// The workers that are computed.
const MANY: f64 = 100.0;

/// More workers than were tried, computed for a store that is as fast as the one that was.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display(
    "on paper, {MANY} workers of {THREADS} threads: {most:.0} steps/s together, and each waits for the \
     store if its steps take less than {shortest:.0} ms; without work they claim {claims:.0} times a \
     second, at {claim:.0} µs, which keeps one connection busy for {busy:.0} % of the time",
    shortest = self.shortest(),
    claims = MANY * 1000.0 / POLL,
    busy = MANY * claim / POLL / 10.0
)]
#[non_exhaustive]
pub struct OnPaper {
    /// The most steps a second that any number of workers took together.
    pub most: f64,
    /// A claim that finds nothing, as the median in microseconds.
    pub claim: f64,
}

impl OnPaper {
    /// Computes from steps a second that were measured, and measures what a claim costs.
    pub async fn of(queue: &Queue, steps: &[f64]) -> TrialResult<Self> {
        let mut took = vec![];
        for _ in 0..CLAIMS {
            let nothing = LeaseRequest::Claim(Claim {
                prefix: "nothing".into(),
                n: THREADS,
                owner: "share".into(),
                ttl: 1000,
                ..Claim::default()
            });
            let begin = Instant::now();
            queue.store.log().lease(nothing).await?;
            took.push(begin.elapsed());
        }
        Ok(Self {
            most: steps.iter().copied().fold(0.0, f64::max),
            claim: median(took),
        })
    }

    /// Returns the time of a step, in milliseconds, with which the workers want as many steps as the
    /// store takes.
    fn shortest(&self) -> f64 {
        // A few threads are exact.
        let threads = u32::try_from(THREADS).map_or(f64::MAX, f64::from);
        MANY * threads * 1000.0 / self.most
    }
}
