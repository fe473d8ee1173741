//! Tests that commits survive the death of a server as far as its durability says.

use std::sync::Arc;

use crate::common::{commit, prefix, thread};
use fugato_redis::{RedisLog, RedisOptions, ServerDurability};
use fugato_store::{StoreErrorKind, ThreadLog};
use fugato_testkit::log::{CheckResult, nothing_is_lost_with_a_killed_server};
use servers::Redis;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k13_nothing_acknowledged_is_lost_with_a_killed_server() -> CheckResult {
    let Some(server) = Redis::start() else {
        return Ok(());
    };
    let options = RedisOptions::default().prefix(prefix());
    let options = options.at_least(ServerDurability::Disk);
    let log = RedisLog::connect_with(server.url(), options).await?;
    let (kill, restart) = (|| server.kill9(), || server.restart());
    nothing_is_lost_with_a_killed_server(Arc::new(log), kill, restart, 5).await
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
