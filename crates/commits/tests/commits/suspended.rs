//! Tests of owners that are suspended while another takes their thread over.
use std::time::Duration;

use fugato_commits::CommitLog;
use fugato_store::{AppendResult, Commit, Fence, StoreErrorKind, ThreadAdmin as _, ThreadLog as _};

use crate::{
    common::{acquire, commit, fold, kind, texts, thread},
    hostile::{Hostile, Mischief, clocked},
};

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
