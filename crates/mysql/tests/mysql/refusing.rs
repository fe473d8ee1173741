//! Tests of refused servers, of unknown tables, and of errors that contain no password.

use std::error::Error;

use crate::common::{admin, commit, database, shared, thread};
use fugato_mysql::{MySqlLog, MySqlOptions};
use fugato_store::{Commit, Record, Snapshot, Snapshots, StoreErrorKind, ThreadLog};
use futures::future::join_all;
use mysql_async::prelude::Queryable;
use servers::MariaDb;

/// Returns the whole text of an error, with its causes.
fn words(error: &(dyn Error + 'static)) -> String {
    let below = error.source().map(words);
    format!("{error} {error:?} {}", below.unwrap_or_default())
}

#[tokio::test]
async fn a_password_is_never_shown() {
    let Some(server) = shared() else { return };
    let url = database(server.url()).await;
    let log = MySqlLog::connect(&url).await.expect("it is there");
    let shown = format!("{log:?} {log:#?} {:?}", MySqlOptions::default());
    assert!(
        !shown.contains("not-to-be-shown") && shown.contains("127.0.0.1"),
        "{shown}"
    );
    for (url, expected) in [
        (
            url.replace("not-to-be-shown", "pass-of-mine"),
            "refuses this user or password",
        ),
        (
            "mysql://me:pass-of-mine@127.0.0.1:1/desk".into(),
            "did not answer",
        ),
        (
            "mysql://me:pass-of-mine@127.0.0.1:port/desk".into(),
            "the URL cannot be used",
        ),
        (
            "mysql://me:pass-of-mine@127.0.0.1:1/".into(),
            "names no database",
        ),
        (
            "mysql://me:pass-of-mine@127.0.0.1:1/desk?pass-of-mine=1".into(),
            "the URL cannot be used",
        ),
        ("pass-of-mine".into(), "the URL cannot be used"),
        (format!("{url}_nowhere"), "there is no such database"),
    ] {
        let error = MySqlLog::connect(&url)
            .await
            .expect_err("it cannot be used");
        let words = words(&error);
        assert!(!words.contains("pass-of-mine"), "{words}");
        assert!(words.contains(expected), "{expected:?} in {words}");
    }
}

#[tokio::test]
async fn a_server_that_takes_no_records_is_refused() {
    let Some(server) = MariaDb::start_with(&["max-allowed-packet=2M"]) else {
        return;
    };
    let error = MySqlLog::connect(server.url())
        .await
        .expect_err("a record does not fit");
    assert!(matches!(error.kind, StoreErrorKind::Invalid(_)));
    let words =
        "its max_allowed_packet is 2097152 bytes: a commit of 16 MiB is sent in parts of up to";
    assert!(error.to_string().contains(words), "{error}");
}

#[tokio::test]
async fn the_smallest_packets_are_enough_for_the_largest_commits_and_folds() {
    let Some(server) = MariaDb::start_with(&["max-allowed-packet=4M"]) else {
        return;
    };
    let log = MySqlLog::connect(server.url()).await.expect("it is there");
    let desk = thread("desk");
    let body: Vec<u8> = (0..=255).cycle().take(9 * Commit::MAX_RECORD + 5).collect();
    let next = Commit {
        records: vec![Record(vec![0; Commit::MAX_RECORD]); 16],
        base: Some(Snapshot {
            seq: 16,
            body: body.clone(),
        }),
        ..commit(0, "")
    };
    let appended = log.append(&desk, &next).await;
    assert_eq!(appended.expect("it fits").head, 16);
    let read = log.read(&desk, 1, 99).await.expect("it is there");
    let expected: Vec<_> = (1..).zip(next.records).collect();
    assert!(read == expected, "{} records came back", read.len());
    let fold = log.latest_at(&desk, 99).await.expect("it is there");
    assert!(fold == Some(Snapshot { seq: 16, body }));
}

#[tokio::test]
async fn a_newer_version_is_refused_and_not_touched() {
    let Some(server) = shared() else { return };
    let url = database(server.url()).await;
    MySqlLog::connect(&url).await.expect("it is new");
    let mut other = admin(&url).await;
    let newer = "INSERT INTO fugato_version VALUES (2)";
    other.query_drop(newer).await.expect("it is there");
    let error = MySqlLog::connect(&url).await.expect_err("it is newer");
    let expected = "cannot open: unreadable: its tables have version 2, and this program knows 1";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_make_the_tables_one_does_and_what_was_interrupted_is_completed() {
    let Some(server) = shared() else { return };
    let url = database(server.url()).await;
    // Another process created the first table and died.
    let mut other = admin(&url).await;
    let first = "CREATE TABLE fugato_version (version INT UNSIGNED NOT NULL PRIMARY KEY)";
    other.query_drop(first).await.expect("it is new");
    let logs = join_all((0..8).map(|_| MySqlLog::connect(&url))).await;
    for (n, log) in logs.into_iter().enumerate() {
        let log = log.expect("one makes them, the others wait");
        let name = thread(&n.to_string());
        log.append(&name, &commit(0, "a"))
            .await
            .expect("they are there");
    }
    let made = "SELECT version FROM fugato_version";
    let versions: Vec<u32> = other.query(made).await.expect("it is there");
    assert_eq!(versions, [1]);
}

#[tokio::test]
async fn a_missing_table_is_said_to_be_missing() {
    let Some(server) = shared() else { return };
    let url = database(server.url()).await;
    let log = MySqlLog::connect(&url).await.expect("it is new");
    let mut other = admin(&url).await;
    other
        .query_drop("DROP TABLE fugato_record")
        .await
        .expect("it is there");
    let error = log.append(&thread("desk"), &commit(0, "a")).await;
    let kind = error.expect_err("there is no table").kind;
    assert!(matches!(kind, StoreErrorKind::Corrupt(_)), "{kind:?}");
    assert_eq!(
        log.head(&thread("desk"))
            .await
            .expect("nothing was written"),
        None
    );
}
