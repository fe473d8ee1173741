//! Tests that names, bytes and numbers are stored exactly.

use crate::common::{commit, durable, prefix, thread};
use fugato_redis::{RedisLog, RedisOptions};
use fugato_store::{ThreadAdmin, ThreadFilter, ThreadLog};
use fugato_testkit::log::{Failure, exact};

async fn connect() -> Option<RedisLog> {
    let options = RedisOptions::default().prefix(prefix());
    let log = RedisLog::connect_with(durable()?.url(), options).await;
    Some(log.expect("the server is there"))
}

#[tokio::test]
async fn names_that_look_like_keys_or_scripts_are_names() -> Result<(), Failure> {
    let Some(log) = connect().await else {
        return Ok(());
    };
    let names = [
        "x",
        "t:x",
        "r:x",
        "s:x",
        "i:x",
        ":x",
        "1:x",
        "store",
        "due",
        "{fugato}:t:x",
        "}",
        "{}",
        "' .. redis.call('FLUSHALL') .. '",
        "]] return 1 --",
        "%s%d%n",
        "x\u{7ff}\u{ffff}",
        "[x",
        "(x",
        "+",
        "-",
    ];
    exact::names_are_names(&log, &names).await
}

#[tokio::test]
async fn bytes_are_bytes() -> Result<(), Failure> {
    let Some(log) = connect().await else {
        return Ok(());
    };
    exact::bytes_are_bytes(&log).await
}

#[tokio::test]
async fn numbers_are_exact_up_to_the_last_position() -> Result<(), Failure> {
    let Some(log) = connect().await else {
        return Ok(());
    };
    exact::numbers_are_exact(&log, (1 << 53) - 1).await
}

#[tokio::test]
async fn times_to_live_and_fences_of_any_size_are_answered() -> Result<(), Failure> {
    let Some(log) = connect().await else {
        return Ok(());
    };
    exact::leases_are_exact(&log).await
}

#[tokio::test]
async fn a_list_longer_than_a_page_is_whole() {
    let Some(log) = connect().await else { return };
    let names: Vec<_> = (0..2_500).map(|n| format!("thread {n:04}")).collect();
    for names in names.chunks(100) {
        let appends = names.iter().map(|name| {
            let log = &log;
            async move { log.append(&thread(name), &commit(0, "a")).await }
        });
        futures::future::try_join_all(appends)
            .await
            .expect("they are new");
    }
    let mut filter = ThreadFilter::default();
    filter.limit = usize::MAX;
    let listed = log.list(filter).await.expect("they are there");
    let listed: Vec<_> = listed.iter().map(|line| line.thread.as_str()).collect();
    assert_eq!(listed, names);
}
