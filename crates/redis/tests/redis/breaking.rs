//! Tests of broken connections, lost answers and cancelled callers.

use std::time::Duration;

use crate::common::{commit, durable, prefix, thread};
use fugato_redis::{RedisLog, RedisOptions};
use fugato_store::{LeaseRequest, StoreErrorKind, ThreadLog};
use futures::future::join_all;
use servers::Wire;

async fn connect(url: &str) -> RedisLog {
    let options = RedisOptions::default().prefix(prefix()).timeout(LONG);
    let log = RedisLog::connect_with(url, options).await;
    log.expect("the server is there")
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn k13_a_commit_whose_answer_was_lost_can_be_repeated() {
    let Some(server) = durable() else { return };
    let wire = Wire::to(server);
    let log = connect(wire.url()).await;
    let desk = thread("desk");
    log.append(&desk, &commit(0, "a"))
        .await
        .expect("it is whole");
    wire.cut_after(0);
    let lost = log
        .append(&desk, &commit(1, "b"))
        .await
        .map_err(|error| error.kind);
    assert_eq!(lost, Err(StoreErrorKind::Unavailable));
    assert!(wire.is_whole());
    let again = log.append(&desk, &commit(1, "b")).await;
    assert_eq!(again.expect("a new connection is whole").head, 2);
    let records = log
        .read(&desk, 1, 9)
        .await
        .expect("a new connection is whole");
    assert_eq!(records.len(), 2);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_unavailable_in_time() {
    let Some(server) = durable() else { return };
    let wire = Wire::to(server);
    let log = connect(wire.url()).await;
    wire.go_deaf();
    // The paused clock advances as soon as all tasks wait.
    tokio::time::pause();
    let error = RedisLog::connect(wire.url()).await;
    tokio::time::resume();
    let error = error.expect_err("nobody answers");
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
    let source = std::error::Error::source(&error).map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("no answer within 10s"));
    wire.mend();
    // The connection of the other log is not broken by it.
    let appended = log.append(&thread("desk"), &commit(0, "a")).await;
    assert_eq!(appended.expect("it is whole").head, 1);
}

#[tokio::test]
async fn after_a_late_answer_the_next_request_connects_anew() {
    let Some(server) = durable() else { return };
    let wire = Wire::to(server);
    let log = connect(wire.url()).await;
    let desk = thread("desk");
    wire.go_deaf();
    for _ in 0..2 {
        tokio::time::pause();
        let late = log.append(&desk, &commit(0, "a")).await;
        tokio::time::resume();
        let late = late.map_err(|error| error.kind);
        assert_eq!(late, Err(StoreErrorKind::Unavailable));
    }
    wire.mend();
    // In either case it is written now.
    let again = log.append(&desk, &commit(0, "a")).await;
    assert_eq!(again.expect("it connects anew").head, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_that_go_away_harm_nobody() {
    let Some(server) = durable() else { return };
    let log = connect(server.url()).await;
    let tasks = (0..200_u32).map(|n| {
        let log = log.clone();
        tokio::spawn(async move {
            let name = thread(&format!("thread {n}"));
            if n % 2 == 0 {
                // Polled once, so that the request is sent, and then dropped.
                let _ = futures::poll!(Box::pin(log.append(&name, &commit(0, "left"))));
            }
            let text = n.to_string();
            let next = commit(0, &text);
            let appended = log.append(&name, &next).await.expect("it is whole");
            let records = log.read(&name, 1, 9).await.expect("it is whole");
            (
                appended.head,
                records.len(),
                log.head(&name).await.expect("it is whole"),
            )
        })
    });
    for (n, task) in join_all(tasks).await.into_iter().enumerate() {
        let (head, records, found) = task.expect("it does not panic");
        let found = found.map(|found| found.seq);
        assert_eq!((head, records, found), (1, 1, Some(1)), "thread {n}");
    }
}

#[tokio::test]
async fn a_server_that_forgot_the_scripts_learns_them_again() {
    let Some(server) = durable() else { return };
    let log = connect(server.url()).await;
    let desk = thread("desk");
    log.append(&desk, &commit(0, "a"))
        .await
        .expect("it is whole");
    let client = redis::Client::open(server.url()).expect("it is a URL");
    let mut other = client
        .get_multiplexed_async_connection()
        .await
        .expect("it is there");
    let flushed: redis::RedisResult<()> = redis::cmd("SCRIPT")
        .arg("FLUSH")
        .query_async(&mut other)
        .await;
    flushed.expect("it forgets");
    assert_eq!(
        log.append(&desk, &commit(1, "b"))
            .await
            .expect("it is told again")
            .head,
        2
    );
    let lease = LeaseRequest::Acquire {
        thread: desk,
        owner: "owner".into(),
        ttl: 10,
    };
    log.lease(lease).await.expect("it is told again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_forgets_the_scripts_all_the_time_takes_every_write() {
    let Some(server) = durable() else { return };
    let log = connect(server.url()).await;
    let client = redis::Client::open(server.url()).expect("it is a URL");
    let mut other = client
        .get_multiplexed_async_connection()
        .await
        .expect("it is there");
    let forgetting = tokio::spawn(async move {
        loop {
            let flushed: redis::RedisResult<()> = redis::cmd("SCRIPT")
                .arg("FLUSH")
                .query_async(&mut other)
                .await;
            flushed.expect("it forgets");
        }
    });
    let writes = (0..200_u32).map(|n| {
        let log = log.clone();
        tokio::spawn(async move {
            let name = thread(&format!("forgotten {n}"));
            log.append(&name, &commit(0, "a")).await
        })
    });
    for task in join_all(writes).await {
        let appended = task.expect("it does not panic");
        assert_eq!(appended.expect("it is told again").head, 1);
    }
    forgetting.abort();
}
