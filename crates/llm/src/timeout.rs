use std::time::Duration;

use async_trait::async_trait;
use fugato_state::say;
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use crate::{ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, figure::seconds};

/// Limits the time of an answer.
///
/// The total limit counts from the request to the end of the answer, the idle limit from one delta
/// to the next (and from the request to the first). An answer that exceeds a limit ends in
/// [`ModelErrorKind::TimedOut`].
///
/// # Notes
/// - [`ChatRequest::timeout`], where it is set, takes precedence over the total limit.
/// - The time that a reader takes between two deltas counts towards the total limit only.
/// - Inside a [`Retry`](crate::Retry) the limits hold for each attempt, outside it for all
///   together.
///
/// # Default
/// No limits except those of the request.
///
/// # Cancellation safety
/// When a limit is reached, the inner answer is dropped, and with it the connection.
#[derive(Debug, Clone)]
pub struct Timeout<M> {
    model: M,
    total: Option<Duration>,
    idle: Option<Duration>,
}

impl<M: ChatModel> Timeout<M> {
    /// Wraps a model.
    pub fn new(model: M) -> Self {
        Self {
            model,
            total: None,
            idle: None,
        }
    }

    fugato_state::setters! {
        /// Limits the whole answer.
        pub fn total(limit: Duration) { total = Some(limit) }

        /// Limits the time before each delta.
        pub fn idle(limit: Duration) { idle = Some(limit) }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Timeout<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let total = request.timeout.or(self.total);
        if total.is_none() && self.idle.is_none() {
            return self.model.stream(request).await;
        }
        let limits = Limits {
            start: Instant::now(),
            total,
            idle: self.idle,
        };
        let deltas = limits.hold(self.model.stream(request)).await??;
        let limited = stream::unfold(Some(deltas), move |deltas| async move {
            let mut deltas = deltas?;
            match limits.hold(deltas.next()).await {
                Ok(Some(delta)) => Some((delta, Some(deltas))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(limited.fuse().boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

#[derive(Clone, Copy)]
struct Limits {
    start: Instant,
    total: Option<Duration>,
    idle: Option<Duration>,
}

impl Limits {
    async fn hold<T>(&self, next: impl Future<Output = T>) -> Result<T, ModelError> {
        let end = self.total.and_then(|total| self.start.checked_add(total));
        let quiet = self.idle.and_then(|idle| Instant::now().checked_add(idle));
        let Some(deadline) = [end, quiet].into_iter().flatten().min() else {
            return Ok(next.await);
        };
        timeout_at(deadline, next).await.map_err(|_| {
            let context = match (self.total, self.idle) {
                (Some(total), _) if end == Some(deadline) => {
                    say!(
                        "the answer took longer than {}",
                        "回答超过了 {}",
                        seconds(total)
                    )
                }
                (_, idle) => say!(
                    "nothing was said for {}",
                    "{} 内什么都没说",
                    seconds(idle.unwrap_or_default())
                ),
            };
            ModelError::new(ModelErrorKind::TimedOut, context)
        })
    }
}
