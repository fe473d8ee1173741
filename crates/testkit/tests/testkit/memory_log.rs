//! The log in memory keeps its contract.
use fugato_store::MemoryLog;
use fugato_testkit::log::{
    Abilities, Failure, LogFactory, OpenError, OpenedLog, TestClock, agrees_with_the_model, exact,
};

struct InMemory;

#[async_trait::async_trait]
impl LogFactory for InMemory {
    fn abilities(&self) -> Abilities {
        Abilities::log_only().with_snapshots().with_admin()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        Ok(OpenedLog::whole(MemoryLog::with_clock(move || clock.now())))
    }
}

fugato_testkit::thread_log_suite!(InMemory);

#[test]
fn random_requests_are_answered_as_by_the_model() -> Result<(), Failure> {
    agrees_with_the_model(&InMemory, fugato_testkit::share_of(512))
}

#[tokio::test]
async fn names_bytes_and_leases_are_exact() -> Result<(), Failure> {
    exact::names_are_names(&MemoryLog::default(), &["x", "X", "\'", "%"]).await?;
    exact::bytes_are_bytes(&MemoryLog::default()).await?;
    exact::leases_are_exact(&MemoryLog::default()).await
}
