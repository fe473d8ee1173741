//! Tests of exact names, bytes and numbers, and random requests.
use std::time::Duration;

use fugato_commits::{CommitLog, CommitLogOptions};
use fugato_testkit::log::{Failure, agrees_with_the_model, exact};

use crate::common::Objects;

async fn fresh() -> CommitLog {
    let options = CommitLogOptions::default().max_skew(Duration::ZERO);
    let log = CommitLog::open_memory(options).await;
    log.expect("memory has the clock of this machine")
}

#[tokio::test]
async fn every_name_is_a_name() -> Result<(), Failure> {
    let folder = fugato_testkit::tempdir().expect("it can be made");
    let log = CommitLog::open_folder(folder.path(), CommitLogOptions::default()).await?;
    let (ascii, cjk) = ("a".repeat(100), "日".repeat(66));
    let names = [
        ".", "..", "a", "a/b", "a//b", "/a", "a#1", "%61", "A", " ", "a*?", &ascii, &cjk,
    ];
    exact::names_are_names(&log, &names).await
}

#[tokio::test]
async fn every_byte_and_number_is_kept() -> Result<(), Failure> {
    exact::bytes_are_bytes(&fresh().await).await?;
    exact::numbers_are_exact(&fresh().await, i64::MAX as u64).await?;
    exact::leases_are_exact(&fresh().await).await
}

#[test]
fn random_requests_are_answered_as_by_the_model() -> Result<(), Failure> {
    // Of a process that begins anew only the threads that it reads tell the time, so that one goes on.
    agrees_with_the_model(
        &Objects::in_memory().in_one_process(),
        fugato_testkit::share_of(200),
    )?;
    let swept = Objects::in_memory().in_one_process().swept_at_once();
    agrees_with_the_model(&swept, fugato_testkit::share_of(200))
}
