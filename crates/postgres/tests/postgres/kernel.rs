//! Runs the engine's tests on `PostgreSQL`.

use crate::schemas::Schemas;
use fugato_postgres::Synchronous;
use servers::Postgres;

fugato_testkit::kernel_suite!(
    Schemas::new(Synchronous::Full),
    if Postgres::shared().is_some(),
    in shares
);
