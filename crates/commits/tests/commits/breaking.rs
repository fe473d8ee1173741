//! Tests of stores that lose answers, say what is not so, lag behind or overwrite.
use std::sync::Arc;

use fugato_commits::{CommitLog, CommitLogOptions};
use fugato_state::Seq;
use fugato_store::{
    Claim, Commit, LeaseOutcome, LeaseRequest, Snapshots as _, Status, StoreErrorKind,
    ThreadAdmin as _, ThreadFilter, ThreadLog as _,
};
use futures::future::join_all;

use crate::{
    common::{acquire, commit, fold, kind, texts, thread},
    hostile::{Hostile, Mischief, clocked},
};

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
    let folder = fugato_testkit::tempdir().expect("it can be made");
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
