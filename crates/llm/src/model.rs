use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};

use crate::{ChatDelta, ChatRequest, ChatResponse, ModelError, ResponseFold, size::SizeLimits};

/// The stream of the deltas of one answer. Dropping it cancels the answer.
pub type DeltaStream = BoxStream<'static, Result<ChatDelta, ModelError>>;

/// A model that answers a conversation with its next message.
///
/// Everything that the answer depends on is in the request. Retries, time limits, backups and other
/// protection against a failing server are decorators, which wrap a model and are models
/// themselves:
/// [`Retry`](crate::Retry), [`Timeout`](crate::Timeout), [`Fallback`](crate::Fallback),
/// [`CircuitBreaker`](crate::CircuitBreaker), [`RateLimit`](crate::RateLimit),
/// [`SizeLimit`](crate::SizeLimit), [`SpendLimit`](crate::SpendLimit),
/// [`ContextWindow`](crate::ContextWindow), [`Models`](crate::Models),
/// [`TracedModel`](crate::TracedModel), [`Record`](crate::Recorder).
///
/// # Example
/// ```
/// use async_trait::async_trait;
/// use fugato_llm::{ChatDelta, ChatModel, ChatModelExt as _, ChatRequest, DeltaStream, ModelError};
/// use futures::{StreamExt as _, stream};
///
/// struct Greeter;
///
/// #[async_trait]
/// impl ChatModel for Greeter {
///     async fn stream(&self, _: ChatRequest) -> Result<DeltaStream, ModelError> {
///         let words = ["Good ", "morning"].map(|word| Ok(ChatDelta::text(word)));
///         Ok(stream::iter(words).boxed())
///     }
/// }
///
/// let answer = Greeter.complete(ChatRequest::new([]));
/// assert_eq!(futures::executor::block_on(answer)?.message.content, "Good morning");
/// # Ok::<(), ModelError>(())
/// ```
///
/// # Wrong
/// ```text
/// tokio::spawn(async move {
///     while let Ok(Some(text)) = server.next().await {
///         let _ = deltas.send(Ok(ChatDelta::text(text))).await;
///     }
/// });
/// Ok(ReceiverStream::new(receiver).boxed())
/// ```
/// An error of the server ends the loop and closes the channel, so that half an answer looks
/// complete (*broken is not finished*). The task ignores a closed channel, and goes on reading
/// after the caller has dropped the stream (*dropping cancels*). A stream that owns the connection
/// has neither fault.
///
/// # Contract
/// - **deltas in order**: text, reasoning and the arguments of each tool call, joined in the order
///   in which their deltas arrive, are the answer.
/// - **an end is an end**: after the last delta, and after an error, the stream ends.
/// - **broken is not finished**: an answer that breaks off ends in an error, never in silence.
/// - **dropping cancels**: once the stream is dropped the model stops working for it.
/// - **calls are independent**: a model holds nothing between calls that another answer could show.
/// - **no secrets**: neither a delta nor an error contains what the model authenticates with.
///
/// `fugato_testkit::chat_model_suite!` tests an implementation against this list.
///
/// # Errors
/// [`stream`](Self::stream) fails if the answer cannot begin, an item of the stream if it breaks
/// off. The [`RetryAdvice`](crate::RetryAdvice) of the error says whether a retry can help.
/// Decorators retry only before the first delta.
///
/// # Cancellation safety
/// The future and the stream may be dropped at any time; received deltas stay valid. A server may
/// still charge for what it generated until then.
///
/// # Cost
/// A call allocates a future and a stream, and so does each decorator. Deltas are moved; only
/// [`Record`](crate::Recorder) copies them. Decorators that retry clone the request for each attempt.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Starts an answer and returns the stream of its deltas.
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError>;

    /// Returns the name of the model in traces.
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

/// Convenience methods of every [`ChatModel`].
#[async_trait]
pub trait ChatModelExt: ChatModel {
    /// Sends the request and waits for the whole answer.
    ///
    /// An answer that is longer than [`ChatResponse::MOST_BYTES`], or has more calls than
    /// [`ChatResponse::MOST_CALLS`], is cancelled with the error [`ModelErrorKind::AnswerTooLong`].
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
