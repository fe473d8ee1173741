use std::collections::BTreeMap;

use fugato_state::{Message, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Attempt, ChatDelta, FinishReason, ToolCallDelta, Usage, size::AnswerSize};

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatResponse {
    /// The message, with its reasoning and tool calls.
    pub message: Message,
    /// The reason why the model stopped, if the server reports it.
    pub finish: Option<FinishReason>,
    /// The usage, if the server reports it.
    pub usage: Option<Usage>,
    /// The attempts that the answer took, oldest first; reported by decorators only.
    pub attempts: Vec<Attempt>,
}

impl ChatResponse {
    /// The length limit of an answer, reasoning and calls included, in bytes as they are written
    /// into a log: a quotation mark has two, a control character six. An answer of this length fits
    /// into a record of a log several times.
    pub const MOST_BYTES: usize = 256 * 1024;

    /// The greatest number of tool calls in an answer.
    pub const MOST_CALLS: usize = 128;
}

/// The fold of deltas into an answer.
///
/// ```
/// use fugato_llm::{ChatDelta, ResponseFold};
///
/// let mut fold = ResponseFold::default();
/// for word in ["Good ", "morning"] {
///     fold.push(ChatDelta::text(word));
/// }
/// assert_eq!(fold.finish().message.content, "Good morning");
/// ```
#[derive(Debug, Clone, Default)]
pub struct ResponseFold {
    text: String,
    reasoning: String,
    calls: BTreeMap<usize, PartialCall>,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    attempts: Vec<Attempt>,
    kept: BTreeMap<String, Vec<Value>>,
    size: AnswerSize,
}

#[derive(Debug, Clone, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl ResponseFold {
    /// Adds the next delta.
    pub fn push(&mut self, delta: ChatDelta) {
        self.size.add(&delta);
        match delta {
            ChatDelta::Text(text) => self.text.push_str(&text),
            ChatDelta::Reasoning(text) => self.reasoning.push_str(&text),
            ChatDelta::ToolCall(piece) => self.push_call(piece),
            ChatDelta::Usage(usage) => self.usage = Some(usage),
            ChatDelta::Finish(reason) => self.finish = Some(reason),
            ChatDelta::Kept { by, value } => self.kept.entry(by).or_default().push(value),
            ChatDelta::Attempt(attempt) => self.attempts.push(attempt),
        }
    }

    fn push_call(&mut self, piece: ToolCallDelta) {
        let call = self.calls.entry(piece.index).or_default();
        // Some servers repeat the id with every piece, others send it empty after the first.
        if let Some(id) = piece.id.filter(|id| !id.is_empty()) {
            call.id = id;
        }
        if let Some(name) = piece.name {
            call.name.push_str(&name);
        }
        call.arguments.push_str(&piece.arguments);
    }

    /// Returns the text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns how long the answer is so far, in bytes as they are written into a log: text,
    /// reasoning and calls.
    pub fn bytes(&self) -> usize {
        self.size.bytes()
    }

    pub(crate) fn size(&self) -> &AnswerSize {
        &self.size
    }

    /// Returns the answer, after the last delta was added.
    pub fn finish(self) -> ChatResponse {
        let mut message = Message::assistant(self.text);
        message.reasoning = Some(self.reasoning).filter(|text| !text.is_empty());
        message.kept = self.kept;
        message.tool_calls = self
            .calls
            .into_iter()
            .map(|(index, call)| call.complete(index))
            .collect();
        ChatResponse {
            message,
            finish: self.finish,
            usage: self.usage,
            attempts: self.attempts,
        }
    }

    pub(crate) fn into_attempts(self) -> Vec<Attempt> {
        self.attempts
    }
}

impl PartialCall {
    fn complete(self, index: usize) -> ToolCall {
        // A call must have an id, or its result could not be paired with it.
        let id = if self.id.is_empty() {
            format!("call_{index}")
        } else {
            self.id
        };
        let arguments = match self.arguments.trim() {
            "" => Value::Object(serde_json::Map::new()),
            text => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
        };
        ToolCall {
            id,
            name: self.name,
            arguments,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fold(deltas: impl IntoIterator<Item = ChatDelta>) -> ChatResponse {
        let mut fold = ResponseFold::default();
        deltas.into_iter().for_each(|delta| fold.push(delta));
        fold.finish()
    }

    #[test]
    fn interleaved_calls_are_put_together_by_their_index() {
        let response = fold([
            ChatDelta::ToolCall(ToolCallDelta::new(1, "").id("b").name("move")),
            ChatDelta::ToolCall(ToolCallDelta::new(0, "{\"a\"").id("a").name("swap")),
            ChatDelta::ToolCall(ToolCallDelta::new(1, "{}").id("")),
            ChatDelta::ToolCall(ToolCallDelta::new(0, ":1}").id("a")),
            ChatDelta::Finish(FinishReason::ToolCalls),
        ]);
        let calls = [
            ToolCall::new("a", "swap", json!({ "a": 1 })),
            ToolCall::new("b", "move", json!({})),
        ];
        let expected = ChatResponse {
            message: Message::assistant("").with_tool_calls(calls),
            finish: Some(FinishReason::ToolCalls),
            usage: None,
            attempts: vec![],
        };
        assert_eq!(response, expected);
    }

    #[test]
    fn arguments_that_are_not_json_are_kept_as_they_came() {
        let response = fold([ChatDelta::ToolCall(
            ToolCallDelta::new(0, "{\"day\": ").name("place"),
        )]);
        assert_eq!(
            response.message.tool_calls,
            [ToolCall::new("call_0", "place", json!("{\"day\":"))]
        );
    }
}
