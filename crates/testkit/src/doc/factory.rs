use std::sync::Arc;

use async_trait::async_trait;
use fugato_store::DocStore;

use crate::log::{OpenError, TestClock};

/// Where the suite gets its stores.
#[async_trait]
pub trait DocFactory: Send + Sync {
    /// A store with nothing in it, which reads time from `clock`.
    async fn fresh(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError>;

    /// Whether what was acknowledged is there when a store is opened again. It is declared, never
    /// guessed: one that is declared and not there fails.
    fn persistent(&self) -> bool {
        false
    }

    /// What the last [`fresh`](Self::fresh) gave, as another process would open it. It was dropped
    /// before. Only asked of stores that are declared persistent.
    async fn reopen(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        let _ = clock;
        Err("this factory declares persistent stores and cannot reopen them".into())
    }
}
