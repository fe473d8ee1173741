use std::collections::BTreeSet;

use async_trait::async_trait;
use fugato_state::say;
use futures::{StreamExt as _, stream};

use crate::{
    ChatDelta, ChatModel, ChatRequest, ChatResponse, DeltaStream, FinishReason, ModelError,
    ModelErrorKind, figure,
};

/// Limits the size of an answer: its text, reasoning, calls and arguments together.
///
/// The deltas up to the limit are delivered, and then [`ModelErrorKind::AnswerTooLong`] ends the
/// answer, so that an endless stream takes no more memory than the limit.
///
/// # Notes
/// - Bytes are counted as they are written into a log as JSON: a quotation mark has two, a control
///   character six. Each call has 64 more.
/// - It belongs inside a [`Fallback`](crate::Fallback) and a [`Retry`](crate::Retry). The error is
///   not retried, because the same request would get an answer of the same length.
///
/// # Default
/// [`ChatResponse::MOST_BYTES`] and [`ChatResponse::MOST_CALLS`].
///
/// # Cancellation safety
/// When a limit is reached, the inner answer is dropped, and with it the connection.
#[derive(Debug, Clone)]
pub struct SizeLimit<M> {
    model: M,
    limits: SizeLimits,
}

impl<M: ChatModel> SizeLimit<M> {
    /// Wraps a model.
    pub fn new(model: M) -> Self {
        Self {
            model,
            limits: SizeLimits::default(),
        }
    }

    fugato_state::setters! {
        /// Sets the greatest number of bytes of an answer.
        pub fn bytes(most: usize) { limits.bytes = most }

        /// Sets the greatest number of calls in an answer.
        pub fn calls(most: usize) { limits.calls = most }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for SizeLimit<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let deltas = self.model.stream(request).await?;
        let (limits, size) = (self.limits, AnswerSize::default());
        let limited = stream::unfold(Some((deltas, size)), move |answer| async move {
            let (mut deltas, mut size) = answer?;
            let delta = match deltas.next().await? {
                Ok(delta) => delta,
                Err(error) => return Some((Err(error), None)),
            };
            size.add(&delta);
            Some(match limits.hold(&size) {
                Ok(()) => (Ok(delta), Some((deltas, size))),
                Err(error) => (Err(error), None),
            })
        });
        Ok(limited.fuse().boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

/// The limits of the size of an answer.
#[derive(smart_default::SmartDefault, Debug, Clone, Copy)]
pub(crate) struct SizeLimits {
    #[default(ChatResponse::MOST_BYTES)]
    bytes: usize,
    #[default(ChatResponse::MOST_CALLS)]
    calls: usize,
}

impl SizeLimits {
    pub(crate) fn hold(&self, size: &AnswerSize) -> Result<(), ModelError> {
        let context = if size.bytes > self.bytes {
            say!(
                "it is longer than {}",
                "它长过 {}",
                figure::size(self.bytes)
            )
        } else if size.calls.len() > self.calls {
            say!(
                "it has more than {} calls",
                "它的调用多于 {} 个",
                self.calls
            )
        } else {
            return Ok(());
        };
        Err(ModelError::new(ModelErrorKind::AnswerTooLong, context))
    }
}

/// The size of an answer so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnswerSize {
    bytes: usize,
    calls: BTreeSet<usize>,
}

/// The bytes that are written for each call in addition to its strings.
const A_CALL: usize = 64;

impl AnswerSize {
    pub(crate) fn add(&mut self, delta: &ChatDelta) {
        let more = match delta {
            ChatDelta::Text(text) | ChatDelta::Reasoning(text) => written(text),
            ChatDelta::ToolCall(piece) => {
                let begins = self.calls.insert(piece.index);
                let words = [piece.id.as_deref(), piece.name.as_deref()];
                let words = words.into_iter().flatten().map(written).sum::<usize>();
                words + written(&piece.arguments) + if begins { A_CALL } else { 0 }
            }
            ChatDelta::Kept { value, .. } => value.to_string().len(),
            ChatDelta::Finish(FinishReason::Other(reason)) => written(reason),
            ChatDelta::Usage(_) | ChatDelta::Finish(_) | ChatDelta::Attempt(_) => 0,
        };
        self.bytes = self.bytes.saturating_add(more);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Returns the number of bytes of a text as JSON.
fn written(text: &str) -> usize {
    let byte = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(byte).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolCallDelta;

    #[test]
    fn a_text_is_as_long_as_it_is_written() {
        for text in ["", "plain", "\"\\\n\t\u{1}\u{8}", "长 é 😀\u{7f}"] {
            let written_as = serde_json::to_string(text).unwrap().len() - 2;
            assert_eq!(written(text), written_as, "{text:?}");
        }
    }

    #[test]
    fn calls_without_words_are_counted_too() {
        let mut size = AnswerSize::default();
        for index in [0, 1, 0, 7] {
            size.add(&ChatDelta::ToolCall(ToolCallDelta::new(index, "")));
        }
        assert_eq!((size.calls.len(), size.bytes()), (3, 3 * A_CALL));
    }
}
