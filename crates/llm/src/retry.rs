use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt as _, stream};

use crate::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, RetryAdvice,
    attempt::begin,
};

/// Retries a request when its error advises to.
///
/// The pause is the one that the server asks for, or else one that doubles from one attempt to the
/// next. Every attempt is reported: in the deltas of the answer, or in the error.
///
/// # Notes
/// - Only a failure before the first delta is retried, so that no reader gets a delta twice. A
///   later failure is left to the caller.
/// - A pause longer than [`max_pause`](Self::max_pause) is not waited for: the error is returned
///   with its advice. Nor is a model that a [`CircuitBreaker`](crate::CircuitBreaker) skips
///   retried.
/// - [`ChatRequest::attempts`], where it is set, takes precedence over [`attempts`](Self::attempts).
///
/// # Default
/// 3 attempts; pauses from 500 ms, at most 30 s.
#[derive(Debug, Clone)]
pub struct Retry<M> {
    model: M,
    attempts: u32,
    pause: Duration,
    max_pause: Duration,
}

impl<M: ChatModel> Retry<M> {
    /// Wraps a model.
    pub fn new(model: M) -> Self {
        Self {
            model,
            attempts: 3,
            pause: Duration::from_millis(500),
            max_pause: Duration::from_secs(30),
        }
    }

    fugato_state::setters! {
        /// Sets the greatest number of attempts, the first one included.
        pub fn attempts(attempts: u32) { attempts = attempts }

        /// Sets the pause after the first attempt if the server asks for none; later pauses double.
        pub fn pause(pause: Duration) { pause = pause }

        /// Sets the longest pause to wait for.
        pub fn max_pause(pause: Duration) { max_pause = pause }
    }

    fn pause_after(&self, error: &ModelError, made: u32) -> Option<Duration> {
        match error.advice {
            // A model that is skipped for a while is not waited for; the caller continues without
            // it.
            _ if error.kind == ModelErrorKind::Skipped => None,
            RetryAdvice::Never => None,
            RetryAdvice::Now => {
                let doubled = self
                    .pause
                    .saturating_mul(2u32.saturating_pow(made.saturating_sub(1)));
                Some(doubled.min(self.max_pause))
            }
            RetryAdvice::After(pause) => Some(pause).filter(|pause| *pause <= self.max_pause),
        }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Retry<M> {
    async fn stream(&self, mut request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let allowed = request.attempts.unwrap_or(self.attempts).max(1);
        let limited = request.attempts.is_some();
        let (mut made, mut real) = (vec![], None);
        loop {
            let used = u32::try_from(made.len()).unwrap_or(u32::MAX);
            if limited {
                request.attempts = Some(allowed.saturating_sub(used).max(1));
            }
            let mut error = match begin(&self.model, request.clone()).await {
                Ok(mut begun) => {
                    made.append(&mut begun.earlier);
                    let told = stream::iter(made).map(|attempt| Ok(ChatDelta::Attempt(attempt)));
                    return Ok(told.chain(begun.deltas).boxed());
                }
                Err(error) => error,
            };
            made.append(&mut error.attempts);
            let used = u32::try_from(made.len()).unwrap_or(u32::MAX);
            let pause = self.pause_after(&error, used);
            // The earlier failure says more than that the model is skipped now.
            let error = match real.take() {
                Some(earlier) if error.kind == ModelErrorKind::Skipped => earlier,
                _ => error,
            };
            match pause {
                Some(pause) if used < allowed => tokio::time::sleep(pause).await,
                _ => return Err(error.after(made)),
            }
            real = Some(error);
        }
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}
