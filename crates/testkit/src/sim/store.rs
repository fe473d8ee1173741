//! The stores of a simulation, which outlive its processes.
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use fugato_store::MemoryLog;

use crate::log::{OpenError, Opened, TestClock};

/// Where a simulation gets its stores, and what becomes of them when a process dies.
#[async_trait]
pub trait CrashStore: Send + Sync {
    /// A store with nothing in it, which reads time from `clock`.
    async fn fresh(&self, clock: &TestClock) -> Result<Opened, OpenError>;

    /// The last store as the next process finds it. What the dead process had open is dropped
    /// after this.
    async fn reopen(&self, clock: &TestClock) -> Result<Opened, OpenError>;

    /// How long the file is that an append makes longer; none if there is no such file, and its
    /// end is never torn off then.
    fn length(&self) -> Option<u64> {
        None
    }

    /// The process dies now. What is on the disk stays as it is, though the store in memory is
    /// still to be dropped; if `torn`, the file that appends make longer ends there.
    fn die(&self, torn: Option<u64>) -> Result<(), OpenError> {
        let _ = torn;
        Ok(())
    }
}

/// Logs in memory, which outlive what a simulation calls a process.
#[derive(Debug, Default)]
pub struct InMemory(Mutex<Option<MemoryLog>>);

#[async_trait]
impl CrashStore for InMemory {
    async fn fresh(&self, clock: &TestClock) -> Result<Opened, OpenError> {
        let clock = clock.clone();
        let log = MemoryLog::with_clock(move || clock.now());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(log.clone());
        Ok(Opened::whole(log))
    }

    async fn reopen(&self, _: &TestClock) -> Result<Opened, OpenError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let log = kept.clone().ok_or("nothing was opened before")?;
        Ok(Opened::whole(log))
    }
}
