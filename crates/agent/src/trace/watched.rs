use async_trait::async_trait;
use fugato_llm::{Attempt, ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError};
use futures::{StreamExt as _, stream};
use tokio::time::Instant;

use super::{CALLS, Calls, ModelCall};

/// A model whose calls are kept by the [`Recorded`](super::Recorded) node that makes them.
///
/// It goes outermost, around retries and backups: what those tell of their attempts is kept whole.
/// A model that tells of none has one attempt.
///
/// # Notes
/// - Outside of such a node it does nothing, and neither does it in a task that the node spawns.
#[derive(Debug, Clone)]
pub struct Watched<M> {
    model: M,
}

impl<M: ChatModel> Watched<M> {
    /// Watches a model.
    pub fn new(model: M) -> Self {
        Self { model }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Watched<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let Ok(calls) = CALLS.try_with(Clone::clone) else {
            return self.model.stream(request).await;
        };
        let stage = request.metadata.get("stage").cloned();
        let mut watch = Watch {
            calls,
            call: ModelCall::new(stage.unwrap_or_default()),
            model: self.model.name().to_owned(),
            start: Instant::now(),
        };
        let deltas = match self.model.stream(request).await {
            Ok(deltas) => deltas,
            Err(error) => {
                watch.failed(&error);
                return Err(error);
            }
        };
        let watched = stream::unfold((deltas, watch), |(mut deltas, mut watch)| async {
            let Some(next) = deltas.next().await else {
                watch.ended();
                return None;
            };
            match &next {
                Ok(ChatDelta::Attempt(attempt)) => watch.call.attempts.push(attempt.clone()),
                Ok(ChatDelta::Usage(usage)) => watch.call.usage = Some(*usage),
                Ok(_) => {}
                Err(error) => watch.failed(error),
            }
            Some((next, (deltas, watch)))
        });
        Ok(watched.boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

/// One call. It is kept when it is dropped: an answer whose end nobody waited for is one too.
struct Watch {
    calls: Calls,
    call: ModelCall,
    model: String,
    start: Instant,
}

impl Watch {
    fn ended(&mut self) {
        if self.call.attempts.is_empty() {
            let attempt = Attempt::succeeded(&self.model, self.start.elapsed());
            self.call.attempts.push(attempt);
        }
    }

    fn failed(&mut self, error: &ModelError) {
        if error.attempts.is_empty() {
            let attempt = Attempt::failed(&self.model, self.start.elapsed(), error);
            self.call.attempts.push(attempt);
        } else {
            self.call.attempts.extend(error.attempts.iter().cloned());
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let call = ModelCall::new(String::new());
        self.calls.push(std::mem::replace(&mut self.call, call));
    }
}
