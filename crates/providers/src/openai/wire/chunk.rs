//! The chunks of an answer in the protocol's JSON.

use std::{collections::VecDeque, fmt};

use fugato_llm::{
    AnswerDecoder, ApiKey, ChatDelta, FinishReason, ModelError, ModelErrorKind, ToolCallDelta,
    Usage,
};
use serde::{
    Deserialize,
    de::{Deserializer, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::super::failure;

/// A decoder of the chunks of one answer into deltas.
#[derive(Debug, Clone, Default)]
pub struct ChunkDecoder {
    /// The key, which is removed from the messages of errors.
    key: Option<ApiKey>,
    /// The number of calls so far, for servers that do not number them.
    calls: usize,
    finished: bool,
    done: bool,
}

/// The error if a chunk is not JSON, or a field has the wrong type.
#[derive(Debug, thiserror::Error)]
#[error("a chunk cannot be read")]
struct MalformedChunk(#[source] serde_json::Error);

impl AnswerDecoder for ChunkDecoder {
    fn decode(&mut self, data: &[u8], deltas: &mut VecDeque<ChatDelta>) -> Result<(), ModelError> {
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        // Valid UTF-8 is checked once, not string by string.
        let chunk = match str::from_utf8(data) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(data),
        };
        let chunk: Chunk = chunk.map_err(|error| {
            ModelError::new(ModelErrorKind::Malformed, "").caused_by(MalformedChunk(error))
        })?;
        if let Some(error) = chunk.error {
            return Err(failure::of_frame(&reported(error.get()), self.key.as_ref()));
        }
        if let Some(choice) = chunk.choices.and_then(|choices| choices.first) {
            if let Some(said) = choice.delta.or(choice.message.map(|message| *message)) {
                self.said(said, deltas);
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finished = true;
                deltas.push_back(ChatDelta::Finish(finish(reason)));
            }
        }
        deltas.extend(chunk.usage.map(|usage| ChatDelta::Usage(usage.into())));
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn may_end(&self) -> bool {
        self.done || self.finished
    }
}

impl ChunkDecoder {
    pub(in super::super) fn new(key: Option<ApiKey>) -> Self {
        Self {
            key,
            ..Self::default()
        }
    }

    fn said(&mut self, said: DeltaMessage, deltas: &mut VecDeque<ChatDelta>) {
        let reasoning = said.reasoning_content.or(said.reasoning);
        if let Some(text) = reasoning.filter(|text| !text.is_empty()) {
            deltas.push_back(ChatDelta::Reasoning(text));
        }
        if let Some(text) = said
            .content
            .or(said.refusal)
            .filter(|text| !text.is_empty())
        {
            deltas.push_back(ChatDelta::Text(text));
        }
        for call in said.tool_calls.into_iter().flatten() {
            deltas.push_back(ChatDelta::ToolCall(self.call(call)));
        }
    }

    fn call(&mut self, call: Call) -> ToolCallDelta {
        let function = call.function.unwrap_or_default();
        let id = call.id.filter(|id| !id.is_empty());
        // Without an index, an id or a name marks the begin of a call.
        let begins = id.is_some() || function.name.is_some();
        let index = call.index.unwrap_or(if begins {
            self.calls
        } else {
            self.calls.saturating_sub(1)
        });
        self.calls = self.calls.max(index.saturating_add(1));
        // Arguments that will be text again are not parsed: a parsed object can take many times the
        // memory.
        let arguments = match function.arguments {
            None => String::new(),
            Some(raw) => serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned()),
        };
        let mut piece = ToolCallDelta::new(index, arguments);
        (piece.id, piece.name) = (id, function.name);
        piece
    }
}

/// Returns the error of the server; of a long one the beginning as text.
fn reported(error: &str) -> Value {
    const MOST_BYTES: usize = 16 << 10;
    if error.len() <= MOST_BYTES {
        serde_json::from_str(error).unwrap_or_default()
    } else {
        error
            .chars()
            .take(MOST_BYTES / 4)
            .collect::<String>()
            .into()
    }
}

fn finish(reason: String) -> FinishReason {
    match reason.as_str() {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::Filtered,
        _ => FinishReason::Other(reason),
    }
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Choices>,
    usage: Option<ChunkUsage>,
    #[serde(default, deserialize_with = "unread")]
    error: Option<Box<RawValue>>,
}

/// Reads a value without parsing it; `None` if it is null.
fn unread<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(Some(raw).filter(|raw| raw.get() != "null"))
}

/// The choice with index 0; no request asks for more.
struct Choices {
    first: Option<Choice>,
}

impl<'de> Deserialize<'de> for Choices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FirstChoice)
    }
}

struct FirstChoice;

impl<'de> Visitor<'de> for FirstChoice {
    type Value = Choices;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of choices")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut choices: A) -> Result<Self::Value, A::Error> {
        let mut first = None;
        while let Some(choice) = choices.next_element::<Choice>()? {
            if choice.index == 0 {
                first.get_or_insert(choice);
            }
        }
        Ok(Choices { first })
    }
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    delta: Option<DeltaMessage>,
    /// The whole message, in place of a delta, from servers that do not stream.
    message: Option<Box<DeltaMessage>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct DeltaMessage {
    content: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    index: Option<usize>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Default, Deserialize)]
struct Function {
    name: Option<String>,
    /// The arguments: a string by the protocol; some servers send the object itself.
    #[serde(default, deserialize_with = "unread")]
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct ChunkUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<InputDetails>,
    completion_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl From<ChunkUsage> for Usage {
    fn from(counted: ChunkUsage) -> Self {
        let cached = counted
            .prompt_tokens_details
            .and_then(|details| details.cached_tokens);
        let reasoning = counted
            .completion_tokens_details
            .and_then(|d| d.reasoning_tokens);
        Self::new(
            counted.prompt_tokens.unwrap_or_default(),
            counted.completion_tokens.unwrap_or_default(),
        )
        .cached(cached.unwrap_or_default())
        .reasoning(reasoning.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
