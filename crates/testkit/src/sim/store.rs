//! The stores of a simulation, which outlive its processes.
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use fugato_store::MemoryLog;

use crate::log::{OpenError, OpenedLog, TestClock};

/// The source of the stores of a simulation, with their behaviour when a process dies.
#[async_trait]
pub trait CrashStore: Send + Sync {
    /// Returns an empty store, which reads time from `clock`.
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError>;

    /// Returns the last store as the next process finds it. The handles of the dead process are
    /// dropped after this.
    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError>;

    /// Returns the length of the file to which appends are written; none if there is no such file,
    /// in which case its end is never torn off.
    fn length(&self) -> Option<u64> {
        None
    }

    /// Simulates the death of the process. The contents of the disk stay as they are, although the
    /// store in memory is dropped later; with `torn`, the file of the appends ends there.
    fn die(&self, torn: Option<u64>) -> Result<(), OpenError> {
        let _ = torn;
        Ok(())
    }
}

/// Logs in memory, which outlive the simulated processes.
#[derive(Debug, Default)]
pub struct InMemory(Mutex<Option<MemoryLog>>);

#[async_trait]
impl CrashStore for InMemory {
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        let log = MemoryLog::with_clock(move || clock.now());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(log.clone());
        Ok(OpenedLog::whole(log))
    }

    async fn reopen(&self, _: &TestClock) -> Result<OpenedLog, OpenError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let log = kept.clone().ok_or("nothing was opened before")?;
        Ok(OpenedLog::whole(log))
    }
}
