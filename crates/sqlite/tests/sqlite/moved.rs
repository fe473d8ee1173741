//! Tests K31: threads that move between files and memory, under kills at every request.
use std::sync::Arc;

use fugato_sqlite::SqliteLog;
use fugato_store::{MemoryLog, ThreadStore};
use fugato_testkit::log::{Failure, moves_leave_one_home};

#[tokio::test]
async fn k31_a_move_that_is_killed_anywhere_leaves_one_home_at_most() -> Result<(), Failure> {
    let memory = || Arc::new(MemoryLog::default()) as Arc<dyn ThreadStore>;
    moves_leave_one_home(&memory(), &memory()).await
}

#[tokio::test]
async fn k31_a_move_between_files_that_is_killed_anywhere_leaves_one_home_at_most()
-> Result<(), Failure> {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        let log = SqliteLog::open(folder.path().join(name)).unwrap();
        Arc::new(log) as Arc<dyn ThreadStore>
    };
    moves_leave_one_home(&open("old.db"), &open("new.db")).await
}
