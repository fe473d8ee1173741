mod trim;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use fugato_state::{EstimatedTokens, TokenCount};
use futures::{StreamExt as _, stream};

use crate::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, attempt::begin,
};

/// Fits requests to the number of tokens that a model can take.
///
/// Of a request that is too long the oldest messages are left out, and of a long one its beginning.
/// What stays is what the system says, what the person said last, and the newest message; a call is
/// never sent without its results, nor a result without its call. What is too long even so fails
/// with [`ModelErrorKind::TooLong`] before it is sent.
///
/// # Notes
/// - A server that finds a request too long all the same is asked once more with a quarter less,
///   and later requests are that short from the beginning.
/// - The tokens of the answer are part of the window: as many as the request allows, at most half
///   of it.
/// - Clones share what was learnt of the server.
///
/// # Default
/// Tokens are counted by [`EstimatedTokens`].
#[derive(Clone)]
pub struct ContextWindow<M> {
    model: M,
    tokens: u64,
    count: Arc<dyn TokenCount>,
    /// What the server was found to take, by the same count.
    learnt: Arc<AtomicU64>,
}

/// The tokens of an answer whose length the request does not limit.
const ANSWER: u64 = 1024;

impl<M: ChatModel> ContextWindow<M> {
    /// Wraps a model that takes so many tokens, the answer included.
    pub fn new(model: M, tokens: u64) -> Self {
        Self {
            model,
            tokens,
            count: Arc::new(EstimatedTokens),
            learnt: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }

    /// Sets what counts tokens.
    #[must_use]
    pub fn count(mut self, count: impl TokenCount + 'static) -> Self {
        self.count = Arc::new(count);
        self
    }

    /// What the messages of a request may have.
    fn room(&self, request: &ChatRequest) -> u64 {
        let answer = request.sampling.max_tokens.map_or(ANSWER, u64::from);
        let room = self.tokens - answer.min(self.tokens / 2);
        room.min(self.learnt.load(Ordering::Relaxed))
    }

    fn fit(&self, request: ChatRequest) -> Result<ChatRequest, ModelError> {
        let room = self.room(&request);
        trim::fit(request, room, &*self.count).map_err(|tokens| {
            let all = self.tokens.min(self.learnt.load(Ordering::Relaxed));
            let why = format!(
                "it has about {tokens} tokens of which nothing can be left out, and {room} of {all} are free for it"
            );
            ModelError::new(ModelErrorKind::TooLong, why)
        })
    }

    /// The request again, shorter than what the server did not take; none if it cannot be.
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

impl<M: fmt::Debug> fmt::Debug for ContextWindow<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextWindow")
            .field("model", &self.model)
            .field("tokens", &self.tokens)
            .field("learnt", &self.learnt)
            .finish_non_exhaustive()
    }
}
