//! Tests of failures of the server and the network, and of competing processes.

use std::{sync::Arc, time::Duration};

use crate::fixture::{TestResult, commit, connect, fresh, name, poke, why};
use fugato_postgres::{PostgresLog, PostgresOptions, Synchronous};
use fugato_store::{Lease, LeaseOutcome, LeaseRequest, Record, Status, StoreErrorKind, ThreadLog};
use fugato_testkit::log::nothing_is_lost_with_a_killed_server;
use futures::future::join_all;
use servers::{Postgres, Wire};

#[tokio::test]
async fn d15_a_commit_of_which_the_server_was_cut_off_can_be_repeated() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let (schema, desk) = (fresh(), name("desk"));
    let log = connect(server, &schema).await?;
    let fence = acquire(&log, "desk").await?.fence;
    let mut poke = poke(server).await?;
    let hold = poke.hold(&schema).await?;
    let first = commit(0, fence, "a");
    let append = log.append(&desk, &first);
    // The commit waits for the row; then its connection is ended.
    let (appended, ended) = tokio::join!(append, hold.end_who_waits(&schema));
    assert_eq!(ended?, 1);
    assert_eq!(why(appended), Some(StoreErrorKind::Unavailable));
    hold.let_go().await?;
    let appended = log.append(&desk, &first).await?;
    assert_eq!(appended.head, 1);
    assert_eq!(log.append(&desk, &first).await?.head, 1);
    assert_eq!(log.read(&desk, 1, 9).await?, [(1, Record(b"a".to_vec()))]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn d15_an_answer_that_was_lost_is_given_again() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let (schema, desk) = (fresh(), name("desk"));
    let straight = connect(server, &schema).await?;
    let wire = Wire::to(server);
    let options = PostgresOptions::default().schema(&schema).pool_size(1);
    let log = PostgresLog::connect_with(wire.url(), options).await?;
    let fence = acquire(&log, "desk").await?.fence;
    for head in 0..4 {
        // Prepares the statement, so that the next answer is that to the commit itself.
        let known = log.append(&desk, &commit(2 * head, fence, "known")).await?;
        assert_eq!(known.head, 2 * head + 1);
        let lost = commit(known.head, fence, "lost");
        wire.cut_after(0);
        let outcome = log.append(&desk, &lost).await;
        assert_eq!(why(outcome), Some(StoreErrorKind::Unavailable));
        wire.mend();
        // The commit was written without an answer; repeating it is safe.
        let written = straight.head(&desk).await?.map(|head| head.seq);
        assert_eq!(written, Some(known.head + 1));
        assert_eq!(log.append(&desk, &lost).await?.head, known.head + 1);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn d15_what_was_acknowledged_survives_kill_9_of_the_server() -> TestResult {
    let Some(server) = Postgres::start() else {
        return Ok(());
    };
    let log = Arc::new(connect(&server, &fresh()).await?);
    let kill = || tokio::task::block_in_place(|| server.kill9());
    let restart = || tokio::task::block_in_place(|| server.restart());
    Ok(nothing_is_lost_with_a_killed_server(log, kill, restart, 3).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn d2_of_many_writers_exactly_one_wins_each_position() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let (schema, desk) = (fresh(), name("desk"));
    let racers = (0..4).map(|racer| {
        let (schema, desk) = (schema.clone(), desk.clone());
        tokio::spawn(async move {
            // A pool of its own, as a separate process has.
            let log = connect(server, &schema).await?;
            let (author, mut won, mut head) = (format!("racer {racer}"), vec![], 0);
            while head < 100 {
                match log.append(&desk, &commit(head, 0, &author)).await {
                    Ok(appended) => {
                        head = appended.head;
                        won.push((head, Record(author.clone().into_bytes())));
                    }
                    Err(error) => match error.kind {
                        StoreErrorKind::Conflict { head: other, .. } => head = other,
                        _ => return Err(error),
                    },
                }
            }
            Ok(won)
        })
    });
    let mut won = vec![];
    for racer in join_all(racers.collect::<Vec<_>>()).await {
        won.extend(racer??);
    }
    won.sort_unstable_by_key(|(seq, _)| *seq);
    let log = connect(server, &schema).await?;
    assert_eq!(log.read(&desk, 1, 1_000).await?, won);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn k14_workers_share_the_queue_and_the_oldest_goes_first() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let schema = fresh();
    let log = connect(server, &schema).await?;
    let names: Vec<_> = (0..60).map(|number| format!("{number:03}")).collect();
    for thread in &names {
        log.append(&name(thread), &commit(0, 0, "go")).await?;
    }
    let oldest: Vec<_> = claim(&log, 20).await?;
    assert_eq!(oldest, names[..20]);
    let workers = (0..4).map(|_| {
        let schema = schema.clone();
        tokio::spawn(async move {
            let log = connect(server, &schema).await?;
            let mut mine = vec![];
            loop {
                let more = claim(&log, 3).await?;
                // The order within the claims of one worker.
                assert!(more.is_sorted());
                if more.is_empty() {
                    return Ok::<_, fugato_store::StoreError>(mine);
                }
                mine.extend(more);
            }
        })
    });
    let mut shared = vec![];
    for worker in join_all(workers.collect::<Vec<_>>()).await {
        shared.extend(worker??);
    }
    shared.extend(claim(&log, 60).await?);
    shared.sort_unstable();
    assert_eq!(shared, names[20..]);
    Ok(())
}

async fn claim(log: &PostgresLog, n: usize) -> Result<Vec<String>, fugato_store::StoreError> {
    let (owner, ttl) = ("worker".to_owned(), 60_000);
    let claim = fugato_store::Claim {
        n,
        owner,
        ttl,
        ..Default::default()
    };
    match log.lease(LeaseRequest::Claim(claim)).await? {
        LeaseOutcome::Granted(leases) => Ok(leases
            .into_iter()
            .map(|lease| lease.thread.as_str().to_owned())
            .collect()),
        other => panic!("claim got {other:?}"),
    }
}

async fn acquire(log: &PostgresLog, thread: &str) -> Result<Lease, fugato_store::StoreError> {
    let request = LeaseRequest::Acquire {
        thread: name(thread),
        owner: "owner".to_owned(),
        ttl: 60_000,
    };
    match log.lease(request).await? {
        LeaseOutcome::Granted(leases) => {
            Ok(leases.into_iter().next().expect("one lease is granted"))
        }
        other => panic!("acquire got {other:?}"),
    }
}

#[tokio::test]
async fn when_all_connections_are_in_use_the_error_says_so() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let (schema, desk) = (fresh(), name("desk"));
    let options = PostgresOptions::default()
        .schema(&schema)
        .pool_size(1)
        .pool_timeout(Duration::from_millis(50))
        .statement_timeout(Duration::from_millis(400));
    let log = PostgresLog::connect_with(server.url(), options).await?;
    log.append(&desk, &commit(0, 0, "a")).await?;
    let mut poke = poke(server).await?;
    let hold = poke.hold(&schema).await?;
    let next = commit(1, 0, "b");
    let (late, refused) = tokio::join!(log.append(&desk, &next), log.head(&desk));
    let refused = refused.expect_err("the only connection is in use");
    let cause = std::error::Error::source(&refused).map(ToString::to_string);
    let expected = "no connection became free within 50ms: all 1 are in use";
    assert_eq!(
        (refused.kind, cause.as_deref()),
        (StoreErrorKind::Unavailable, Some(expected))
    );
    // The statement waited longer than its timeout.
    assert_eq!(why(late), Some(StoreErrorKind::Unavailable));
    hold.let_go().await?;
    assert_eq!(log.append(&desk, &next).await?.head, 2);
    Ok(())
}

#[tokio::test]
async fn a_dropped_request_keeps_no_connection() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let (schema, desk) = (fresh(), name("desk"));
    // On a busy machine it takes longer than the usual limit to see who waits.
    let options = PostgresOptions::default()
        .schema(&schema)
        .pool_size(1)
        .statement_timeout(Duration::from_secs(300));
    let log = PostgresLog::connect_with(server.url(), options).await?;
    log.append(&desk, &commit(0, 0, "a")).await?;
    let mut poke = poke(server).await?;
    let hold = poke.hold(&schema).await?;
    let next = commit(1, 0, "b");
    tokio::select! {
        appended = log.append(&desk, &next) => panic!("nobody may write now: {appended:?}"),
        waits = hold.who_waits(&schema) => assert_eq!(waits?.len(), 1),
    }
    // The row is still locked, and the dropped request still waits for it on the server.
    assert_eq!(log.read(&desk, 1, 9).await?.len(), 1);
    hold.let_go().await?;
    assert_eq!(log.append(&desk, &next).await?.head, 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_is_given_up() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let wire = Wire::to(server);
    let options = PostgresOptions::default()
        .schema(fresh())
        .pool_size(1)
        .connect_timeout(Duration::from_millis(500))
        .statement_timeout(Duration::from_millis(500));
    let log = PostgresLog::connect_with(wire.url(), options).await?;
    wire.go_deaf();
    for _ in 0..2 {
        let refused = log.head(&name("desk")).await;
        assert_eq!(why(refused), Some(StoreErrorKind::Unavailable));
    }
    wire.mend();
    assert_eq!(log.head(&name("desk")).await?, None);
    Ok(())
}

#[tokio::test]
async fn k14_a_status_that_gives_the_lease_back_lets_others_in() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let options = PostgresOptions::default()
        .schema(fresh())
        .synchronous(Synchronous::Normal);
    let log = PostgresLog::connect_with(server.url(), options).await?;
    let first = acquire(&log, "desk").await?;
    let mut last = commit(0, first.fence, "a");
    last.status = Status::Idle;
    log.append(&name("desk"), &last).await?;
    assert!(acquire(&log, "desk").await?.fence > first.fence);
    Ok(())
}
