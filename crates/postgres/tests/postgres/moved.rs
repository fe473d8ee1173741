//! Tests K31: threads that move to the server and back, under kills at every request.
use std::sync::Arc;

use fugato_postgres::{PostgresLog, PostgresOptions, Synchronous};
use fugato_store::{MemoryLog, ThreadStore};
use fugato_testkit::log::{TestClock, moves_leave_one_home};
use servers::Postgres;

use crate::fixture::{TestResult, fresh};

#[tokio::test(flavor = "multi_thread")]
async fn k31_a_move_to_the_server_and_back_that_is_killed_anywhere_leaves_one_home_at_most()
-> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    // Some day in 2033.
    let clock = TestClock::at(2_000_000_000_000);
    let (time, other) = (clock.clone(), clock.clone());
    let options = PostgresOptions::default()
        .schema(fresh())
        .synchronous(Synchronous::Normal)
        .pool_size(1)
        .clock(move || time.now());
    let log = PostgresLog::connect_with(server.url(), options).await?;
    let memory = MemoryLog::with_clock(move || other.now());
    let (memory, log): (Arc<dyn ThreadStore>, Arc<dyn ThreadStore>) =
        (Arc::new(memory), Arc::new(log));
    Ok(moves_leave_one_home(&memory, &log, &clock).await?)
}
