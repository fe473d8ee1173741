//! Moves of threads between two stores, killed at every request.
use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use fugato_state::{Seq, ThreadId};
use fugato_store::{
    Commit, Expect, Fence, Head, Intercept, InterceptedLog, LeaseOutcome, LeaseRequest, MemoryLog,
    MoveReport, Record, Route, Signal, Snapshot, Status, StoreCall, StoreError, StoreErrorKind,
    ThreadStore, absence, move_thread,
};

use super::{CheckResult, Failure, TestClock, failure::same};
use crate::share;

/// The time for which a process holds a thread here, in milliseconds; more than a move keeps one
/// that it has not moved.
const TTL: i64 = 60_000;
/// Some day in 2033, at which a thread sleeps.
const LATER: i64 = 2_000_000_000_000;

/// A process that dies at one of its requests, before or after the store has carried it out.
struct Mortal {
    requests: AtomicUsize,
    last: usize,
    carried_out: bool,
}

impl Mortal {
    fn is_dead(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > self.last
    }
}

impl Intercept for Mortal {
    async fn around<T: Send>(
        &self,
        _: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let dead = || StoreError::new(StoreErrorKind::Unavailable, "live");
        if request < self.last {
            return act.await;
        }
        if request == self.last && self.carried_out {
            act.await?;
        }
        Err(dead())
    }
}

fn ensure(right: bool, what: impl Into<String>) -> CheckResult {
    right.then_some(()).ok_or_else(|| Failure::new(what))
}

/// The kinds of threads that move.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// One record.
    Short,
    /// More records than are read at once; the thread waits for an answer.
    Long,
    /// A fold, and records after it; the thread sleeps.
    Compacted,
    /// Nothing but a fold.
    Folded,
}

/// Moves threads from one store to another and back, killed at every request in turn: at most one of
/// the two can run a thread, and after the move is repeated exactly one, with all its records. A
/// thread that did not move goes on where it was. A move that is repeated late, when its thread has
/// gone on to a third store or comes back from there, makes no second home.
///
/// Both stores read the time from `clock`.
pub async fn moves_leave_one_home(
    from: &Arc<dyn ThreadStore>,
    to: &Arc<dyn ThreadStore>,
    clock: &TestClock,
) -> CheckResult {
    for kind in [Kind::Short, Kind::Long, Kind::Compacted, Kind::Folded] {
        at_every_request(kind, async |thread, kill| {
            let trial = Trial::new((thread, clock), kill);
            fill(from, thread, kind).await?;
            let there = trial.way((from, to), &Route::new("old", "new")).await?;
            go_on(to, thread).await?;
            // It comes back, and is killed again.
            let trial = Trial::new((thread, clock), kill);
            let back = trial.way((to, from), &Route::new("new", "old")).await?;
            Ok(there || back)
        })
        .await?;
    }
    let (time, third) = (clock.clone(), Route::new("new", "third"));
    let beyond: Arc<dyn ThreadStore> = Arc::new(MemoryLog::with_clock(move || time.now()));
    for kind in [Kind::Short, Kind::Folded] {
        at_every_request(kind, async |thread, kill| {
            let thread = &name(&format!("{thread} beyond"))?;
            fill(from, thread, kind).await?;
            let first = Route::new("old", "new");
            move_thread(thread, from, to, &first).await?;
            move_thread(thread, to, &beyond, &third).await?;
            let stores = [from, to, &beyond];
            move_thread(thread, from, to, &first).await?;
            same("its homes", homes(stores, thread).await?, vec![2])?;
            let back = Route::new("third", "new");
            let mortal = Arc::new(kill.mortal());
            let killed = |log: &Arc<dyn ThreadStore>| mortal_log(log, &mortal);
            let _ = move_thread(thread, &killed(&beyond), &killed(to), &back).await;
            for pause in [0, TTL] {
                clock.advance(pause);
                let late = move_thread(thread, from, to, &first).await;
                let homes = homes(stores, thread).await?;
                ensure(
                    homes.len() <= 1,
                    format!("{homes:?} run it, after {late:?}"),
                )?;
            }
            move_thread(thread, &beyond, to, &back).await?;
            same("its homes", homes(stores, thread).await?, vec![1])?;
            Ok(mortal.is_dead())
        })
        .await?;
    }
    refuses(from, to).await
}

/// The request at which a process dies, before or after the store has carried it out, and whether
/// the thread goes on before the move is repeated.
#[derive(Debug, Clone, Copy)]
struct Kill {
    last: usize,
    carried_out: bool,
    goes_on: bool,
}

impl Kill {
    fn mortal(self) -> Mortal {
        Mortal {
            requests: AtomicUsize::new(0),
            last: self.last,
            carried_out: self.carried_out,
        }
    }
}

