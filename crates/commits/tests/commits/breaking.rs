//! Tests of stores that lose answers, say what is not so, lag behind or overwrite, and of owners
//! that were suspended.
use std::{sync::Arc, time::Duration};

use fugato_commits::{CommitLog, CommitLogOptions};
use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{
    AppendResult, Claim, Commit, Expect, Fence, Lease, LeaseOutcome, LeaseRequest, Record,
    Snapshot, Snapshots as _, Status, StoreError, StoreErrorKind, ThreadAdmin as _, ThreadFilter,
    ThreadLog as _,
};
use futures::future::join_all;

use crate::hostile::{Hostile, Mischief, clocked};

fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("tests use short names")
}

fn commit(head: Seq, fence: Fence, text: &str) -> Commit {
    Commit {
        expect: Expect { head, fence },
        nonce: u128::from(head) + 1,
        records: vec![Record(text.into())],
        status: Status::Runnable,
        base: None,
    }
}

fn fold(seq: Seq) -> Snapshot {
    let body = format!("up to {seq}").into_bytes();
    Snapshot { seq, body }
}

async fn acquire(log: &CommitLog, name: &str, ttl: Millis) -> Result<Lease, StoreError> {
    let (thread, owner) = (thread(name), "owner".to_owned());
    let request = LeaseRequest::Acquire { thread, owner, ttl };
    match log.lease(request).await? {
        LeaseOutcome::Granted(leases) => Ok(leases.into_iter().next().expect("one was asked for")),
        other => panic!("no lease: {other:?}"),
    }
}

async fn claim(log: &CommitLog) -> Vec<String> {
    let (owner, ttl) = ("worker".to_owned(), 1_000);
    let claim = Claim {
        n: 9,
        owner,
        ttl,
        ..Claim::default()
    };
    let claimed = log.lease(LeaseRequest::Claim(claim)).await;
    match claimed.expect("it can be claimed") {
        LeaseOutcome::Granted(leases) => {
            let names = leases.into_iter().map(|lease| lease.thread.into());
            names.collect()
        }
        other => panic!("no leases: {other:?}"),
    }
}

async fn texts(log: &CommitLog, name: &str) -> Vec<String> {
    let read = log.read(&thread(name), 1, 1_000).await;
    let records = read.expect("it can be read").into_iter();
    records
        .map(|(_, record)| String::from_utf8_lossy(&record.0).into_owned())
        .collect()
}

fn kind<T>(result: Result<T, StoreError>) -> Result<T, StoreErrorKind> {
    result.map_err(|error| error.kind)
}

#[tokio::test]
async fn k30_opening_refuses_a_store_that_creates_twice() {
    let store = Hostile::default();
    store.overwrites();
    let opened = CommitLog::open(Arc::new(store), CommitLogOptions::default()).await;
    let refused = opened.expect_err("both of two writers would win");
    assert_eq!(
        refused.to_string(),
        "cannot open: invalid request: the store lets an object be created where one is, so that \
         of two writers both would win"
    );
}

