//! Several processes on one Postgres: killed, ended in peace, stopped and woken.
use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use fugato_graph::ThreadStatus;
use fugato_state::ThreadId;
use reliability::{
    BoxError,
    chain::{self, Chain, Change, Walk},
    child::{Child, Start},
    evidence::{Evidence, EvidenceKind},
    serve::{self, ServerLine},
    share::{Queue, drain, hand_over},
    store::{Kind, Place},
};
use rustix::process::Signal;

const PROGRAM: &str = env!("CARGO_BIN_EXE_reliability");

#[tokio::test(flavor = "multi_thread")]
async fn k14_a_killed_workers_threads_go_on_elsewhere() -> Result<(), BoxError> {
    let Some(place) = Place::new(Kind::Postgres)? else {
        return Ok(());
    };
    let mut queue = Queue::new(Path::new(PROGRAM), &place).await?;
    let killed = hand_over(&mut queue).await?;
    assert_eq!(killed.problems, [""; 0]);
    // The dead is asked for no step, so that its leases have run out.
    assert!(!queue.begun_again().await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn k14_a_worker_that_ends_hands_over_without_counting_an_attempt() -> Result<(), BoxError> {
    let Some(place) = Place::new(Kind::Postgres)? else {
        return Ok(());
    };
    let mut queue = Queue::new(Path::new(PROGRAM), &place).await?;
    let drained = drain(&mut queue).await?;
    assert_eq!(drained.problems, [""; 0]);
    assert_eq!(drained.again, [""; 0]);
    assert_eq!(drained.handed_over, 8);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn k14_workers_share_a_queue() -> Result<(), BoxError> {
    let Some(place) = Place::new(Kind::Postgres)? else {
        return Ok(());
    };
    let mut queue = Queue::new(Path::new(PROGRAM), &place).await?;
    (queue.start.pause, queue.start.concurrency) = (5, 2);
    // Nobody dies here: a lease that ends because the disk stalls would let one take over.
    queue.start.lease = 30_000;
    let workers = [
        queue.worker().await?,
        queue.worker().await?,
        queue.worker().await?,
    ];
    queue.fill("shared", 24, 10).await?;
    queue.wait(0).await?;
    let mut rested = vec![];
    for worker in workers {
        match worker.terminate().await?.last() {
            Some(ServerLine::Worked(own, 0, 0)) => rested.push(*own),
            other => return Err(format!("a worker ended with {other:?}").into()),
        }
    }
    assert_eq!(queue.problems().await?, [""; 0]);
    assert_eq!(rested.iter().sum::<u64>(), 24, "{rested:?}");
    assert!(
        rested.iter().all(|own| *own > 0),
        "one did nothing: {rested:?}"
    );
    // Nobody was in the way of anybody.
    assert_eq!(queue.begun_again().await?, [""; 0]);
    Ok(())
}

/// How many steps two processes fight for, and how often the one that has them is stopped.
const STEPS: u64 = 60;
const ROUNDS: usize = 3;

async fn fighter(place: &Place, evidence: &Evidence) -> Result<Child, BoxError> {
    let mut start = Start::new(Path::new(PROGRAM), &place.spec, evidence);
    (start.what, start.pause, start.lease) = (serve::ServedWork::Once, 40, 300);
    let mut child = start.spawn()?;
    child.ready().await?;
    Ok(child)
}

/// Waits until a process other than this one takes the steps; none if that takes too long.
async fn other_than(before: Option<u32>, evidence: &Evidence) -> Result<Option<u32>, BoxError> {
    let begin = Instant::now();
    loop {
        let owner = evidence.lines(THREAD)?.last().map(|line| line.process);
        if owner.is_some() && owner != before {
            return Ok(owner);
        }
        if begin.elapsed() > TAKES_OVER {
            return Ok(None);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How long a process waits for one that was stopped, many times the length of a lease.
const TAKES_OVER: Duration = Duration::from_secs(10);

/// Stops whoever has the thread until the other has it, and then lets it go on as if nothing were.
///
/// One that is stopped amid a transaction keeps the lock of a database file, which nobody can take
/// from it while it lives. That proves nothing about leases, so it is stopped at another moment.
async fn hand_over_by_stopping(
    fighters: &[Child],
    evidence: &Evidence,
) -> Result<[u32; 2], BoxError> {
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(..100))).await;
        let owner = other_than(None, evidence).await?.ok_or("nobody begins")?;
        let stopped = fighters.iter().find(|fighter| fighter.id() == Some(owner));
        let stopped = stopped.ok_or("one of the two has it")?;
        stopped.signal(Signal::STOP)?;
        let next = other_than(Some(owner), evidence).await?;
        stopped.signal(Signal::CONT)?;
        if let Some(next) = next {
            return Ok([owner, next]);
        }
    }
    Err("nobody takes over".into())
}

const THREAD: &str = "fought-for";

/// Two processes that take the thread from each other.
async fn two_processes_fight(kind: Kind) -> Result<(), BoxError> {
    let Some(place) = Place::new(kind)? else {
        return Ok(());
    };
    let evidence = Evidence::in_folder(&place.folder.path().join("evidence"))?;
    let store = place.open().await?;
    let runner = store.runner(chain::graph(&Walk::default())?);
    let thread = ThreadId::new(THREAD)?;
    runner.submit(&thread, Change::Wanted(STEPS)).await?;
    let fighters = [
        fighter(&place, &evidence).await?,
        fighter(&place, &evidence).await?,
    ];
    let mut owners = vec![];
    for _ in 0..ROUNDS {
        owners.push(hand_over_by_stopping(&fighters, &evidence).await?);
    }
    while runner.status(&thread).await? != ThreadStatus::Idle {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut done = BTreeMap::<String, Vec<u32>>::new();
    for line in evidence.lines(THREAD)? {
        if let EvidenceKind::Did { .. } = line.what {
            done.entry(line.task).or_default().push(line.process);
        }
    }
    assert_eq!(done.len() as u64, STEPS);
    done.retain(|_, by| by.len() > 1);
    assert_eq!(done, BTreeMap::new(), "the owners were {owners:?}");
    let (wanted, taken) = (STEPS, STEPS);
    let state = runner.state(&thread).await?;
    assert_eq!(state.as_deref(), Some(&Chain { wanted, taken }));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn d22_two_processes_fight_for_one_thread_on_sqlite() -> Result<(), BoxError> {
    two_processes_fight(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn d22_two_processes_fight_for_one_thread_on_postgres() -> Result<(), BoxError> {
    two_processes_fight(Kind::Postgres).await
}
