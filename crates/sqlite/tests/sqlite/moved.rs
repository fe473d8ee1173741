//! Tests K31: threads that move between files and memory, under kills at every request.
use std::sync::Arc;

use fugato_sqlite::{SqliteLog, SqliteOptions};
use fugato_store::{MemoryLog, ThreadStore};
use fugato_testkit::log::{Failure, TestClock, moves_leave_one_home};

/// Some day in 2033.
const BEGIN: i64 = 2_000_000_000_000;

#[tokio::test]
async fn k31_a_move_that_is_killed_anywhere_leaves_one_home_at_most() -> Result<(), Failure> {
    let clock = TestClock::at(BEGIN);
    let memory = || {
        let clock = clock.clone();
        Arc::new(MemoryLog::with_clock(move || clock.now())) as Arc<dyn ThreadStore>
    };
    moves_leave_one_home(&memory(), &memory(), &clock).await
}

#[tokio::test]
async fn k31_a_move_between_files_that_is_killed_anywhere_leaves_one_home_at_most()
-> Result<(), Failure> {
    let (folder, clock) = (fugato_testkit::tempdir().unwrap(), TestClock::at(BEGIN));
    let open = |name: &str| {
        let clock = clock.clone();
        let options = SqliteOptions::default().clock(move || clock.now());
        let log = SqliteLog::open_with(folder.path().join(name), options).unwrap();
        Arc::new(log) as Arc<dyn ThreadStore>
    };
    moves_leave_one_home(&open("old.db"), &open("new.db"), &clock).await
}
