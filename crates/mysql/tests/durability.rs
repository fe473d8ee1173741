//! Tests that commits survive the death of a server as far as its durability says.
mod common;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use common::{commit, thread};
use fugato_mysql::{MySqlLog, MySqlOptions, ServerDurability};
use fugato_store::{StoreErrorKind, ThreadLog};
use servers::MariaDb;

/// Appends until the server is gone, and counts the acknowledged commits.
async fn write(log: MySqlLog, name: String, acknowledged: Arc<AtomicU64>) {
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
    let Some(server) = MariaDb::start() else {
        return;
    };
    let options = MySqlOptions::default().at_least(ServerDurability::Disk);
    let log = MySqlLog::connect_with(server.url(), options).await;
    let log = log.expect("the server is there");
    for round in 0..3 {
        let acknowledged: Vec<_> = (0..4).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let writers = acknowledged
            .iter()
            .enumerate()
            .map(|(writer, acknowledged)| {
                let (log, acknowledged) = (log.clone(), Arc::clone(acknowledged));
                tokio::spawn(write(log, format!("{round}/{writer}"), acknowledged))
            });
        let writers: Vec<_> = writers.collect();
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
            let records = records.into_iter().map(|(seq, record)| (seq, record.0));
            let expected = (1..=known + 1).map(|seq| (seq, (seq - 1).to_string().into_bytes()));
            assert_eq!(records.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }
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
