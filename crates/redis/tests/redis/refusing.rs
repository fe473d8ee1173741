//! Tests of refused servers, of requests that are too large, and of errors that contain no
//! password.

use std::error::Error;

use crate::common::{commit, durable, prefix, thread};
use fugato_redis::{RedisLog, RedisOptions};
use fugato_store::{Commit, Record, Snapshot, Snapshots, StoreErrorKind, ThreadAdmin, ThreadLog};
use servers::Redis;

/// Returns the whole text of an error, with its causes.
fn words(error: &(dyn Error + 'static)) -> String {
    let below = error.source().map(words);
    format!("{error} {error:?} {}", below.unwrap_or_default())
}

#[tokio::test]
async fn a_password_is_never_shown() {
    let Some(server) = durable() else { return };
    let log = RedisLog::connect(server.url()).await.expect("it is there");
    let shown = format!("{log:?} {log:#?} {:?}", RedisOptions::default());
    assert!(
        !shown.contains("not-to-be-shown") && shown.contains("127.0.0.1"),
        "{shown}"
    );
    let port = server
        .url()
        .rsplit([':', '/'])
        .nth(1)
        .expect("it has a port");
    for (url, expected) in [
        (
            server.url().replace("not-to-be-shown", "pass-of-mine"),
            "refuses this user or password",
        ),
        (
            "redis://:pass-of-mine@127.0.0.1:1/0".into(),
            "did not answer",
        ),
        (
            "redis://:pass-of-mine@127.0.0.1:port/0".into(),
            "the URL cannot be used",
        ),
        (
            format!("redis://:pass-of-mine@127.0.0.1:{port}/zero"),
            "the URL cannot be used",
        ),
        ("pass-of-mine".into(), "the URL cannot be used"),
    ] {
        let error = RedisLog::connect(&url)
            .await
            .expect_err("it cannot be used");
        let words = words(&error);
        assert!(!words.contains("pass-of-mine"), "{words}");
        assert!(words.contains(expected), "{expected:?} in {words}");
    }
}

#[tokio::test]
async fn a_server_that_drops_keys_is_refused() {
    let Some(server) = Redis::start_with(&["maxmemory-policy allkeys-lru"]) else {
        return;
    };
    let error = RedisLog::connect(server.url())
        .await
        .expect_err("it drops threads");
    assert!(matches!(error.kind, StoreErrorKind::Invalid(_)));
    assert!(error.to_string().contains("allkeys-lru"), "{error}");
}

#[tokio::test]
async fn a_member_of_a_cluster_is_refused() {
    let Some(server) = Redis::start_with(&["cluster-enabled yes"]) else {
        return;
    };
    let url = server.url();
    let error = RedisLog::connect(url)
        .await
        .expect_err("it has a part of the keys");
    assert!(error.to_string().contains("cluster"), "{error}");
}

#[tokio::test]
async fn a_newer_version_is_refused() {
    let Some(server) = durable() else { return };
    let prefix = prefix();
    let options = RedisOptions::default().prefix(&prefix);
    RedisLog::connect_with(server.url(), options.clone())
        .await
        .expect("it is new");
    let client = redis::Client::open(server.url()).expect("it is a URL");
    let mut other = client
        .get_multiplexed_async_connection()
        .await
        .expect("it is there");
    let key = format!("{{{prefix}}}:store");
    let mut set = redis::cmd("HSET");
    set.arg(&key).arg("version").arg(2);
    let set: redis::RedisResult<()> = set.query_async(&mut other).await;
    set.expect("it is a hash");
    let error = RedisLog::connect_with(server.url(), options).await;
    let error = error.expect_err("it is newer").to_string();
    let expected = "cannot open: unreadable: its keys have version 2, and this program knows 1";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_prefix_that_would_mix_with_others_is_refused() {
    for prefix in ["", "a}b", "{a", "a\nb", &"x".repeat(101)] {
        let options = RedisOptions::default().prefix(prefix);
        let error = RedisLog::connect_with("redis://127.0.0.1:1/0", options).await;
        let kind = error
            .expect_err("it is refused before anybody is asked")
            .kind;
        assert!(
            matches!(kind, StoreErrorKind::Invalid(_)),
            "{prefix:?}: {kind:?}"
        );
    }
}

#[tokio::test]
async fn a_full_server_writes_nothing_and_goes_on_when_there_is_room() {
    let settings = [
        "appendonly yes",
        "maxmemory 12mb",
        "maxmemory-policy noeviction",
    ];
    let Some(server) = Redis::start_with(&settings) else {
        return;
    };
    let log = RedisLog::connect(server.url()).await.expect("it is there");
    let (desk, other) = (thread("desk"), thread("other"));
    log.append(&other, &commit(0, "small"))
        .await
        .expect("there is room");
    let large = |head| Commit {
        records: vec![Record(vec![7; Commit::MAX_RECORD]); 2],
        ..commit(head, "")
    };
    let mut head = 0;
    let full = loop {
        match log.append(&desk, &large(head)).await {
            Ok(appended) => head = appended.head,
            Err(error) => break error,
        }
    };
    assert_eq!(full.kind, StoreErrorKind::Full, "{full:?}");
    let found = log
        .head(&desk)
        .await
        .expect("it can be read")
        .map(|found| found.seq);
    assert_eq!(found, Some(head));
    let records = log.read(&desk, 1, 100).await.expect("it can be read");
    assert_eq!(records.len() as u64, head);
    let base = Snapshot {
        seq: 1,
        body: vec![1; 2 * Commit::MAX_RECORD],
    };
    let put = Snapshots::put(&log, &desk, base)
        .await
        .map_err(|error| error.kind);
    assert_eq!(put, Err(StoreErrorKind::Full));
    log.remove(&desk).await.expect("removing makes room");
    log.append(&other, &commit(1, "small"))
        .await
        .expect("there is room again");
}
