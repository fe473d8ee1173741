use std::sync::Arc;

use async_trait::async_trait;
use fugato_store::DocStore;

use crate::log::{OpenError, TestClock};

/// The source of the stores of a suite.
#[async_trait]
pub trait DocFactory: Send + Sync {
    /// Returns an empty store, which reads time from `clock`.
    async fn fresh(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError>;

    /// Returns true if acknowledged writes are there when a store is opened again. The ability is
    /// declared, never guessed: a store that declares it and lacks it fails.
    fn persistent(&self) -> bool {
        false
    }

    /// Returns the store of the last [`fresh`](Self::fresh), as another process would open it. The
    /// first one was dropped before. Only called for stores that are declared persistent.
    async fn reopen(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        let _ = clock;
        Err("this factory declares persistent stores and cannot reopen them".into())
    }
}
