//! Tests K31: threads that move to commits and back, under kills at every request.
use std::sync::Arc;

use fugato_commits::{CommitLog, CommitLogOptions};
use fugato_store::{MemoryLog, ThreadStore};
use fugato_testkit::log::{Failure, moves_leave_one_home};

#[tokio::test]
async fn k31_a_move_to_commits_that_is_killed_anywhere_leaves_one_home_at_most()
-> Result<(), Failure> {
    moves_leave_one_home(&memory(), &commits().await?).await
}

#[tokio::test]
async fn k31_a_move_from_commits_that_is_killed_anywhere_leaves_one_home_at_most()
-> Result<(), Failure> {
    moves_leave_one_home(&commits().await?, &memory()).await
}

fn memory() -> Arc<dyn ThreadStore> {
    Arc::new(MemoryLog::default())
}

async fn commits() -> Result<Arc<dyn ThreadStore>, Failure> {
    let options = CommitLogOptions::default();
    Ok(Arc::new(CommitLog::open_memory(options).await?))
}
