//! The graph engine keeps its rules on threads that an engine goes on with: here, the next loop.
use std::{sync::Arc, time::Duration};

use fugato_graph::{Drive, Next, RunError};
use fugato_state::ThreadId;
use fugato_store::MemoryLog;
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, PlacingEngine, TestClock};

struct Placed;

#[async_trait::async_trait]
impl PlacingEngine for Placed {
    async fn place(&self, agent: Arc<dyn Drive>, thread: &ThreadId) -> Result<Next, RunError> {
        loop {
            match agent.drive(thread, Duration::from_secs(30)).await? {
                Next::Yield => {}
                next => return Ok(next),
            }
        }
    }
}

#[async_trait::async_trait]
impl LogFactory for Placed {
    fn abilities(&self) -> Abilities {
        Abilities::log_only().with_snapshots().with_admin()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        Ok(OpenedLog::whole(MemoryLog::with_clock(move || clock.now())))
    }

    fn engine(&self) -> Option<&dyn PlacingEngine> {
        Some(self)
    }
}

fugato_testkit::kernel_suite!(Placed);
