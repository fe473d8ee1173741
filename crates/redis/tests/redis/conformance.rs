//! Runs the conformance tests of a log on `RedisLog`.

use crate::common::{Prefixes, durable, fast};
use fugato_redis::ServerDurability;
use fugato_testkit::log::{Failure, agrees_with_the_model};

mod on_disk {
    use super::*;

    fugato_testkit::thread_log_suite!(
        Prefixes::on(durable(), ServerDurability::Disk),
        if durable().is_some()
    );
}

mod in_memory {
    use super::*;

    fugato_testkit::thread_log_suite!(
        Prefixes::on(fast(), ServerDurability::Memory),
        if fast().is_some()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn random_requests_are_answered_as_by_the_model() -> Result<(), Failure> {
    if durable().is_none() {
        return Ok(());
    }
    let runtime = tokio::runtime::Handle::current();
    let agrees = move || {
        // The connection belongs to this runtime.
        let _inside = runtime.enter();
        agrees_with_the_model(
            &Prefixes::on(durable(), ServerDurability::Disk),
            fugato_testkit::share_of(64),
        )
    };
    let ran = tokio::task::spawn_blocking(agrees).await;
    ran.expect("the model does not panic")
}
