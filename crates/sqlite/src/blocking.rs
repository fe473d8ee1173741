//! Waiting for the disk without stopping the runtime.
use tokio::runtime::{Handle, RuntimeFlavor};

/// Where work that waits for the disk may run.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Here: there is no runtime that could stop.
    Here,
    /// Here, after another thread took over the other tasks of this worker.
    Worker,
    /// On a thread of the pool, because the runtime has only this one.
    Pool(Handle),
}

impl Place {
    pub(crate) fn current() -> Self {
        match Handle::try_current() {
            Err(_) => Self::Here,
            Ok(handle) => match handle.runtime_flavor() {
                RuntimeFlavor::MultiThread => Self::Worker,
                _ => Self::Pool(handle),
            },
        }
    }
}
