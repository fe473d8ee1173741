//! The events of an answer in the protocol's JSON.

use std::collections::{BTreeMap, VecDeque};

use fugato_llm::{
    AnswerDecoder, ApiKey, ChatDelta, FinishReason, ModelError, ModelErrorKind, ToolCallDelta,
    Usage,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{super::failure, PROTOCOL};

/// A decoder of the events of one answer into deltas.
///
/// Events and blocks of unknown types are ignored, as the protocol requires of clients.
#[derive(Debug, Clone, Default)]
pub struct EventDecoder {
    /// The key, which is removed from the messages of errors.
    key: Option<ApiKey>,
    /// The open blocks by their index.
    open: BTreeMap<usize, Block>,
    /// The number of calls so far: text blocks count among the blocks, but not among the calls.
    calls: usize,
    usage: EventUsage,
    /// The bytes of signatures and of blocks that were begun.
    held: usize,
    finished: bool,
    done: bool,
}

/// The limit of the held bytes; no signature is nearly as long.
const MOST_HELD: usize = 256 << 10;
/// The bytes that are counted for each block in addition to its signature.
const A_BLOCK: usize = 128;

/// The error if an event does not conform to the protocol.
#[derive(Debug, thiserror::Error)]
enum MalformedEvent {
    /// The event is not JSON, or a field has the wrong type.
    #[error("an event cannot be read")]
    Json(#[source] serde_json::Error),
    /// The signatures and blocks together exceed their limit.
    #[error("its signatures and open blocks have more than {} KiB", MOST_HELD >> 10)]
    TooMuchHeld,
}

#[derive(Debug, Clone)]
enum Block {
    Call(usize),
    Thinking { text: String, signature: String },
}

impl AnswerDecoder for EventDecoder {
    fn decode(&mut self, data: &[u8], deltas: &mut VecDeque<ChatDelta>) -> Result<(), ModelError> {
        match serde_json::from_slice(data)
            .map_err(|error| malformed(MalformedEvent::Json(error)))?
        {
            Event::MessageStart { message } => self.count(message.usage, deltas),
            Event::ContentBlockStart {
                index,
                content_block,
            } => self.begin(index, content_block, deltas),
            Event::ContentBlockDelta { index, delta: more } => self.more(index, more, deltas),
            Event::ContentBlockStop { index } => self.end(index, deltas),
            Event::MessageDelta { delta: last, usage } => {
                self.stop(last.stop_reason, deltas);
                self.count(usage, deltas);
            }
            Event::MessageStop => self.done = true,
            Event::Message(whole) => {
                for (index, block) in whole.content.into_iter().enumerate() {
                    self.begin(index, block, deltas);
                    self.end(index, deltas);
                }
                self.stop(whole.stop_reason, deltas);
                self.count(whole.usage, deltas);
                self.done = true;
            }
            Event::Error { error } => {
                return Err(failure::classified(None, &error, self.key.as_ref()));
            }
            Event::Unknown => {}
        }
        if self.held > MOST_HELD {
            self.open.clear();
            return Err(malformed(MalformedEvent::TooMuchHeld));
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn may_end(&self) -> bool {
        self.done || self.finished
    }
}

impl EventDecoder {
    pub(in super::super) fn new(key: Option<ApiKey>) -> Self {
        Self {
            key,
            ..Self::default()
        }
    }

    fn begin(&mut self, index: usize, block: Content, deltas: &mut VecDeque<ChatDelta>) {
        self.held = self.held.saturating_add(A_BLOCK);
        match block {
            Content::Text { text } => say(text, ChatDelta::Text, deltas),
            Content::ToolUse { id, name, input } => {
                let call = self.calls;
                self.calls += 1;
                self.open.insert(index, Block::Call(call));
                let whole = input.as_object().is_some_and(|fields| !fields.is_empty());
                let arguments = if whole {
                    input.to_string()
                } else {
                    String::new()
                };
                let piece = ToolCallDelta::new(call, arguments).id(id).name(name);
                deltas.push_back(ChatDelta::ToolCall(piece));
            }
            Content::Thinking {
                thinking,
                signature,
            } => {
                self.held = self.held.saturating_add(signature.len());
                say(thinking.clone(), ChatDelta::Reasoning, deltas);
                let block = Block::Thinking {
                    text: thinking,
                    signature,
                };
                self.open.insert(index, block);
            }
            Content::RedactedThinking { data } => {
                keep(json!({ "type": "redacted_thinking", "data": data }), deltas);
            }
            Content::Unknown => {}
        }
    }

    fn more(&mut self, index: usize, more: More, deltas: &mut VecDeque<ChatDelta>) {
        match (more, self.open.get_mut(&index)) {
            (More::TextDelta { text }, _) => say(text, ChatDelta::Text, deltas),
            (More::InputJsonDelta { partial_json }, Some(Block::Call(call)))
                if !partial_json.is_empty() =>
            {
                deltas.push_back(ChatDelta::ToolCall(ToolCallDelta::new(*call, partial_json)));
            }
            (More::ThinkingDelta { thinking }, Some(Block::Thinking { text, .. })) => {
                text.push_str(&thinking);
                say(thinking, ChatDelta::Reasoning, deltas);
            }
            (More::SignatureDelta { signature: more }, Some(Block::Thinking { signature, .. })) => {
                self.held = self.held.saturating_add(more.len());
                signature.push_str(&more);
            }
            // An empty delta, or one of an unknown block or of an unknown kind.
            _ => {}
        }
    }

    fn end(&mut self, index: usize, deltas: &mut VecDeque<ChatDelta>) {
        if let Some(Block::Thinking { text, signature }) = self.open.remove(&index)
            && !signature.is_empty()
        {
            let block = json!({ "type": "thinking", "thinking": text, "signature": signature });
            keep(block, deltas);
        }
    }

    fn stop(&mut self, reason: Option<String>, deltas: &mut VecDeque<ChatDelta>) {
        let Some(reason) = reason else {
            return;
        };
        self.finished = true;
        deltas.push_back(ChatDelta::Finish(match reason.as_str() {
            "end_turn" | "stop_sequence" => FinishReason::Stop,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "tool_use" => FinishReason::ToolCalls,
            "refusal" => FinishReason::Filtered,
            _ => FinishReason::Other(reason),
        }));
    }

    /// Updates the usage: later counts are of the whole answer and replace earlier ones, field by
    /// field.
    fn count(&mut self, more: Option<EventUsage>, deltas: &mut VecDeque<ChatDelta>) {
        let Some(more) = more else {
            return;
        };
        let known = &mut self.usage;
        for (known, more) in [
            (&mut known.input_tokens, more.input_tokens),
            (&mut known.output_tokens, more.output_tokens),
            (
                &mut known.cache_read_input_tokens,
                more.cache_read_input_tokens,
            ),
            (
                &mut known.cache_creation_input_tokens,
                more.cache_creation_input_tokens,
            ),
        ] {
            *known = more.or(*known);
        }
        let tokens = |count: Option<u64>| count.unwrap_or_default();
        let cached = tokens(known.cache_read_input_tokens);
        let input = tokens(known.input_tokens)
            .saturating_add(cached)
            .saturating_add(tokens(known.cache_creation_input_tokens));
        let usage = Usage::new(input, tokens(known.output_tokens)).cached(cached);
        deltas.push_back(ChatDelta::Usage(usage));
    }
}

fn malformed(why: MalformedEvent) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, "").caused_by(why)
}

fn say(text: String, what: fn(String) -> ChatDelta, deltas: &mut VecDeque<ChatDelta>) {
    if !text.is_empty() {
        deltas.push_back(what(text));
    }
}

fn keep(value: Value, deltas: &mut VecDeque<ChatDelta>) {
    let by = PROTOCOL.to_owned();
    deltas.push_back(ChatDelta::Kept { by, value });
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: MessageStart,
    },
    ContentBlockStart {
        index: usize,
        content_block: Content,
    },
    ContentBlockDelta {
        index: usize,
        delta: More,
    },
    ContentBlockStop {
        index: usize,
    },
    MessageDelta {
        delta: Last,
        usage: Option<EventUsage>,
    },
    MessageStop,
    Message(Whole),
    Error {
        error: Value,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct MessageStart {
    usage: Option<EventUsage>,
}

#[derive(Deserialize)]
struct Last {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Whole {
    content: Vec<Content>,
    stop_reason: Option<String>,
    usage: Option<EventUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum More {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "these are the words of the protocol"
)]
struct EventUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

#[cfg(test)]
mod tests;
