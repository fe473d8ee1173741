//! Tests that names, bytes and numbers are stored exactly.

use crate::common::{database, shared};
use fugato_mysql::MySqlLog;
use fugato_testkit::log::{Failure, exact};

async fn connect() -> Option<MySqlLog> {
    let url = database(shared()?.url()).await;
    let log = MySqlLog::connect(&url).await;
    Some(log.expect("the server is there"))
}

#[tokio::test]
async fn names_that_look_like_keys_or_scripts_are_names() -> Result<(), Failure> {
    let Some(log) = connect().await else {
        return Ok(());
    };
    let names = [
        "x",
        "a",
        "A",
        "á",
        "a ",
        "a\u{a0}",
        "ａ",
        "ß",
        "ss",
        "'; DROP TABLE fugato_thread; --",
        "\\",
        "\\'",
        "\"",
        "x'61'",
        "%",
        "_",
        "NULL",
        "0",
        "00",
        "0x61",
        "𝒳",
        "\u{ffff}",
        "é",
        "e\u{301}",
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
    exact::numbers_are_exact(&log, i64::MAX.unsigned_abs()).await
}

#[tokio::test]
async fn times_to_live_and_fences_of_any_size_are_answered() -> Result<(), Failure> {
    let Some(log) = connect().await else {
        return Ok(());
    };
    exact::leases_are_exact(&log).await
}
