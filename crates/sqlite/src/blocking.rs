//! Waiting for the disk without stopping the runtime.
use tokio::runtime::{Handle, RuntimeFlavor};

/// The place where work that waits for the disk may run.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// The current thread: there is no runtime that it could block.
    Here,
    /// The current worker, after another thread took over its other tasks.
    Worker,
    /// A thread of the blocking pool, because the runtime has only one worker.
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
