//! Runs the engine's tests on Redis.
mod common;

use common::{Prefixes, durable};
use fugato_redis::Durability;

fugato_testkit::kernel_suite!(
    Prefixes::on(durable(), Durability::Disk),
    if durable().is_some()
);