/// Runs a trial, which returns true if its process died, for each request of it, or a
/// [share](share()) of them.
async fn at_every_request(
    kind: Kind,
    trial: impl AsyncFn(&ThreadId, Kill) -> Result<bool, Failure>,
) -> CheckResult {
    for last in (kind as usize % share()..).step_by(share()) {
        let mut died = false;
        for (carried_out, goes_on) in [(false, false), (true, false), (false, true), (true, true)] {
            let kill = Kill {
                last,
                carried_out,
                goes_on,
            };
            let thread = name(&format!("{kind:?} {last} {carried_out} {goes_on}"))?;
            let ran = trial(&thread, kill).await;
            died |= ran.map_err(|why| Failure::new(format!("{thread}: {why}")))?;
        }
        if !died {
            return ensure(last > 8, "a move has more requests");
        }
    }
    Ok(())
}

fn name(of: &str) -> Result<ThreadId, Failure> {
    ThreadId::new(of).map_err(|error| Failure::new(error.to_string()))
}

type MortalLog = InterceptedLog<Arc<dyn ThreadStore>, Arc<Mortal>>;

fn mortal_log(log: &Arc<dyn ThreadStore>, mortal: &Arc<Mortal>) -> MortalLog {
    InterceptedLog::new(log.clone(), mortal.clone())
}

struct Trial<'a> {
    thread: &'a ThreadId,
    clock: &'a TestClock,
    kill: Kill,
    mortal: Arc<Mortal>,
}

impl<'a> Trial<'a> {
    fn new((thread, clock): (&'a ThreadId, &'a TestClock), kill: Kill) -> Self {
        let mortal = Arc::new(kill.mortal());
        Self {
            thread,
            clock,
            kill,
            mortal,
        }
    }

    /// Moves the thread in a process that dies, and repeats the move. Returns true if it died.
    async fn way(
        &self,
        (from, to): (&Arc<dyn ThreadStore>, &Arc<dyn ThreadStore>),
        route: &Route,
    ) -> Result<bool, Failure> {
        let (thread, mortal) = (self.thread, &self.mortal);
        let mut before = seen(from, thread).await?;
        let (old, new) = (mortal_log(from, mortal), mortal_log(to, mortal));
        let killed = move_thread(thread, &old, &new, route).await;
        ensure(
            killed.is_ok() || mortal.is_dead(),
            format!("the move, not killed: {killed:?}"),
        )?;
        // At most one runs, and what runs is whole.
        let lives = homes([from, to], thread).await?;
        let has_moved = self.look((from, to), &lives, &before).await?;
        ensure(
            has_moved || killed.is_err(),
            "no store runs a thread that moved",
        )?;
        // What keeps a thread that has not moved ends with the process.
        self.clock.advance(TTL);
        let later = homes([from, to], thread).await?;
        let has_left = absence(&**from, thread).await?.is_some();
        same("the old store runs it", later.contains(&0), !has_left)?;
        self.look((from, to), &later, &before).await?;
        let mut held = None;
        if self.kill.goes_on && !has_left {
            go_on(from, thread).await?;
            before = seen(from, thread).await?;
        } else if self.kill.goes_on && later == [1] {
            held = Some(acquire(to, thread).await?);
        }
        for attempt in ["again", "once more"] {
            let moved: MoveReport = move_thread(thread, from, to, route).await?;
            same(attempt, moved.head, before.0.seq)?;
            if let Some(fence) = held.take() {
                let thread = thread.clone();
                to.lease(LeaseRequest::Release { thread, fence }).await?;
            }
            same("its homes", homes([from, to], thread).await?, vec![1])?;
            let arrived = seen(to, thread).await?;
            // What stood for a fold that is all there is.
            let stands = arrived.1.iter().any(|(_, record)| record.0.is_empty());
            ensure(!stands, "a record is left that the old store has not")?;
            is_whole(arrived, &before)?;
        }
        Ok(mortal.is_dead())
    }

    /// Checks what can be run, and returns true if the new store runs it.
    async fn look(
        &self,
        (from, to): (&Arc<dyn ThreadStore>, &Arc<dyn ThreadStore>),
        lives: &[usize],
        before: &ThreadView,
    ) -> Result<bool, Failure> {
        let thread = self.thread;
        match lives {
            [] => {}
            [0] => same("at home", seen(from, thread).await?, before.clone())?,
            [1] => {
                is_whole(seen(to, thread).await?, before)?;
                let left = absence(&**from, thread).await?;
                let left = left.map(|it| it.to_string()).unwrap_or_default();
                ensure(left.contains("moved from"), format!("it is said: {left:?}"))?;
            }
            both => return Err(Failure::new(format!("{both:?} run the thread"))),
        }
        Ok(lives == [1])
    }
}

/// A head without what is the store's own, and the records.
type ThreadView = (Head, Vec<(Seq, Record)>);

/// Checks that everything has arrived. Where it was before, a store may have more of the beginning.
fn is_whole(mut now: ThreadView, before: &ThreadView) -> CheckResult {
    now.1.retain(|(seq, _)| *seq > before.0.base);
    now.0.base = before.0.base;
    same("what moved", now, before.clone())
}

/// Returns the stores that let a process run the thread, by their places.
async fn homes<const N: usize>(
    stores: [&Arc<dyn ThreadStore>; N],
    thread: &ThreadId,
) -> Result<Vec<usize>, Failure> {
    let mut homes = vec![];
    for (place, store) in stores.into_iter().enumerate() {
        if runs(store, thread).await? {
            homes.push(place);
        }
    }
    Ok(homes)
}

