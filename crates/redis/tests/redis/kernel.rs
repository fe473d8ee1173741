//! Runs the engine's tests on Redis.

use crate::common::{Prefixes, durable};
use fugato_redis::ServerDurability;

fugato_testkit::kernel_suite!(
    Prefixes::on(durable(), ServerDurability::Disk),
    if durable().is_some(),
    in shares
);
