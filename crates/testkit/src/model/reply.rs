use std::time::Duration;

use fugato_llm::{ChatDelta, DeltaStream, FinishReason, ModelError, ToolCallDelta, Usage};
use fugato_state::ToolCall;
use futures::{StreamExt as _, stream};
use serde_json::Value;

/// The answer of a [`Scripted`](crate::Scripted) model to one call.
///
/// Pauses pass by tokio's clock, so a test with a paused clock does not wait for them.
#[derive(Debug, Clone, Default)]
pub struct ScriptedReply {
    deltas: Vec<ChatDelta>,
    refusal: Option<ModelError>,
    break_off: Option<ModelError>,
    delay: Duration,
    pace: Duration,
    hangs: bool,
}

impl ScriptedReply {
    /// Answers with these deltas and nothing else.
    pub fn deltas(deltas: impl IntoIterator<Item = ChatDelta>) -> Self {
        Self {
            deltas: deltas.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Answers with a text in one piece.
    pub fn text(text: impl Into<String>) -> Self {
        Self::chunks([text.into()])
    }

    /// Answers with a text in these pieces.
    pub fn chunks<T: Into<String>>(chunks: impl IntoIterator<Item = T>) -> Self {
        Self::deltas(chunks.into_iter().map(ChatDelta::text))
            .delta(ChatDelta::Finish(FinishReason::Stop))
    }

    /// Answers with a text in pieces of `size` characters.
    pub fn chunked(text: &str, size: usize) -> Self {
        let characters: Vec<char> = text.chars().collect();
        Self::chunks(
            characters
                .chunks(size.max(1))
                .map(|piece| piece.iter().collect::<String>()),
        )
    }

    /// Answers with tool calls, the arguments of each in two pieces, as servers send them.
    pub fn tool_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let deltas = calls.into_iter().enumerate().flat_map(|(index, call)| {
            let mut head = call.arguments.to_string();
            let middle = (0..=head.len() / 2)
                .rfind(|at| head.is_char_boundary(*at))
                .unwrap_or(0);
            let tail = head.split_off(middle);
            [
                ToolCallDelta::new(index, head).id(call.id).name(call.name),
                ToolCallDelta::new(index, tail),
            ]
        });
        Self::deltas(deltas.map(ChatDelta::ToolCall))
            .delta(ChatDelta::Finish(FinishReason::ToolCalls))
    }

    /// Refuses the call with an error.
    pub fn error(error: ModelError) -> Self {
        Self {
            refusal: Some(error),
            ..Self::default()
        }
    }

    /// Gives neither an answer nor an error: a model that hangs.
    pub fn hang() -> Self {
        Self {
            hangs: true,
            ..Self::default()
        }
    }

    fugato_state::setters! {
        /// Adds a delta at the end.
        pub fn delta(delta: ChatDelta) { deltas.push(delta) }

        /// Adds reasoning before everything else.
        pub fn reasoning(text: impl Into<String>) { deltas.insert(0, ChatDelta::reasoning(text)) }

        /// Waits before it answers or refuses.
        pub fn after(delay: Duration) { delay = delay }

        /// Waits before every delta.
        pub fn paced(pause: Duration) { pace = pause }
    }

    /// Adds the usage at the end.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.delta(ChatDelta::Usage(usage))
    }

    /// Breaks off with an error after the last delta.
    #[must_use]
    pub fn then_error(mut self, error: ModelError) -> Self {
        self.deltas
            .retain(|delta| !matches!(delta, ChatDelta::Finish(_)));
        self.break_off = Some(error);
        self
    }

    /// Hangs after the last delta.
    #[must_use]
    pub fn then_hang(mut self) -> Self {
        self.deltas
            .retain(|delta| !matches!(delta, ChatDelta::Finish(_)));
        self.hangs = true;
        self
    }

    pub(super) async fn play(self) -> Result<DeltaStream, ModelError> {
        pause(self.delay).await;
        if let Some(error) = self.refusal {
            return Err(error);
        }
        let pace = self.pace;
        let deltas = self
            .deltas
            .into_iter()
            .map(Ok)
            .chain(self.break_off.map(Err));
        let paced = stream::iter(deltas).then(move |delta| async move {
            pause(pace).await;
            delta
        });
        Ok(if self.hangs {
            paced.chain(stream::pending()).boxed()
        } else {
            paced.boxed()
        })
    }
}

impl From<&str> for ScriptedReply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ScriptedReply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Value> for ScriptedReply {
    /// The text is the JSON of the value.
    fn from(answer: Value) -> Self {
        Self::text(answer.to_string())
    }
}

impl From<ModelError> for ScriptedReply {
    fn from(error: ModelError) -> Self {
        Self::error(error)
    }
}

async fn pause(duration: Duration) {
    // Without a pause no timer is needed, and so no runtime either.
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}
