//! Tests that commits survive the death of a server as far as its durability says.

use std::sync::Arc;

use crate::common::{commit, thread};
use fugato_mysql::{MySqlLog, MySqlOptions, ServerDurability};
use fugato_store::{StoreErrorKind, ThreadLog};
use fugato_testkit::log::{CheckResult, nothing_is_lost_with_a_killed_server};
use servers::MariaDb;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k13_nothing_acknowledged_is_lost_with_a_killed_server() -> CheckResult {
    let Some(server) = MariaDb::start() else {
        return Ok(());
    };
    let options = MySqlOptions::default().at_least(ServerDurability::Disk);
    let log = MySqlLog::connect_with(server.url(), options).await?;
    let (kill, restart) = (|| server.kill9(), || server.restart());
    nothing_is_lost_with_a_killed_server(Arc::new(log), kill, restart, 3).await
}

#[tokio::test]
async fn less_than_what_is_asked_for_is_refused() {
    for (settings, expected) in [
        (
            &["innodb-flush-log-at-trx-commit=2"][..],
            ServerDurability::System,
        ),
        (
            &["innodb-flush-log-at-trx-commit=0"],
            ServerDurability::Second,
        ),
        (
            &["log-bin=binary", "sync-binlog=0"],
            ServerDurability::System,
        ),
        (&["log-bin=binary", "sync-binlog=1"], ServerDurability::Disk),
    ] {
        let Some(server) = MariaDb::start_with(settings) else {
            return;
        };
        let log = MySqlLog::connect(server.url()).await.expect("it is there");
        assert_eq!(log.durability(), expected, "{settings:?}");
        let appended = log.append(&thread("desk"), &commit(0, "a")).await;
        assert_eq!(appended.expect("it can be used").head, 1);
        let options = MySqlOptions::default().at_least(ServerDurability::Disk);
        let strict = MySqlLog::connect_with(server.url(), options).await;
        match strict.map_err(|error| error.kind) {
            Ok(log) => assert_eq!(log.durability(), ServerDurability::Disk),
            Err(StoreErrorKind::Invalid(what)) => {
                let words = "and at least `disk` is asked for";
                assert_eq!(what, format!("its durability is `{expected}`, {words}"));
                assert!(expected < ServerDurability::Disk);
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}
