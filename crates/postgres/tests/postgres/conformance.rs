//! Runs the conformance tests of a log on `PostgresLog`, with a real server.

use crate::schemas::Schemas;
use fugato_postgres::Synchronous;
use fugato_testkit::log::{Failure, agrees_with_the_model};
use servers::Postgres;

mod durable {
    use super::*;

    fugato_testkit::thread_log_suite!(
        Schemas::new(Synchronous::Full),
        if Postgres::shared().is_some()
    );
}

mod fast {
    use super::*;

    fugato_testkit::thread_log_suite!(
        Schemas::new(Synchronous::Normal),
        if Postgres::shared().is_some()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn random_requests_are_answered_as_by_the_model() -> Result<(), Failure> {
    if Postgres::shared().is_none() {
        return Ok(());
    }
    let schemas = Schemas::new(Synchronous::Normal);
    let agrees = move || agrees_with_the_model(&schemas, fugato_testkit::share_of(24));
    let done = tokio::task::spawn_blocking(agrees).await;
    done.map_err(Box::<dyn std::error::Error + Send + Sync>::from)?
}
