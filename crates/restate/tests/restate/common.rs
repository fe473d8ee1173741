//! The common part of the tests.
use std::time::{Duration, Instant};

use fugato_graph::BoxError;
use fugato_restate::Restate;

pub(crate) type TestResult = Result<(), BoxError>;

/// Names an endpoint to the server, as soon as it is served.
pub(crate) async fn registered(engine: &Restate, admin: &str, endpoint: &str) -> TestResult {
    let begun = Instant::now();
    while let Err(error) = engine.register(admin, endpoint).await {
        if begun.elapsed() > Duration::from_secs(30) {
            return Err(error.into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
