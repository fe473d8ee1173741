mod trim;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use fugato_state::{EstimatedTokens, TokenCount, say};
use futures::{StreamExt as _, stream};

use crate::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, attempt::begin,
};

/// Fits requests to the number of tokens that a model can take.
///
/// If a request is too long, its oldest messages are left out, or the beginning of a long message
/// is cut. The system messages, the last message of the user and the newest message stay. A call is
/// never sent without its results, nor a result without its call. A request that is still too long
/// fails with [`ModelErrorKind::TooLong`] before it is sent.
///
/// # Notes
/// - If the server still finds a request too long, it is sent once more with a quarter fewer
///   tokens, and later requests are limited to that from the start.
/// - The tokens of the answer are part of the window: the request's limit of them, at most half of
///   the window.
/// - Clones share the limit that was learnt from the server.
///
/// # Default
/// Tokens are counted by [`EstimatedTokens`].
#[derive(derive_more::Debug, Clone)]
pub struct ContextWindow<M> {
    model: M,
    tokens: u64,
    #[debug(skip)]
    count: Arc<dyn TokenCount>,
    /// The limit of messages and tools that was learnt from the server, by the same count.
    learnt: Arc<AtomicU64>,
}

/// The tokens reserved for an answer whose length the request does not limit.
const ANSWER: u64 = 1024;

impl<M: ChatModel> ContextWindow<M> {
    /// Wraps a model with a window of `tokens` tokens, the answer included.
    pub fn new(model: M, tokens: u64) -> Self {
        Self {
            model,
            tokens,
            count: Arc::new(EstimatedTokens),
            learnt: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }

    fugato_state::setters! {
        /// Sets the counter of tokens.
        pub fn count(count: impl TokenCount + 'static) { count = Arc::new(count) }
    }

    /// Returns the number of tokens that the messages and tools of a request may have.
    fn room(&self, request: &ChatRequest) -> u64 {
        let answer = request.sampling.max_tokens.map_or(ANSWER, u64::from);
        let room = self.tokens - answer.min(self.tokens / 2);
        room.min(self.learnt.load(Ordering::Relaxed))
    }

    fn fit(&self, request: ChatRequest) -> Result<ChatRequest, ModelError> {
        let room = self.room(&request);
        trim::fit(request, room, &*self.count).map_err(|tokens| {
            let all = self.tokens.min(self.learnt.load(Ordering::Relaxed));
            let why = say!(
                "it has about {tokens} tokens of which nothing can be left out, and {room} of {all} are free for it",
                "它约有 {tokens} 个 token，都不能省略，而 {all} 个中只有 {room} 个可用"
            );
            ModelError::new(ModelErrorKind::TooLong, why)
        })
    }

    /// Returns the request shortened after the server refused it as too long; `None` if nothing
    /// more can be left out.
    fn shorter(&self, refused: &ChatRequest) -> Option<ChatRequest> {
        let tokens = trim::tokens(refused, &*self.count);
        self.learnt.fetch_min(tokens / 4 * 3, Ordering::Relaxed);
        self.fit(refused.clone()).ok()
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for ContextWindow<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let request = self.fit(request)?;
        let mut error = match begin(&self.model, request.clone()).await {
            Ok(begun) => {
                let earlier = stream::iter(begun.earlier).map(|it| Ok(ChatDelta::Attempt(it)));
                return Ok(earlier.chain(begun.deltas).boxed());
            }
            Err(error) => error,
        };
        let again = match error.kind {
            ModelErrorKind::TooLong => self.shorter(&request),
            _ => None,
        };
        let Some(again) = again else {
            return Err(error);
        };
        let mut made = std::mem::take(&mut error.attempts);
        match begin(&self.model, again).await {
            Ok(mut begun) => {
                made.append(&mut begun.earlier);
                let earlier = stream::iter(made).map(|it| Ok(ChatDelta::Attempt(it)));
                Ok(earlier.chain(begun.deltas).boxed())
            }
            Err(error) => Err(error.after(made)),
        }
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}
