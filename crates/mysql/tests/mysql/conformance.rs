//! Runs the conformance tests of a log on `MySqlLog`.

use crate::common::{Databases, shared};
use fugato_testkit::log::{Failure, agrees_with_the_model};

fugato_testkit::thread_log_suite!(Databases::default(), if shared().is_some());

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn random_requests_are_answered_as_by_the_model() -> Result<(), Failure> {
    if shared().is_none() {
        return Ok(());
    }
    let runtime = tokio::runtime::Handle::current();
    let agrees = move || {
        // The connections belong to this runtime.
        let _inside = runtime.enter();
        agrees_with_the_model(&Databases::opened_once(), fugato_testkit::share_of(24))
    };
    let ran = tokio::task::spawn_blocking(agrees).await;
    ran.expect("the model does not panic")
}
