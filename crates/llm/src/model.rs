use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};

use crate::{ChatDelta, ChatRequest, ChatResponse, ModelError, ResponseFold, size::SizeLimits};

/// The pieces of one answer. Dropping it gives the answer up.
pub type DeltaStream = BoxStream<'static, Result<ChatDelta, ModelError>>;

/// A model that answers a conversation with its next message.
///
/// Everything that an answer depends on is in the request. What can go wrong with a server
/// belongs into decorators that wrap a model and are models again:
/// [`Retry`](crate::Retry), [`Timeout`](crate::Timeout), [`Fallback`](crate::Fallback),
/// [`CircuitBreaker`](crate::CircuitBreaker), [`RateLimit`](crate::RateLimit),
/// [`SizeLimit`](crate::SizeLimit), [`SpendLimit`](crate::SpendLimit),
/// [`ContextWindow`](crate::ContextWindow),
/// [`Traced`](crate::Traced), [`Record`](crate::Record).
///
/// # Contract
/// - **deltas in order**: text, reasoning and the arguments of each tool call, joined in the order
///   in which their deltas arrive, are the answer.
/// - **an end is an end**: after the last delta, and after an error, the stream ends.
/// - **broken is not finished**: an answer that breaks off ends in an error, never in silence.
/// - **dropping cancels**: once the stream is dropped the model stops working for it.
/// - **calls are independent**: a model holds nothing between calls that another answer could show.
/// - **no secrets**: neither a delta nor an error contains what the model authenticates with.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Begins an answer.
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError>;

    /// What traces call this model.
    #[expect(
        clippy::unnecessary_literal_bound,
        reason = "models may build their name"
    )]
    fn name(&self) -> &str {
        "model"
    }
}

const _: () = {
    const fn object_safe(_: Option<&dyn ChatModel>) {}
    object_safe(None);
};

macro_rules! forward {
    ($pointer:ident) => {
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<M: ChatModel + ?Sized> ChatModel for $pointer<M> {
            async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
                (**self).stream(request).await
            }

            fn name(&self) -> &str {
                (**self).name()
            }
        }
    };
}

forward!(Arc);
forward!(Box);

/// What callers of a [`ChatModel`] want beside its one method.
#[async_trait]
pub trait ChatModelExt: ChatModel {
    /// Asks, and waits for the whole answer: of one that is longer than
    /// [`ChatResponse::MOST_BYTES`], or has more calls than [`ChatResponse::MOST_CALLS`], the rest
    /// is not waited for, and the error is [`ModelErrorKind::AnswerTooLong`].
    ///
    /// [`ModelErrorKind::AnswerTooLong`]: crate::ModelErrorKind::AnswerTooLong
    async fn complete(&self, request: ChatRequest) -> Result<ChatResponse, ModelError> {
        let mut deltas = self.stream(request).await?;
        let mut response = ResponseFold::default();
        while let Some(delta) = deltas.next().await {
            match delta {
                Ok(delta) => response.push(delta),
                Err(error) => return Err(error.after(response.into_attempts())),
            }
            if let Err(error) = SizeLimits::default().hold(response.size()) {
                return Err(error.after(response.into_attempts()));
            }
        }
        Ok(response.finish())
    }
}

impl<M: ChatModel + ?Sized> ChatModelExt for M {}