/// A thread of another history is never touched, and nothing moves that runs or is not there.
async fn refuses(
    from: &(impl ThreadStore + ?Sized),
    to: &(impl ThreadStore + ?Sized),
) -> CheckResult {
    let thread = name("two")?;
    let route = Route::new("old", "new");
    let kind = async || {
        let refused = move_thread(&thread, from, to, &route).await;
        refused.err().map(|error| error.kind)
    };
    same("none there", kind().await, Some(StoreErrorKind::NotFound))?;
    append(from, &thread, 0, &["a"], Status::Idle).await?;
    append(to, &thread, 0, &["b"], Status::Idle).await?;
    let other = kind().await;
    ensure(
        matches!(other, Some(StoreErrorKind::Invalid(_))),
        format!("a thread of this name there: {other:?}"),
    )?;
    ensure(runs(from, &thread).await?, "a refused thread stays")?;
    ensure(runs(to, &thread).await?, "the other stays, too")?;
    let fence = acquire(from, &thread).await?;
    let busy = kind().await;
    ensure(
        matches!(&busy, Some(StoreErrorKind::Busy { owner, .. }) if owner == "process"),
        format!("a thread that runs: {busy:?}"),
    )?;
    let thread = thread.clone();
    from.lease(LeaseRequest::Release { thread, fence }).await?;
    Ok(())
}

async fn fill(log: &(impl ThreadStore + ?Sized), thread: &ThreadId, kind: Kind) -> CheckResult {
    let many: Vec<_> = (0..300).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let fold = |seq| Snapshot {
        seq,
        body: b"fold".to_vec(),
    };
    match kind {
        Kind::Short => append(log, thread, 0, &["a"], Status::Runnable).await?,
        Kind::Long => {
            append(log, thread, 0, &many, Status::Waiting { expires: None }).await?;
        }
        Kind::Compacted => {
            let until = LATER;
            let texts = ["a", "b", "c", "d", "e"];
            append(log, thread, 0, &texts, Status::Sleeping { until }).await?;
            log.compact(thread, fold(2)).await?;
        }
        Kind::Folded => {
            append(log, thread, 0, &["a", "b"], Status::Idle).await?;
            log.compact(thread, fold(2)).await?;
        }
    }
    Ok(())
}

async fn append(
    log: &(impl ThreadStore + ?Sized),
    thread: &ThreadId,
    head: Seq,
    texts: &[&str],
    status: Status,
) -> CheckResult {
    let fence = acquire(log, thread).await?;
    let commit = Commit {
        expect: Expect { head, fence },
        nonce: (u128::from(head) << 64) | 7,
        records: texts.iter().map(|text| Record((*text).into())).collect(),
        status,
        base: None,
    };
    log.append(thread, &commit).await?;
    let thread = thread.clone();
    log.lease(LeaseRequest::Release { thread, fence }).await?;
    Ok(())
}

async fn go_on(log: &(impl ThreadStore + ?Sized), thread: &ThreadId) -> CheckResult {
    let head = log.head(thread).await?.map_or(0, |head| head.seq);
    append(log, thread, head, &["more", "and more"], Status::Idle).await?;
    let (thread, signal) = (
        thread.clone(),
        Signal::Cancel {
            by: "a".into(),
            why: "b".into(),
        },
    );
    log.lease(LeaseRequest::Signal { thread, signal }).await?;
    Ok(())
}

async fn acquire(
    log: &(impl ThreadStore + ?Sized),
    thread: &ThreadId,
) -> Result<Fence, StoreError> {
    let (thread, owner) = (thread.clone(), "process".to_owned());
    match log
        .lease(LeaseRequest::Acquire {
            thread,
            owner,
            ttl: TTL,
        })
        .await?
    {
        LeaseOutcome::Granted(leases) => Ok(leases.first().map_or(0, |lease| lease.fence)),
        _ => Ok(0),
    }
}

/// Returns true if a process can run a thread that is there.
async fn runs(log: &(impl ThreadStore + ?Sized), thread: &ThreadId) -> Result<bool, Failure> {
    if log.head(thread).await?.is_none() {
        return Ok(false);
    }
    match acquire(log, thread).await {
        Ok(fence) => {
            let thread = thread.clone();
            log.lease(LeaseRequest::Release { thread, fence }).await?;
            Ok(true)
        }
        Err(error) if matches!(error.kind, StoreErrorKind::Busy { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the head of a thread without what is the store's own, and its records.
async fn seen(log: &(impl ThreadStore + ?Sized), thread: &ThreadId) -> Result<ThreadView, Failure> {
    let head = log.head(thread).await?;
    let head = head.ok_or_else(|| Failure::new("the thread is not there"))?;
    let records = log.read(thread, head.base + 1, 10_000).await?;
    let own = Head {
        fence: 0,
        leased_until: None,
        now: 0,
        ..head
    };
    Ok((own, records))
}