#[tokio::test(start_paused = true)]
async fn k13_a_commit_that_was_stored_counts_once_whatever_was_said() {
    for (mischief, at_once) in [
        (Mischief::AnswerLost, Err(StoreErrorKind::Unavailable)),
        (Mischief::MeetsItself, Ok(1)),
        (Mischief::SaysExists, Ok(1)),
        (Mischief::Slow, Ok(1)),
        (Mischief::Throttled, Err(StoreErrorKind::Unavailable)),
    ] {
        let store = Hostile::default();
        let log = store.open(CommitLogOptions::default()).await;
        store.next([mischief]);
        let first = kind(log.append(&thread("desk"), &commit(0, 0, "a")).await);
        assert_eq!(first.map(|it| it.head), at_once, "{mischief:?}");
        let again = kind(log.append(&thread("desk"), &commit(0, 0, "a")).await);
        assert_eq!(again.map(|it| it.head), Ok(1), "{mischief:?}");
        let other = store.open(CommitLogOptions::default()).await;
        assert_eq!(texts(&other, "desk").await, ["a"], "{mischief:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_always_says_exists_is_unavailable() {
    let store = Hostile::default();
    let log = store.open(CommitLogOptions::default()).await;
    store.next([Mischief::SaysExists; 6]);
    let first = kind(log.append(&thread("desk"), &commit(0, 0, "a")).await);
    assert_eq!(first, Err(StoreErrorKind::Unavailable));
    let again = kind(log.append(&thread("desk"), &commit(0, 0, "a")).await);
    assert_eq!(again.map(|it| it.head), Ok(1));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_stored_is_granted_whatever_was_said() {
    for mischief in [Mischief::MeetsItself, Mischief::SaysExists, Mischief::Slow] {
        let store = Hostile::default();
        let log = store.open(CommitLogOptions::default()).await;
        store.next([mischief]);
        let lease = kind(acquire(&log, "desk", 10_000).await);
        assert_eq!(lease.map(|it| it.fence), Ok(1), "{mischief:?}");
    }
}

#[tokio::test]
async fn k30_a_repeat_finds_its_commit_behind_a_renewal() {
    let store = Hostile::default();
    let log = store.open(CommitLogOptions::default()).await;
    let fence = acquire(&log, "desk", 60_000)
        .await
        .expect("it is free")
        .fence;
    store.next([Mischief::AnswerLost]);
    let lost = kind(log.append(&thread("desk"), &commit(0, fence, "a")).await);
    assert_eq!(lost, Err(StoreErrorKind::Unavailable));
    let renew = LeaseRequest::Renew {
        thread: thread("desk"),
        fence,
        ttl: 60_000,
    };
    log.lease(renew).await.expect("it is ours");
    let again = kind(log.append(&thread("desk"), &commit(0, fence, "a")).await);
    assert_eq!(again.map(|it| it.head), Ok(1));
    assert_eq!(texts(&log, "desk").await, ["a"]);
}

/// Suspends an owner amid an append while another takes the thread over, which then does `meanwhile`.
async fn overtaken<F: Future<Output = ()>>(
    zombie_age: Duration,
    meanwhile: impl FnOnce(CommitLog, Fence) -> F,
) -> (Result<AppendResult, StoreErrorKind>, CommitLog) {
    let (store, (options, clock)) = (Hostile::default(), clocked());
    let options = options.zombie_age(zombie_age);
    let old = store.open(options.clone()).await;
    let new = store.open(options).await;
    let fence = acquire(&old, "desk", 10_000)
        .await
        .expect("it is free")
        .fence;
    let first = old.append(&thread("desk"), &commit(0, fence, "a")).await;
    first.expect("it is ours");
    store.next([Mischief::Pauses]);
    let late = tokio::spawn(async move {
        let late = Commit {
            nonce: 99,
            ..commit(1, fence, "late")
        };
        kind(old.append(&thread("desk"), &late).await)
    });
    store.paused().await;
    clock.advance(20_000);
    let fence = acquire(&new, "desk", 10_000)
        .await
        .expect("it ran out")
        .fence;
    meanwhile(new.clone(), fence).await;
    store.go_on();
    (late.await.expect("it does not panic"), new)
}

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[tokio::test]
async fn k30_who_collides_does_not_write_on_under_the_old_fence() {
    let (late, log) = overtaken(WEEK, async |log, fence| {
        let appended = log.append(&thread("desk"), &commit(1, fence, "b")).await;
        appended.expect("it is ours");
    })
    .await;
    assert_eq!(late, Err(StoreErrorKind::Conflict { head: 2, fence: 2 }));
    assert_eq!(texts(&log, "desk").await, ["a", "b"]);
    // The fence alone is enough.
    let (late, log) = overtaken(WEEK, async |_, _| {}).await;
    assert_eq!(late, Err(StoreErrorKind::Conflict { head: 1, fence: 2 }));
    assert_eq!(texts(&log, "desk").await, ["a"]);
}

async fn compact(log: CommitLog, fence: Fence) {
    for (head, text) in [(1, "b"), (2, "c")] {
        let appended = log
            .append(&thread("desk"), &commit(head, fence, text))
            .await;
        appended.expect("it is ours");
    }
    let compacted = log.compact(&thread("desk"), fold(3)).await;
    compacted.expect("it is there");
}

async fn remake(log: CommitLog, _: Fence) {
    log.remove(&thread("desk")).await.expect("it is there");
    let appended = log.append(&thread("desk"), &commit(0, 0, "anew")).await;
    appended.expect("it is a new thread");
}

#[tokio::test]
async fn k30_an_owner_suspended_across_a_compaction_or_removal_writes_nothing() {
    let (late, log) = overtaken(WEEK, compact).await;
    assert_eq!(late, Err(StoreErrorKind::Conflict { head: 3, fence: 2 }));
    let compacted = Err(StoreErrorKind::Compacted { base: 3 });
    assert_eq!(kind(log.read(&thread("desk"), 1, 9).await), compacted);
    let (late, log) = overtaken(WEEK, remake).await;
    assert_eq!(late, Err(StoreErrorKind::Conflict { head: 1, fence: 0 }));
    assert_eq!(texts(&log, "desk").await, ["anew"]);
}

#[tokio::test]
async fn without_a_zombie_age_a_suspended_owner_would_be_told_that_it_wrote() {
    // Two writers believe in one position: this is what the age is for.
    let (late, _) = overtaken(Duration::ZERO, compact).await;
    assert_eq!(late.map(|it| it.head), Ok(2));
}

#[tokio::test]
async fn k30_who_was_silent_for_longer_than_its_lease_reads_before_it_writes() {
    let (store, (options, clock)) = (Hostile::default(), clocked());
    let old = store.open(options.clone()).await;
    let new = store.open(options).await;
    let fence = acquire(&old, "desk", 10_000)
        .await
        .expect("it is free")
        .fence;
    let first = old.append(&thread("desk"), &commit(0, fence, "a")).await;
    first.expect("it is ours");
    clock.advance(20_000);
    let taken = acquire(&new, "desk", 10_000)
        .await
        .expect("it ran out")
        .fence;
    compact(new.clone(), taken).await;
    clock.advance(8 * 24 * 60 * 60 * 1_000);
    let swept = new.sweep().await.expect("it can be swept");
    assert!(
        swept > 2,
        "the places that the old owner knows are empty: {swept}"
    );
    let late = kind(old.append(&thread("desk"), &commit(1, fence, "late")).await);
    let fence = taken;
    assert_eq!(late, Err(StoreErrorKind::Conflict { head: 3, fence }));
    let next = new.append(&thread("desk"), &commit(3, fence, "d")).await;
    assert_eq!(next.expect("the log goes on").head, 4);
}

#[tokio::test]
async fn k30_an_answer_that_comes_after_a_suspension_is_as_old_as_its_request() {
    let (store, (options, clock)) = (Hostile::default(), clocked());
    let old = store.open(options.clone()).await;
    let new = store.open(options).await;
    let lease = acquire(&old, "desk", 10_000).await;
    let fence = lease.expect("it is free").fence;
    store.next([Mischief::AnsweredLate]);
    let suspended = tokio::spawn({
        let old = old.clone();
        async move { kind(old.append(&thread("desk"), &commit(0, fence, "a")).await) }
    });
    store.paused().await;
    clock.advance(20_000);
    let lease = acquire(&new, "desk", 10_000).await;
    let taken = lease.expect("it ran out").fence;
    compact(new.clone(), taken).await;
    clock.advance(8 * 24 * 60 * 60 * 1_000);
    assert!(new.sweep().await.expect("it can be swept") > 2);
    store.go_on();
    let first = suspended.await.expect("it does not panic");
    assert_eq!(first.map(|it| it.head), Ok(1), "it was stored in time");
    let late = Commit {
        nonce: 99,
        ..commit(1, fence, "late")
    };
    let late = kind(old.append(&thread("desk"), &late).await);
    let fence = taken;
    assert_eq!(late, Err(StoreErrorKind::Conflict { head: 3, fence }));
}

#[tokio::test]
async fn k37_listings_may_lag_behind_and_have_any_order() {
    let (store, (options, _)) = (Hostile::default(), clocked());
    let log = store.open(options.clone()).await;
    for head in 0..30 {
        let next = commit(head, 0, &head.to_string());
        log.append(&thread("desk"), &next)
            .await
            .expect("it is next");
    }
    for lag in [0, 1, 7, 29, 99] {
        store.lag(lag);
        let other = store.open(options.clone()).await;
        let head = other.head(&thread("desk")).await.expect("it answers");
        assert_eq!(head.map(|head| head.seq), Some(30), "{lag} are not listed");
        let twice = kind(other.append(&thread("desk"), &commit(7, 0, "x")).await);
        let conflict = Err(StoreErrorKind::Conflict { head: 30, fence: 0 });
        assert_eq!(twice, conflict, "{lag} are not listed");
        assert_eq!(texts(&other, "desk").await.len(), 30);
    }
}

#[tokio::test]
async fn k37_a_marker_stays_until_a_commit_has_passed_it() {
    let (store, (options, _)) = (Hostile::default(), clocked());
    let (writer, worker) = (store.open(options.clone()).await, store.open(options).await);
    let idle = Commit {
        status: Status::Idle,
        ..commit(0, 0, "a")
    };
    writer
        .append(&thread("desk"), &idle)
        .await
        .expect("it is new");
    assert_eq!(store.names("due").await, Vec::<String>::new());
    store.next([Mischief::Pauses]);
    let slow = tokio::spawn(async move {
        let slow = writer.append(&thread("desk"), &commit(1, 0, "b")).await;
        kind(slow)
    });
    store.paused().await;
    // The looker sees a marker ahead of the log.
    assert_eq!(claim(&worker).await, Vec::<String>::new());
    assert_eq!(store.names("due").await.len(), 1);
    store.go_on();
    let appended = slow.await.expect("it does not panic");
    assert_eq!(appended.map(|it| it.head), Ok(2));
    assert_eq!(claim(&worker).await, ["desk"]);
}

#[tokio::test]
async fn k37_a_loser_does_not_take_the_marker_of_the_winner() {
    let (store, (options, _)) = (Hostile::default(), clocked());
    let (one, two) = (store.open(options.clone()).await, store.open(options).await);
    store.next([Mischief::Pauses]);
    let loser = tokio::spawn(async move {
        let mut next = commit(0, 0, "loser");
        next.nonce = 77;
        kind(one.append(&thread("desk"), &next).await)
    });
    store.paused().await;
    // The same ordinal at the same time: the markers have one name.
    let winner = two.append(&thread("desk"), &commit(0, 0, "winner")).await;
    winner.expect("it is new");
    store.go_on();
    let lost = loser.await.expect("it does not panic");
    assert_eq!(lost, Err(StoreErrorKind::Conflict { head: 1, fence: 0 }));
    assert_eq!(claim(&two).await, ["desk"]);
}

#[tokio::test]
async fn k37_markers_that_a_log_has_passed_are_removed() {
    let (store, (options, clock)) = (Hostile::default(), clocked());
    let log = store.open(options).await;
    // A commit is lost after its marker was written, and another takes its place.
    store.next([Mischief::Throttled]);
    let lost = kind(log.append(&thread("desk"), &commit(0, 0, "a")).await);
    assert_eq!(lost, Err(StoreErrorKind::Unavailable));
    clock.advance(5);
    for (head, status) in [
        (0, Status::Runnable),
        (1, Status::Runnable),
        (2, Status::Idle),
    ] {
        let next = Commit {
            status,
            ..commit(head, 0, "a")
        };
        log.append(&thread("desk"), &next)
            .await
            .expect("it is next");
    }
    assert_eq!(store.names("due").await.len(), 1);
    assert_eq!(claim(&log).await, Vec::<String>::new());
    assert_eq!(store.names("due").await, Vec::<String>::new());
}

#[tokio::test]
async fn k37_a_lease_is_taken_as_much_later_as_clocks_may_differ() {
    let (store, (options, clock)) = (Hostile::default(), clocked());
    let (one, two) = (store.open(options.clone()).await, store.open(options).await);
    let lease = acquire(&one, "desk", 1_000).await.expect("it is free");
    let next = commit(0, lease.fence, "a");
    one.append(&thread("desk"), &next)
        .await
        .expect("it is ours");
    clock.advance(2_999);
    let busy = kind(acquire(&two, "desk", 1_000).await);
    let (owner, until) = ("owner".to_owned(), lease.until + 2_000);
    assert_eq!(busy, Err(StoreErrorKind::Busy { owner, until }));
    assert_eq!(claim(&two).await, Vec::<String>::new());
    clock.advance(1);
    assert_eq!(claim(&two).await, ["desk"]);
}

#[tokio::test]
async fn k37_opening_measures_the_clock() {
    for ahead in [-3_100, 3_100] {
        let store = Hostile::default();
        store.clock_ahead(ahead);
        let opened = CommitLog::open(Arc::new(store), CommitLogOptions::default()).await;
        let refused = opened.expect_err("it differs too much").to_string();
        assert!(refused.contains("at most 2000 ms are allowed"), "{refused}");
    }
    let store = Hostile::default();
    let before = store.open(CommitLogOptions::default()).await;
    let before = acquire(&before, "one", 1).await.expect("it is free").now;
    store.clock_ahead(1_500);
    let corrected = store.open(CommitLogOptions::default()).await;
    let now = acquire(&corrected, "two", 1).await.expect("it is free").now;
    assert!(now - before >= 1_500 - 999, "{}", now - before);
}

#[tokio::test]
async fn k17_what_was_removed_is_gone_at_once() {
    let (store, (options, clock)) = (Hostile::default(), clocked());
    let log = store.open(options).await;
    for head in 0..3 {
        let base = Some(fold(head + 1));
        let next = Commit {
            base,
            ..commit(head, 0, "secret")
        };
        log.append(&thread("desk"), &next)
            .await
            .expect("it is next");
    }
    log.put(&thread("desk"), fold(2))
        .await
        .expect("it is there");
    log.remove(&thread("desk")).await.expect("it is there");
    for text in ["secret", "up to"] {
        assert!(!store.holds(text).await, "{text}");
    }
    for folder in ["due", "names", "folds"] {
        assert_eq!(store.names(folder).await, Vec::<String>::new());
    }
    assert_eq!(store.names("threads").await.len(), 4);
    clock.advance(8 * 24 * 60 * 60 * 1_000);
    assert_eq!(log.sweep().await.map_err(|error| error.kind), Ok(3));
    // The last commit of what was removed stays.
    assert_eq!(store.names("threads").await.len(), 1);
    let anew = log.append(&thread("desk"), &commit(0, 0, "anew")).await;
    assert_eq!(anew.expect("it is a new thread").head, 1);
    let listed = log.list(ThreadFilter::default()).await.expect("it lists");
    assert_eq!(listed.len(), 1);
}

#[tokio::test]
async fn an_unreadable_thread_does_not_hold_up_the_others() {
    let (store, (options, _)) = (Hostile::default(), clocked());
    let log = store.open(options.clone()).await;
    let first = log.append(&thread("bad"), &commit(0, 0, "a")).await;
    first.expect("it is new");
    let name = store.names("threads").await.remove(0);
    log.append(&thread("good"), &commit(0, 0, "a"))
        .await
        .expect("it is new");
    let other = store.open(options).await;
    for (content, expected) in [
        ("{\"version\":2}\n", "an object has version 2; known is 1"),
        ("hello", "an object does not begin with its description"),
    ] {
        store.write(&name, content).await;
        let corrupt = Err(StoreErrorKind::Corrupt(expected.to_owned()));
        assert_eq!(kind(other.head(&thread("bad")).await), corrupt);
    }
    assert_eq!(claim(&other).await, ["good"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn k30_renewals_and_appends_of_one_owner_do_not_collide() {
    let store = Hostile::default();
    store.next(
        [Mischief::Slow, Mischief::None]
            .into_iter()
            .cycle()
            .take(60),
    );
    let log = store.open(CommitLogOptions::default()).await;
    let lease = acquire(&log, "desk", 60_000).await;
    let fence = lease.expect("it is free").fence;
    let renewals = (0..20).map(|_| {
        let (log, thread) = (log.clone(), thread("desk"));
        let ttl = 60_000;
        tokio::spawn(async move { log.lease(LeaseRequest::Renew { thread, fence, ttl }).await })
    });
    let renewals: Vec<_> = renewals.collect();
    for head in 0..20 {
        let next = commit(head, fence, "a");
        log.append(&thread("desk"), &next)
            .await
            .expect("it is ours");
    }
    for renewal in join_all(renewals).await {
        renewal.expect("it does not panic").expect("it is ours");
    }
    assert_eq!(store.collisions(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_does_not_go_on_holds_up_nobody_for_ever() {
    let store = Hostile::default();
    let log = store.open(CommitLogOptions::default()).await;
    store.next([Mischief::Pauses]);
    let desk = thread("desk");
    let first = commit(0, 0, "first");
    let mut stuck = Box::pin(log.append(&desk, &first));
    assert!(futures::poll!(&mut stuck).is_pending());
    let second = Commit {
        nonce: 77,
        ..commit(0, 0, "second")
    };
    let appended = log.append(&desk, &second).await;
    assert_eq!(appended.expect("it goes on beside it").head, 1);
    store.go_on();
    let lost = Err(StoreErrorKind::Conflict { head: 1, fence: 0 });
    assert_eq!(kind(stuck.await), lost);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn k13_many_processes_on_a_hostile_store_write_every_commit_once() {
    use Mischief::{AnswerLost, MeetsItself, None, SaysExists, Slow, Throttled};
    let store = Hostile::default();
    let all = [
        AnswerLost,
        None,
        MeetsItself,
        Slow,
        SaysExists,
        None,
        Throttled,
        None,
        None,
    ];
    store.next(all.into_iter().cycle().take(2_000));
    every_commit_once(async || store.open(CommitLogOptions::default()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn k13_many_writers_of_one_folder_write_every_commit_once() {
    let folder = tempfile::tempdir().expect("it can be made");
    let open = async || {
        let log = CommitLog::open_folder(folder.path(), CommitLogOptions::default()).await;
        log.expect("the folder can be used")
    };
    every_commit_once(open).await;
}

/// Lets many owners write one thread at the same time, each with a log of its own. Every commit is
/// there once, where its writer was told.
async fn every_commit_once(open: impl AsyncFn() -> CommitLog) {
    let mut writers = vec![];
    for writer in 0..6 {
        writers.push(tokio::spawn(write_all(open().await, writer)));
    }
    let mut all = vec![];
    for written in join_all(writers).await {
        all.extend(written.expect("it does not panic"));
    }
    all.sort();
    assert_eq!(all.len(), 120);
    let read = open().await.read(&thread("desk"), 1, 1_000).await;
    let read = read.expect("it can be read").into_iter();
    let read = read.map(|(seq, record)| (seq, String::from_utf8_lossy(&record.0).into_owned()));
    assert_eq!(read.collect::<Vec<_>>(), all);
}

/// Writes twenty commits, and returns where they are.
async fn write_all(log: CommitLog, writer: u32) -> Vec<(Seq, String)> {
    let desk = thread("desk");
    let (mut head, mut written) = (0, vec![]);
    for n in 0..20_u32 {
        let text = format!("{writer}:{n}");
        loop {
            let next = Commit {
                nonce: (u128::from(writer) << 64) | (u128::from(n) << 32) | u128::from(head),
                ..commit(head, 0, &text)
            };
            match kind(log.append(&desk, &next).await) {
                Ok(appended) => {
                    head = appended.head;
                    written.push((head, text));
                    break;
                }
                // The same commit again.
                Err(StoreErrorKind::Unavailable) => {}
                Err(StoreErrorKind::Conflict { head: end, .. }) => {
                    // One whose answer was lost may be there already, if others followed.
                    let read = log.read(&desk, head + 1, 1_000).await;
                    let read = read.expect("it can be read");
                    let own = read.iter().find(|(_, record)| record.0 == text.as_bytes());
                    head = end;
                    if let Some((seq, _)) = own {
                        written.push((*seq, text));
                        break;
                    }
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    written
}
