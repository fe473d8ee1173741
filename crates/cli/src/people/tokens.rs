//! The limit of a person's tokens, around the model.
use std::sync::Arc;

use async_trait::async_trait;
use fugato_llm::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, Usage,
};
use fugato_state::{EstimatedTokens, TokenCount as _, say};
use futures::StreamExt as _;

use super::usage::{DayCounts, PersonUsage};

/// Counts the tokens of a person, and asks the model for nothing more when they are used up, so that
/// the caller continues without it. The answer that uses them up still comes to its end.
///
/// Tokens are those that the server reports. Those of an answer that breaks off, or of a server that
/// reports none, are estimated.
#[derive(derive_more::Debug)]
#[debug("TokenLimit {{ model: {:?}, .. }}", self.model.name())]
pub(crate) struct TokenLimit {
    model: Arc<dyn ChatModel>,
    usage: PersonUsage,
}

impl TokenLimit {
    pub(crate) fn new(model: Arc<dyn ChatModel>, usage: PersonUsage) -> Self {
        Self { model, usage }
    }
}

#[async_trait]
impl ChatModel for TokenLimit {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let used_up = self.usage.used_up().await;
        let used_up = used_up.map_err(|error| {
            let message = say!("used tokens cannot be read", "无法读取已用的 token");
            ModelError::new(ModelErrorKind::Other, message).caused_by(error)
        })?;
        if let Some((message, _)) = used_up {
            return Err(ModelError::new(ModelErrorKind::OutOfBudget, message));
        }
        let mut answer = CountedAnswer {
            asked: EstimatedTokens.messages(&request.messages),
            answered: 0,
            told: None,
            is_whole: false,
            counts: self.usage.tokens.clone(),
        };
        let deltas = self.model.stream(request).await;
        if deltas.is_err() {
            answer.told = Some(Usage::default());
            answer.is_whole = true;
        }
        let counted = deltas?.inspect(move |delta| {
            if let Ok(delta) = delta {
                answer.take(delta);
            }
        });
        Ok(counted.boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

/// An answer whose tokens are counted when it is dropped: also one that nobody waits for any more.
struct CountedAnswer {
    asked: u64,
    /// The estimated tokens of what came.
    answered: u64,
    told: Option<Usage>,
    /// True once the model has ended the answer.
    is_whole: bool,
    counts: DayCounts,
}

impl CountedAnswer {
    fn take(&mut self, delta: &ChatDelta) {
        match delta {
            ChatDelta::Usage(usage) => self.told = Some(*usage),
            ChatDelta::Finish(_) => self.is_whole = true,
            ChatDelta::Text(text) | ChatDelta::Reasoning(text) => {
                self.answered += EstimatedTokens.text(text);
            }
            ChatDelta::ToolCall(piece) => self.answered += EstimatedTokens.text(&piece.arguments),
            _ => {}
        }
    }
}

impl Drop for CountedAnswer {
    fn drop(&mut self) {
        let seen = self.asked.saturating_add(self.answered);
        let told = self
            .told
            .map(|usage| usage.input.saturating_add(usage.output));
        let tokens = match told {
            Some(told) if self.is_whole => told,
            told => seen.max(told.unwrap_or(0)),
        };
        self.counts.add(tokens);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use fugato_llm::{ChatModelExt as _, FinishReason};
    use fugato_state::Message;
    use fugato_store::MemoryDocs;
    use futures::stream;

    use super::*;
    use crate::PersonLimits;

    /// Answers with these deltas.
    struct Deltas(Vec<ChatDelta>);

    #[async_trait]
    impl ChatModel for Deltas {
        async fn stream(&self, _: ChatRequest) -> Result<DeltaStream, ModelError> {
            Ok(stream::iter(self.0.clone().into_iter().map(Ok)).boxed())
        }
    }

    fn limited(deltas: Vec<ChatDelta>, most: u64) -> TokenLimit {
        let limits = PersonLimits {
            tokens_a_day: Some(most),
            ..PersonLimits::default()
        };
        let docs = Arc::new(MemoryDocs::default());
        let usage = PersonUsage::new(limits, PathBuf::new(), docs);
        TokenLimit::new(Arc::new(Deltas(deltas)), usage)
    }

    fn request() -> ChatRequest {
        ChatRequest::new([Message::user("tell me everything that you know")])
    }

    #[tokio::test]
    async fn a_day_has_so_many_tokens() {
        let answer = vec![
            ChatDelta::text("hello"),
            ChatDelta::Finish(FinishReason::Stop),
            ChatDelta::Usage(Usage::new(10, 5)),
        ];
        let model = limited(answer, 20);
        let ask = async || {
            let asked = model.complete(request()).await;
            asked.map_err(|error| error.kind).err()
        };
        assert_eq!((ask().await, ask().await), (None, None));
        assert_eq!(ask().await, Some(ModelErrorKind::OutOfBudget));
    }

    #[tokio::test]
    async fn an_answer_that_is_left_or_not_accounted_for_counts_too() {
        let long = ChatDelta::text("word ".repeat(100));
        let model = limited(vec![long.clone(), long], 50);
        let mut deltas = model.stream(request()).await.unwrap();
        deltas.next().await.unwrap().unwrap();
        drop(deltas);
        let refused = model.stream(request()).await.map(drop).unwrap_err();
        assert_eq!(refused.kind, ModelErrorKind::OutOfBudget);
    }
}
