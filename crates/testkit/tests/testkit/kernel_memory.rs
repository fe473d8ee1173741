//! The graph engine keeps its rules on the log in memory.
use fugato_store::MemoryLog;
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};

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

fugato_testkit::kernel_suite!(InMemory);
