mod window;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use fugato_state::{EstimatedTokens, TokenCount, say};
use futures::StreamExt as _;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use self::window::{Limits, Window};
use crate::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, RetryAdvice,
};

/// Limits the requests and tokens per minute to a [`Quota`].
///
/// A request that does not fit yet waits for its turn, in order of arrival: a large request is not
/// overtaken by small ones. A request that would wait too long fails with
/// [`ModelErrorKind::RateLimited`] and the advice when to try again.
///
/// # Notes
/// - Tokens are estimated before the request, for the messages, the tools and the longest answer
///   that the request allows. They are corrected by the usage that the answer reports.
/// - Below a [`Retry`](crate::Retry) every attempt counts.
///
/// # Cancellation safety
/// A request that is dropped while it waits leaves the queue, and has used nothing of the quota.
#[derive(Debug, Clone)]
pub struct RateLimit<M> {
    model: M,
    quota: Quota,
}

/// The requests and tokens that are allowed per minute. Clones share them, as the models of one
/// account do.
///
/// The limits hold in every span of 60 seconds, wherever it begins.
///
/// # Default
/// No limits and no longest wait; 1,024 tokens for an answer whose length the request does not
/// limit; tokens counted by [`EstimatedTokens`].
#[derive(smart_default::SmartDefault, derive_more::Debug, Clone)]
#[debug("Quota {{ limits: {limits:?}, longest_wait: {longest_wait:?}, answer: {answer:?}, .. }}")]
pub struct Quota {
    limits: Limits,
    longest_wait: Option<Duration>,
    #[default(1024)]
    answer: u64,
    #[default(Arc::new(EstimatedTokens))]
    counter: Arc<dyn TokenCount>,
    shared: Arc<RateInner>,
}

#[derive(Debug, Default)]
struct RateInner {
    /// The lock of the request whose turn it is. It is fair: requests get it in order of arrival.
    turn: tokio::sync::Mutex<()>,
    window: Mutex<Window>,
    corrected: Notify,
}

impl<M: ChatModel> RateLimit<M> {
    /// Wraps a model.
    pub fn new(model: M, quota: Quota) -> Self {
        Self { model, quota }
    }
}

impl Quota {
    fugato_state::setters! {
        /// Limits the requests per minute; at least one.
        pub fn requests(a_minute: u32) { limits.requests = Some(a_minute) }

        /// Limits the tokens per minute, input and output together.
        ///
        /// A request that needs more is sent when no other was sent for a minute.
        pub fn tokens(a_minute: u64) { limits.tokens = Some(a_minute) }

        /// Refuses requests that would wait longer; zero refuses all that do not fit at once.
        pub fn longest_wait(wait: Duration) { longest_wait = Some(wait) }

        /// Sets the expected tokens of an answer whose length the request does not limit.
        pub fn answer(tokens: u64) { answer = tokens }

        /// Sets the counter of tokens.
        pub fn counter(counter: impl TokenCount + 'static) { counter = Arc::new(counter) }
    }

    fn estimate(&self, request: &ChatRequest) -> u64 {
        let tools = request.tools.iter().map(|tool| {
            let schema = self.counter.text(&tool.parameters.as_value().to_string());
            self.counter.text(&tool.name) + self.counter.text(&tool.description) + schema
        });
        let answer = request.sampling.max_tokens.map_or(self.answer, u64::from);
        self.counter.messages(&request.messages) + tools.sum::<u64>() + answer
    }

    /// Waits until so many tokens fit, and records them. Returns the id of the entry.
    async fn enter(&self, tokens: u64) -> Result<u64, ModelError> {
        if self.longest_wait == Some(Duration::ZERO) {
            return self.try_enter(tokens).map_err(|wait| self.refused(wait));
        }
        let deadline = self
            .longest_wait
            .and_then(|wait| Instant::now().checked_add(wait));
        let turn = self.shared.turn.lock();
        let _turn = match deadline {
            None => turn.await,
            Some(deadline) => timeout_at(deadline, turn).await.map_err(|_| {
                let wait = self.window().wait(Instant::now(), tokens, &self.limits);
                self.refused(wait)
            })?,
        };
        loop {
            let wait = match self.try_enter(tokens) {
                Ok(id) => return Ok(id),
                Err(wait) => wait,
            };
            let until = Instant::now() + wait;
            if deadline.is_some_and(|deadline| until > deadline) {
                return Err(self.refused(wait));
            }
            // After the time or a correction, the window is checked again.
            let _ = timeout_at(until, self.shared.corrected.notified()).await;
        }
    }

    fn try_enter(&self, tokens: u64) -> Result<u64, Duration> {
        let now = Instant::now();
        let mut window = self.window();
        let wait = window.wait(now, tokens, &self.limits);
        if wait.is_zero() {
            Ok(window.enter(now, tokens))
        } else {
            Err(wait)
        }
    }

    fn correct(&self, id: u64, tokens: u64) {
        self.window().correct(id, tokens);
        self.shared.corrected.notify_one();
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        let window = self.shared.window.lock();
        window.unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self, wait: Duration) -> ModelError {
        let longest = self.longest_wait.unwrap_or_default().as_millis();
        let context = say!(
            "the quota leaves no room within {longest} ms",
            "配额在 {longest} 毫秒内没有余量"
        );
        ModelError::new(ModelErrorKind::RateLimited, context).advice(RetryAdvice::After(wait))
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for RateLimit<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let id = self.quota.enter(self.quota.estimate(&request)).await?;
        let deltas = self.model.stream(request).await?;
        let quota = self.quota.clone();
        let watched = deltas.inspect(move |delta| {
            if let Ok(ChatDelta::Usage(usage)) = delta {
                quota.correct(id, usage.total());
            }
        });
        Ok(watched.boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

#[cfg(test)]
mod tests;
