//! Tests that commits survive the death of a server as far as its durability says.
mod common;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use common::{commit, prefix, thread};
use fugato_redis::{RedisLog, RedisOptions, ServerDurability};
use fugato_store::{StoreErrorKind, ThreadLog};
use servers::Redis;

/// Appends until the server is gone, and counts the acknowledged commits.
async fn write(log: RedisLog, name: String, acknowledged: Arc<AtomicU64>) {
    let name = thread(&name);
    for head in 0.. {
        match log.append(&name, &commit(head, &head.to_string())).await {
            Ok(appended) => acknowledged.store(appended.head, Ordering::SeqCst),
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error:?}");
                return;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k13_nothing_acknowledged_is_lost_with_a_killed_server() {
    let Some(server) = Redis::start() else { return };
    let options = RedisOptions::default().prefix(prefix());
    let options = options.at_least(ServerDurability::Disk);
    let log = RedisLog::connect_with(server.url(), options).await;
    let log = log.expect("the server is there");
    let mut before = [0; 4];
    for round in 0..5 {
        let acknowledged: Vec<_> = (0..4).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let name = format!("{round}/{writer}");
                tokio::spawn(write(log.clone(), name, acknowledged[writer].clone()))
            })
            .collect();
        // Every writer is in the middle of its work.
        while acknowledged
            .iter()
            .any(|done| done.load(Ordering::SeqCst) < 20)
        {
            tokio::task::yield_now().await;
        }
        server.kill9();
        for writer in writers {
            writer.await.expect("it stops at the first error");
        }
        server.restart();
        for (writer, acknowledged) in acknowledged.iter().enumerate() {
            let name = thread(&format!("{round}/{writer}"));
            let head = log.head(&name).await.expect("it connects anew");
            let head = head.expect("it was written").seq;
            let known = acknowledged.load(Ordering::SeqCst);
            // One more may have been written whose answer was lost: repeating it is safe.
            assert!(head == known || head == known + 1, "{head} after {known}");
            let again = log.append(&name, &commit(known, &known.to_string())).await;
            assert_eq!(again.expect("it can be repeated").head, known + 1);
            let records = log.read(&name, 1, usize::MAX).await.expect("it is there");
            let expected = (1..=known + 1).map(|seq| (seq, (seq - 1).to_string().into_bytes()));
            let records: Vec<_> = records
                .into_iter()
                .map(|(seq, record)| (seq, record.0))
                .collect();
            assert_eq!(records, expected.collect::<Vec<_>>());
            before[writer] = known;
        }
    }
    assert!(before.iter().all(|known| *known >= 20));
}

#[tokio::test]
async fn a_server_in_memory_loses_what_it_acknowledged_and_declares_so() {
    let Some(server) = Redis::start_with(&["appendonly no"]) else {
        return;
    };
    let log = RedisLog::connect(server.url()).await.expect("it is there");
    assert_eq!(log.durability(), ServerDurability::Memory);
    let desk = thread("desk");
    let appended = log.append(&desk, &commit(0, "lost")).await;
    assert_eq!(appended.expect("it acknowledges").head, 1);
    server.kill9();
    server.restart();
    // The first request detects that the connection is gone.
    let broken = log.head(&desk).await.map_err(|error| error.kind);
    assert_eq!(broken, Err(StoreErrorKind::Unavailable));
    assert_eq!(log.head(&desk).await.expect("it connects anew"), None);
}

#[tokio::test]
async fn less_than_what_is_asked_for_is_refused() {
    for (settings, expected) in [
        (
            &["appendonly yes", "appendfsync always"],
            ServerDurability::Disk,
        ),
        (
            &["appendonly yes", "appendfsync everysec"],
            ServerDurability::Second,
        ),
        (
            &["appendonly yes", "appendfsync no"],
            ServerDurability::System,
        ),
        (
            &["appendonly yes", "rename-command CONFIG hidden"],
            ServerDurability::System,
        ),
    ] {
        let Some(server) = Redis::start_with(settings) else {
            return;
        };
        let log = RedisLog::connect(server.url()).await.expect("it is there");
        assert_eq!(log.durability(), expected, "{settings:?}");
        let options = RedisOptions::default().at_least(ServerDurability::Disk);
        let strict = RedisLog::connect_with(server.url(), options).await;
        match strict.map_err(|error| error.kind) {
            Ok(log) => assert_eq!(log.durability(), ServerDurability::Disk),
            Err(StoreErrorKind::Invalid(what)) => {
                let words =
                    format!("its durability is `{expected}`, and at least `disk` is asked for");
                assert_eq!(what, words);
                assert!(expected < ServerDurability::Disk);
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}
