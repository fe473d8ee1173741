//! Tests that databases of older versions open, and that their threads go on.
use std::{fs, path::Path};

use fugato_sqlite::{SqliteLog, SqliteOptions};
use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, DocKey, DocStoreExt as _, Expect, Head, Lease, LeaseOutcome,
    LeaseRequest, Namespace, Record, Signal, Snapshot, Snapshots, Status, StoreErrorKind,
    ThreadAdmin, ThreadFilter, ThreadLog,
};
use rusqlite::Connection;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The time at which the golden file was written.
const THEN: Millis = 2_000_000_000_000;

fn old(path: &Path) -> rusqlite::Result<Connection> {
    let old = Connection::open(path)?;
    old.execute_batch(include_str!("../golden/version-1.sql"))?;
    Ok(old)
}

fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("a short name")
}

fn commit(head: Seq, fence: u64, text: &str) -> Commit {
    Commit {
        expect: Expect { head, fence },
        nonce: u128::from(head) + 1_000,
        records: vec![Record(text.into())],
        status: Status::Runnable,
        base: None,
    }
}

fn numbered(first: Seq, texts: &[&str]) -> Vec<(Seq, Record)> {
    let record = |text: &&str| Record((*text).into());
    (first..).zip(texts.iter().map(record)).collect()
}

fn open(path: &Path) -> Result<SqliteLog, fugato_store::StoreError> {
    SqliteLog::open_with(path, SqliteOptions::default().clock(|| THEN))
}

#[tokio::test]
async fn threads_of_version_1_go_on() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("old.db");
    drop(old(&path)?);
    let log = open(&path)?;
    let (desk, held, fork, short) = (
        thread("desk"),
        thread("held"),
        thread("fork"),
        thread("short"),
    );
    let listed = log.list(ThreadFilter::default()).await?;
    let listed: Vec<_> = listed
        .into_iter()
        .map(|one| (one.thread, one.head))
        .collect();
    let expected = [
        (desk.clone(), 4),
        (fork.clone(), 3),
        (held.clone(), 1),
        (short.clone(), 3),
    ];
    assert_eq!(listed, expected);

    let end = Head {
        seq: 4,
        base: 0,
        fence: 0,
        status: Status::Waiting {
            expires: Some(THEN + 9_000),
        },
        nonce: 103,
        leased_until: None,
        now: THEN,
    };
    assert_eq!(log.head(&desk).await?, Some(end));
    assert_eq!(log.append(&desk, &commit(4, 0, "e")).await?.head, 5);
    let expected = numbered(1, &["a", "b", "c", "d", "e"]);
    assert_eq!(log.read(&desk, 1, 10).await?, expected);
    let snapshot = Snapshot {
        seq: 2,
        body: b"ab".to_vec(),
    };
    assert_eq!(log.latest_at(&desk, 9).await?, Some(snapshot));

    let appended = AppendResult {
        head: 2,
        now: THEN,
        signals: vec![Signal::Cancel {
            by: "reader".into(),
            why: "enough".into(),
        }],
    };
    assert_eq!(log.append(&held, &commit(1, 1, "y")).await?, appended);
    assert_eq!(log.read(&fork, 3, 10).await?, numbered(3, &["e"]));
    let compacted = log.read(&short, 2, 10).await.map_err(|error| error.kind);
    assert_eq!(compacted, Err(StoreErrorKind::Compacted { base: 2 }));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_committed_together_follows_what_was_committed_alone() -> Outcome {
    const WRITERS: usize = 16;
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("old.db");
    drop(old(&path)?);
    let log = open(&path)?;
    let names: Vec<_> = (0..WRITERS).map(|n| thread(&format!("t{n}"))).collect();
    for round in 0..6_u64 {
        let tasks = names.iter().map(|name| {
            let (log, name) = (log.clone(), name.clone());
            tokio::spawn(async move { log.append(&name, &commit(round, 0, "x")).await })
        });
        for task in futures::future::join_all(tasks).await {
            assert_eq!(task??.head, round + 1);
        }
    }
    log.append(&thread("t0"), &commit(6, 0, "alone")).await?;
    let again = open(&path)?;
    let texts = ["x", "x", "x", "x", "x", "x", "alone"];
    assert_eq!(again.read(&thread("t0"), 1, 10).await?, numbered(1, &texts));
    assert_eq!(
        again.read(&thread("t1"), 3, 2).await?,
        numbered(3, &["x", "x"])
    );
    let base = Snapshot {
        seq: 5,
        body: b"five".to_vec(),
    };
    again.compact(&thread("t0"), base).await?;
    assert_eq!(
        log.read(&thread("t0"), 6, 10).await?,
        numbered(6, &["x", "alone"])
    );
    assert_eq!(log.append(&thread("t0"), &commit(7, 0, "y")).await?.head, 8);
    Ok(())
}

#[tokio::test]
async fn a_removed_thread_of_version_1_gives_no_old_fence() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("old.db");
    drop(old(&path)?);
    let log = open(&path)?;
    let request = LeaseRequest::Acquire {
        thread: thread("gone"),
        owner: "worker".into(),
        ttl: 10,
    };
    let lease = Lease {
        thread: thread("gone"),
        fence: 2,
        head: 0,
        until: THEN + 10,
        now: THEN,
    };
    assert_eq!(
        log.lease(request).await?,
        LeaseOutcome::Granted(vec![lease])
    );
    Ok(())
}

#[tokio::test]
async fn there_is_room_for_documents_and_opening_again_changes_nothing() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("old.db");
    drop(old(&path)?);
    let (space, key) = (Namespace::new(["user"])?, DocKey::new("tone")?);
    open(&path)?.docs().put(&space, &key, "plain").await?;
    let before = fs::read(&path)?;
    let log = open(&path)?;
    assert_eq!(
        log.docs().get_as(&space, &key).await?,
        Some("plain".to_owned())
    );
    drop(log);
    assert_eq!(fs::read(&path)?, before);
    Ok(())
}

#[test]
fn a_program_of_version_1_that_is_still_running_writes_nothing() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("old.db");
    let running = old(&path)?;
    drop(open(&path)?);
    let written = running.execute("INSERT INTO record (at, body) VALUES (1, x'00')", []);
    let said = written.map_err(|error| error.to_string());
    let refused = |said: &String| said.starts_with("no such table: record");
    assert!(said.as_ref().is_err_and(refused), "{said:?}");
    Ok(())
}

#[test]
fn a_damaged_file_of_version_1_is_refused_as_it_is() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("old.db");
    let damaged = old(&path)?;
    damaged.execute_batch("DROP TABLE snapshot; PRAGMA wal_checkpoint(TRUNCATE)")?;
    drop(damaged);
    let before = fs::read(&path)?;
    let refused = open(&path).map(|_| ()).map_err(|error| error.kind);
    let what = format!("{}: snapshot is missing", path.display());
    assert_eq!(refused, Err(StoreErrorKind::Corrupt(what)));
    assert_eq!(fs::read(&path)?, before);
    Ok(())
}
