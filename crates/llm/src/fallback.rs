use std::{fmt, sync::Arc};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};

use crate::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, attempt::begin,
};

/// Goes to a backup at once when a model fails.
///
/// Every attempt over the whole chain is told: in the deltas of the answer, or in the error, which
/// is that of the last model that was asked, and not skipped.
///
/// # Notes
/// - Only a failure before the first delta goes to the backup, so that no reader sees the words of
///   two models mixed.
/// - [`ChatRequest::attempts`] limits the attempts of the chain as a whole; as long as backups are
///   left, one attempt is kept for each.
/// - To try the chain again from its start, wrap it: `Retry::new(Fallback::new(main).or(backup))`.
///   A [`Retry`](crate::Retry) inside would make the person wait before the backup is asked.
#[derive(Clone)]
pub struct Fallback {
    chain: Vec<Arc<dyn ChatModel>>,
}

impl Fallback {
    /// The model that is asked first.
    pub fn new(main: impl ChatModel + 'static) -> Self {
        Self {
            chain: vec![Arc::new(main)],
        }
    }

    /// Adds the model that is asked when all before it failed.
    #[must_use]
    pub fn or(mut self, backup: impl ChatModel + 'static) -> Self {
        self.chain.push(Arc::new(backup));
        self
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
        let empty = || ModelError::new(ModelErrorKind::Other, "the chain is empty");
        let mut last = last.unwrap_or_else(empty);
        last.attempts = made;
        Err(last)
    }

    fn name(&self) -> &str {
        self.chain.first().map_or("fallback", |main| main.name())
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.chain.iter().map(ChatModel::name).collect();
        f.debug_struct("Fallback").field("chain", &names).finish()
    }
}
