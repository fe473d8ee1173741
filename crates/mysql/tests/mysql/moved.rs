//! Tests K31: threads that move to the server and back, under kills at every request.
use std::sync::Arc;

use fugato_mysql::{MySqlLog, MySqlOptions};
use fugato_store::{MemoryLog, ThreadStore};
use fugato_testkit::log::{Failure, TestClock, moves_leave_one_home};

use crate::common::{database, shared};

#[tokio::test(flavor = "multi_thread")]
async fn k31_a_move_to_the_server_and_back_that_is_killed_anywhere_leaves_one_home_at_most()
-> Result<(), Failure> {
    let Some(server) = shared() else {
        return Ok(());
    };
    // Some day in 2033.
    let clock = TestClock::at(2_000_000_000_000);
    let (time, other) = (clock.clone(), clock.clone());
    let options = MySqlOptions::default()
        .connections(1)
        .clock(move || time.now());
    let url = database(server.url()).await;
    let log = MySqlLog::connect_with(&url, options).await?;
    let memory = MemoryLog::with_clock(move || other.now());
    let (memory, log): (Arc<dyn ThreadStore>, Arc<dyn ThreadStore>) =
        (Arc::new(memory), Arc::new(log));
    moves_leave_one_home(&memory, &log, &clock).await
}
