//! Tests K31: threads that move to commits and back, under kills at every request.
use std::{sync::Arc, time::Duration};

use fugato_commits::{CommitLog, CommitLogOptions};
use fugato_store::{MemoryLog, ThreadStore};
use fugato_testkit::log::{Failure, TestClock, moves_leave_one_home};

/// Some day in 2033.
const BEGIN: i64 = 2_000_000_000_000;

#[tokio::test]
async fn k31_a_move_to_commits_and_back_that_is_killed_anywhere_leaves_one_home_at_most()
-> Result<(), Failure> {
    let clock = TestClock::at(BEGIN);
    moves_leave_one_home(&memory(&clock), &commits(&clock).await?, &clock).await
}

fn memory(clock: &TestClock) -> Arc<dyn ThreadStore> {
    let clock = clock.clone();
    Arc::new(MemoryLog::with_clock(move || clock.now()))
}

async fn commits(clock: &TestClock) -> Result<Arc<dyn ThreadStore>, Failure> {
    let clock = clock.clone();
    let options = CommitLogOptions::default()
        .max_skew(Duration::ZERO)
        .clock(move || clock.now());
    Ok(Arc::new(CommitLog::open_memory(options).await?))
}
