//! A store that removes a thread with all that belongs to it.
use std::sync::Arc;

use fugato_store::{Intercept, StoreCall, StoreError, StoreErrorKind};

use crate::ThreadResources;

/// Deletes what belongs to a thread before the thread itself, whoever removes it: a command, a
/// client over HTTP, or the retention of finished threads.
pub(crate) struct WholeRemoval(pub(crate) Arc<dyn ThreadResources>);

impl Intercept for WholeRemoval {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if let StoreCall::Remove(thread) = asked {
            // The log goes last: by it a partial removal is found and repeated.
            let deleted = self.0.delete(thread).await;
            deleted.map_err(|error| {
                let kind = StoreErrorKind::Other;
                StoreError::new(kind, "remove").on(thread).because(error)
            })?;
        }
        act.await
    }
}
