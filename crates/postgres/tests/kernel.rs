//! Runs the engine's tests on `PostgreSQL`.
mod schemas;

use fugato_postgres::Synchronous;
use schemas::Schemas;
use servers::Postgres;

fugato_testkit::kernel_suite!(
    Schemas::new(Synchronous::Full),
    if Postgres::shared().is_some()
);
