use std::{
    pin::Pin,
    task::{Context, Poll},
};

use async_trait::async_trait;
use fugato_llm::{ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError};
use futures::{Stream, StreamExt as _};
use tokio::sync::watch;

use crate::{Scripted, ScriptedReply};

/// A model that counts the answers it is giving. Clones are the same model.
#[derive(Debug, Clone)]
pub struct WatchedModel<M = Scripted> {
    model: M,
    open: watch::Sender<usize>,
}

impl WatchedModel<Scripted> {
    /// Creates a scripted model that is watched.
    pub fn scripted(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self::new(Scripted::new(replies))
    }
}

impl<M> WatchedModel<M> {
    /// Wraps a model.
    pub fn new(model: M) -> Self {
        let (open, _) = watch::channel(0);
        Self { model, open }
    }

    /// Returns a future that completes when no answer is being given.
    pub fn idle(&self) -> impl Future<Output = ()> + Send + 'static + use<M> {
        let mut open = self.open.subscribe();
        async move {
            // This fails only when the model is dropped, and its answers with it.
            let _ = open.wait_for(|open| *open == 0).await;
        }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for WatchedModel<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        self.open.send_modify(|open| *open += 1);
        let answering = AnswerGuard(self.open.clone());
        let deltas = self.model.stream(request).await?;
        Ok(Answer { deltas, answering }.boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

struct Answer {
    deltas: DeltaStream,
    #[expect(dead_code, reason = "it tells when it is dropped")]
    answering: AnswerGuard,
}

impl Stream for Answer {
    type Item = Result<ChatDelta, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.deltas.poll_next_unpin(cx)
    }
}

struct AnswerGuard(watch::Sender<usize>);

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}
