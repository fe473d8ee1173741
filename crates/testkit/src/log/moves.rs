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
    Commit, Expect, Fence, Head, Intercept, InterceptedLog, LeaseOutcome, LeaseRequest, Moved,
    Record, Route, Signal, Snapshot, Status, StoreCall, StoreError, StoreErrorKind, ThreadStore,
    move_thread,
};

use super::{Failure, Verdict, failure::same};

/// The time for which a process holds a thread here, in milliseconds.
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

fn ensure(right: bool, what: impl Into<String>) -> Verdict {
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
/// the two can run a thread, and after the move is repeated exactly one, with all its records.
pub async fn moves_leave_one_home(
    from: &Arc<dyn ThreadStore>,
    to: &Arc<dyn ThreadStore>,
) -> Verdict {
    for kind in [Kind::Short, Kind::Long, Kind::Compacted, Kind::Folded] {
        for last in 0.. {
            let mut died = false;
            for carried_out in [false, true] {
                let name = format!("{kind:?} {last} {carried_out}");
                let thread =
                    ThreadId::new(&name).map_err(|error| Failure::new(error.to_string()))?;
                let mortal = Arc::new(Mortal {
                    requests: AtomicUsize::new(0),
                    last,
                    carried_out,
                });
                let trial = Trial {
                    thread: &thread,
                    from,
                    to,
                    mortal: &mortal,
                };
                trial
                    .run(kind)
                    .await
                    .map_err(|why| Failure::new(format!("{name}: {why}")))?;
                died |= mortal.is_dead();
            }
            if !died {
                ensure(last > 8, "a move has more requests")?;
                break;
            }
        }
    }
    refuses(from, to).await
}

struct Trial<'a> {
    thread: &'a ThreadId,
    from: &'a Arc<dyn ThreadStore>,
    to: &'a Arc<dyn ThreadStore>,
    mortal: &'a Arc<Mortal>,
}

impl Trial<'_> {
    async fn run(&self, kind: Kind) -> Verdict {
        let (thread, from, to) = (self.thread, self.from, self.to);
        fill(from, thread, kind).await?;
        let before = seen(from, thread).await?;
        let (there, back) = (Route::new("old", "new"), Route::new("new", "old"));
        let mortal =
            |log: &Arc<dyn ThreadStore>| InterceptedLog::new(log.clone(), self.mortal.clone());
        let killed = move_thread(thread, &mortal(from), &mortal(to), &there).await;
        ensure(
            killed.is_ok() || self.mortal.is_dead(),
            format!("the move, not killed: {killed:?}"),
        )?;
        // At most one runs, and what runs is whole.
        let lives = self.homes().await?;
        match lives {
            (true, true) => return Err(Failure::new("both stores run the thread")),
            (true, false) => same("at home", seen(from, thread).await?, before.clone())?,
            (false, true) => {
                let mut now = seen(to, thread).await?;
                // What stands for the fold alone goes when the move is repeated.
                now.1.retain(|(seq, _)| *seq > before.0.base);
                now.0.base = before.0.base;
                same("moved", now, before.clone())?;
            }
            (false, false) => ensure(killed.is_err(), "no store runs a thread that moved")?,
        }
        for attempt in ["again", "once more"] {
            let moved: Moved = move_thread(thread, from, to, &there).await?;
            same(attempt, moved.head, before.0.seq)?;
            same("its homes", self.homes().await?, (false, true))?;
            same("what moved", seen(to, thread).await?, before.clone())?;
        }
        // It goes on there, and comes back.
        go_on(to, thread).await?;
        let after = seen(to, thread).await?;
        move_thread(thread, to, from, &back).await?;
        same("its homes", self.homes().await?, (true, false))?;
        let mut came = seen(from, thread).await?;
        // What was folded there is a record here.
        came.1.retain(|(seq, _)| *seq > after.0.base);
        same(
            "what came back",
            (came.0.seq, came.0.nonce, came.1),
            (after.0.seq, after.0.nonce, after.1),
        )?;
        Ok(())
    }

    /// Returns the stores that let a process run the thread.
    async fn homes(&self) -> Result<(bool, bool), Failure> {
        Ok((
            runs(self.from, self.thread).await?,
            runs(self.to, self.thread).await?,
        ))
    }
}

/// A thread of another history is never touched, and nothing moves that runs or is not there.
async fn refuses(from: &(impl ThreadStore + ?Sized), to: &(impl ThreadStore + ?Sized)) -> Verdict {
    let thread = ThreadId::new("two").map_err(|error| Failure::new(error.to_string()))?;
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

async fn fill(log: &(impl ThreadStore + ?Sized), thread: &ThreadId, kind: Kind) -> Verdict {
    let many: Vec<_> = (0..600).map(|n| n.to_string()).collect();
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
) -> Verdict {
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

async fn go_on(log: &(impl ThreadStore + ?Sized), thread: &ThreadId) -> Verdict {
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
async fn seen(
    log: &(impl ThreadStore + ?Sized),
    thread: &ThreadId,
) -> Result<(Head, Vec<(Seq, Record)>), Failure> {
    let head = log.head(thread).await?;
    let head = head.ok_or_else(|| Failure::new("the thread is not there"))?;
    let records = log.read(thread, head.base + 1, 10_000).await?;
    let own = Head {
        fence: 0,
        now: 0,
        ..head
    };
    Ok((own, records))
}
