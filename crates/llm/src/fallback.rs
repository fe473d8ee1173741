use std::sync::Arc;

use async_trait::async_trait;
use fugato_state::say;
use futures::{StreamExt as _, stream};

use crate::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, attempt::begin,
};

/// Sends a request to a backup at once when a model fails.
///
/// Every attempt of the whole chain is reported: in the deltas of the answer, or in the error,
/// which is that of the last model that was not skipped.
///
/// # Notes
/// - Only a failure before the first delta goes to the backup, so that an answer never mixes the
///   output of two models.
/// - [`ChatRequest::attempts`] limits the attempts of the whole chain; one attempt is reserved for
///   each backup that is left.
/// - To retry the whole chain, wrap it: `Retry::new(Fallback::new(main).or(backup))`. A
///   [`Retry`](crate::Retry) inside would pause before the backup is used.
#[derive(derive_more::Debug, Clone)]
#[debug("Fallback {{ chain: {:?} }}", self.chain.iter().map(ChatModel::name).collect::<Vec<_>>())]
pub struct Fallback {
    chain: Vec<Arc<dyn ChatModel>>,
}

impl Fallback {
    /// Creates a chain with its first model.
    pub fn new(main: impl ChatModel + 'static) -> Self {
        Self {
            chain: vec![Arc::new(main)],
        }
    }

    fugato_state::setters! {
        /// Appends a backup, which is used when all models before it failed.
        pub fn or(backup: impl ChatModel + 'static) { chain.push(Arc::new(backup)) }
    }
}

#[async_trait]
impl ChatModel for Fallback {
    async fn stream(&self, mut request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let allowed = request.attempts.map(|allowed| allowed.max(1) as usize);
        let mut made = vec![];
        let mut last: Option<ModelError> = None;
        for (position, model) in self.chain.iter().enumerate() {
            if let Some(allowed) = allowed {
                let left = allowed.saturating_sub(made.len());
                if left == 0 {
                    break;
                }
                let backups = self.chain.len().saturating_sub(position + 1);
                let share = left.saturating_sub(backups).max(1);
                request.attempts = Some(u32::try_from(share).unwrap_or(u32::MAX));
            }
            match begin(model, request.clone()).await {
                Ok(mut begun) => {
                    made.append(&mut begun.earlier);
                    let told = stream::iter(made).map(|attempt| Ok(ChatDelta::Attempt(attempt)));
                    return Ok(told.chain(begun.deltas).boxed());
                }
                Err(mut error) => {
                    made.append(&mut error.attempts);
                    if error.kind != ModelErrorKind::Skipped || last.is_none() {
                        last = Some(error);
                    }
                }
            }
        }
        let empty = || {
            ModelError::new(
                ModelErrorKind::Other,
                say!("the chain is empty", "没有可用的模型"),
            )
        };
        let mut last = last.unwrap_or_else(empty);
        last.attempts = made;
        Err(last)
    }

    fn name(&self) -> &str {
        self.chain.first().map_or("fallback", |main| main.name())
    }
}
