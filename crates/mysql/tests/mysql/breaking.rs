//! Tests of broken connections, lost answers, cancelled callers and conflicts.

use std::{error::Error, time::Duration};

use crate::common::{admin, commit, database, shared, thread};
use fugato_mysql::{MySqlLog, MySqlOptions};
use fugato_store::{Commit, Record, StoreErrorKind, ThreadLog};
use futures::future::join_all;
use mysql_async::{Conn, prelude::Queryable};
use servers::Wire;

const LONG: Duration = Duration::from_secs(30);

async fn connect(url: &str, connections: usize, timeout: Duration) -> MySqlLog {
    let options = MySqlOptions::default()
        .connections(connections)
        .timeout(timeout);
    let log = MySqlLog::connect_with(url, options).await;
    log.expect("the server is there")
}

/// Returns the URL of a new database through a wire that tests can cut.
async fn by_wire() -> Option<(Wire, String)> {
    let server = shared()?;
    let wire = Wire::to(server);
    let made = database(server.url()).await;
    let name = made.rsplit('/').next().expect("it ends with a name");
    let url = format!("{}{name}", wire.url().trim_end_matches("fugato"));
    Some((wire, url))
}

#[tokio::test]
async fn k13_a_commit_can_be_repeated_wherever_its_connection_was_cut() {
    let Some((wire, url)) = by_wire().await else {
        return;
    };
    let log = connect(&url, 1, LONG).await;
    let desk = thread("desk");
    // Large enough to be sent in several packets, so that some are lost before the end.
    let large = |head| Commit {
        records: vec![Record(vec![7; Commit::MAX_RECORD]); 2],
        ..commit(head, "")
    };
    let (mut head, mut lost) = (0, 0);
    for answers in 0..10 {
        wire.cut_after(answers);
        for next in [commit(head, "small"), large(head + 1)] {
            let count = next.records.len() as u64;
            let mut appended = log.append(&desk, &next).await;
            while let Err(error) = appended {
                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
                lost += 1;
                appended = log.append(&desk, &next).await;
            }
            assert_eq!(appended.expect("it was repeated").head, head + count);
            head += count;
        }
    }
    wire.mend();
    assert!(lost >= 5, "only {lost} answers were lost");
    let read = log.read(&desk, 1, usize::MAX).await.expect("it is whole");
    assert!(read.iter().map(|(seq, _)| *seq).eq(1..=head));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_unavailable_in_time() {
    let Some((wire, url)) = by_wire().await else {
        return;
    };
    let log = connect(&url, 2, LONG).await;
    let desk = thread("desk");
    let appended = log.append(&desk, &commit(0, "a")).await;
    assert_eq!(appended.expect("it is whole").head, 1);
    wire.go_deaf();
    // The paused clock advances as soon as all tasks wait.
    tokio::time::pause();
    let error = log.append(&desk, &commit(1, "b")).await;
    tokio::time::resume();
    let error = error.expect_err("nobody answers");
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
    let source = error.source().map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("no answer within 30s"));
    wire.mend();
    // In either case it is written now.
    let again = log.append(&desk, &commit(1, "b")).await;
    assert_eq!(again.expect("it connects anew").head, 2);
}

#[tokio::test]
async fn connections_that_are_all_in_use_are_waited_for_in_time() {
    let Some(server) = shared() else { return };
    let url = database(server.url()).await;
    let log = connect(&url, 1, LONG).await;
    let (desk, other) = (thread("desk"), thread("other"));
    let next = commit(0, "a");
    // It takes the connection, and stops there.
    let mut held = Box::pin(log.append(&desk, &next));
    assert!(futures::poll!(&mut held).is_pending());
    tokio::time::pause();
    let error = log.append(&other, &next).await;
    tokio::time::resume();
    let error = error.expect_err("there is one connection");
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
    let source = error.source().map(ToString::to_string);
    let words = "none of the 1 connections became free within 30s";
    assert_eq!(source.as_deref(), Some(words));
    drop(held);
    for name in [&desk, &other] {
        let appended = log.append(name, &next).await;
        assert_eq!(appended.expect("it is free again").head, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_that_go_away_harm_nobody() {
    let Some(server) = shared() else { return };
    let url = database(server.url()).await;
    let log = connect(&url, 4, LONG).await;
    let tasks = (0..100_u32).map(|n| {
        let log = log.clone();
        tokio::spawn(async move {
            let name = thread(&format!("thread {n}"));
            for polls in 0..n % 4 {
                // Polled a few times, so that the request is sent, and then dropped.
                let left = commit(0, "left");
                let mut append = Box::pin(log.append(&name, &left));
                for _ in 0..=polls {
                    let _ = futures::poll!(&mut append);
                    tokio::task::yield_now().await;
                }
            }
            let text = n.to_string();
            let next = commit(0, &text);
            let appended = log.append(&name, &next).await.expect("it is whole");
            let records = log.read(&name, 1, 9).await.expect("it is whole");
            (appended.head, records.len())
        })
    });
    for (n, task) in join_all(tasks).await.into_iter().enumerate() {
        assert_eq!(task.expect("it does not panic"), (1, 1), "thread {n}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn k13_a_deadlock_is_tried_again_and_nothing_is_written_twice() {
    let Some(server) = shared() else { return };
    let url = database(server.url()).await;
    let log = connect(&url, 4, LONG).await;
    let desk = thread("desk");
    log.append(&desk, &commit(0, "first"))
        .await
        .expect("it is new");
    let (mut other, mut watch) = (admin(&url).await, admin(&url).await);
    let id: Option<u64> = other
        .query_first("SELECT id FROM fugato_thread")
        .await
        .expect("it is there");
    let id = id.expect("it was just made");
    let before = deadlocks(&mut watch).await;
    // Another transaction has written the position of the next record. It has written more rows, so
    // that the append is the one to be undone in the deadlock.
    other
        .query_drop("START TRANSACTION")
        .await
        .expect("it is there");
    for place in 2..60 {
        let insert = format!("INSERT INTO fugato_record VALUES ({id},{place},'')");
        other.query_drop(insert).await.expect("the place is free");
    }
    let next = commit(1, "next");
    let append = tokio::spawn({
        let (log, desk) = (log.clone(), desk.clone());
        async move { log.append(&desk, &next).await }
    });
    let waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE db=DATABASE() \
                   AND id<>CONNECTION_ID() AND time_ms>50 AND info LIKE '%INTO fugato_record%'";
    while watch
        .query_first::<u64, _>(waiting)
        .await
        .expect("it is there")
        != Some(1)
    {
        tokio::task::yield_now().await;
    }
    let lock = "SELECT id FROM fugato_thread FOR UPDATE";
    other.query_drop(lock).await.expect("the append was undone");
    other.query_drop("ROLLBACK").await.expect("it is there");
    let appended = append.await.expect("it does not panic");
    assert_eq!(appended.expect("it was tried again").head, 2);
    assert!(deadlocks(&mut watch).await > before);
    let read = log.read(&desk, 1, 9).await.expect("it is there");
    let texts = ["first", "next"].map(|text| Record(text.into()));
    assert_eq!(read, (1..).zip(texts).collect::<Vec<_>>());
}

async fn deadlocks(conn: &mut Conn) -> u64 {
    let asked = "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'";
    let told: Option<(String, u64)> = conn.query_first(asked).await.expect("it is there");
    told.expect("it counts them").1
}
