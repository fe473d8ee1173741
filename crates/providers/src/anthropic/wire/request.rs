//! The request in the protocol's JSON.

use fugato_llm::{ChatRequest, ResponseFormat, Thinking, ToolChoice};
use fugato_state::{Message, Role, ToolCall};
use serde_json::{Map, Value, json};

use super::PROTOCOL;
use crate::{
    anthropic::{Anthropic, ThinkingMode},
    json::{decimal, set},
};

/// The smallest budget that servers accept, in tokens.
const LEAST_BUDGET: u32 = 1024;

/// Returns the body of a request. Settings that the request does not have are left out, except the
/// longest answer.
pub(crate) fn body(client: &Anthropic, request: &ChatRequest) -> Map<String, Value> {
    let mut body = Map::new();
    let thinks = request.thinking == Thinking::On && may_think(&request.messages);
    let model = request.model.as_ref().unwrap_or(&client.model);
    set(&mut body, "model", model.as_str());
    set(&mut body, "stream", true);
    conversation(&request.messages, &mut body);
    tools(request, thinks, &mut body);
    let answer = request.sampling.max_tokens.unwrap_or(client.max_tokens);
    let mut tokens = answer;
    match (request.thinking, client.thinking) {
        (Thinking::On, ThinkingMode::Budget(budget)) if thinks => {
            let budget = budget.max(LEAST_BUDGET);
            tokens = answer.saturating_add(budget);
            let thinking = json!({ "type": "enabled", "budget_tokens": budget });
            set(&mut body, "thinking", thinking);
        }
        (Thinking::On, ThinkingMode::Adaptive) if thinks => {
            set(&mut body, "thinking", json!({ "type": "adaptive" }));
        }
        (Thinking::On | Thinking::Off, _) => {
            set(&mut body, "thinking", json!({ "type": "disabled" }));
        }
        _ => {}
    }
    set(&mut body, "max_tokens", tokens);
    sampling(request, thinks, &mut body);
    if let ResponseFormat::JsonSchema { schema, .. } = &request.response_format
        && client.structured
    {
        let format = json!({ "format": { "type": "json_schema", "schema": schema } });
        set(&mut body, "output_config", format);
    }
    body.extend(client.extra.clone());
    body
}

/// Returns true if the request may ask for thinking. Servers refuse it in the middle of a turn of
/// tools that began without thinking blocks of this protocol.
fn may_think(messages: &[Message]) -> bool {
    let last = messages
        .iter()
        .rfind(|message| message.role == Role::Assistant);
    last.is_none_or(|message| message.tool_calls.is_empty() || message.kept.contains_key(PROTOCOL))
}

fn conversation(messages: &[Message], body: &mut Map<String, Value>) {
    let system = messages
        .iter()
        .take_while(|message| message.role == Role::System);
    let behind = system.clone().count();
    let system: Vec<_> = system.map(|message| message.content.as_str()).collect();
    if !system.is_empty() {
        set(body, "system", system.join("\n\n"));
    }
    let mut turns: Vec<(&str, Vec<Value>)> = vec![];
    for message in messages.iter().skip(behind) {
        let role = if message.role == Role::Assistant {
            "assistant"
        } else {
            "user"
        };
        let blocks = blocks(message);
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let turns = turns.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    let messages = turns.map(|(role, mut blocks)| {
        // The results of calls must come before all other blocks of the turn.
        blocks.sort_by_key(|block| role == "user" && block["type"] != "tool_result");
        json!({ "role": role, "content": blocks })
    });
    set(body, "messages", messages.collect::<Value>());
}

fn blocks(message: &Message) -> Vec<Value> {
    if message.role == Role::Tool {
        let call = id(message.tool_call_id.as_deref().unwrap_or_default());
        let result =
            json!({ "type": "tool_result", "tool_use_id": call, "content": message.content });
        return vec![result];
    }
    let mut blocks = message.kept.get(PROTOCOL).cloned().unwrap_or_default();
    if message.role != Role::Assistant {
        blocks.clear();
    }
    // Servers refuse blank text.
    if !message.content.trim().is_empty() {
        blocks.push(json!({ "type": "text", "text": message.content }));
    }
    blocks.extend(message.tool_calls.iter().map(call));
    blocks
}

fn call(call: &ToolCall) -> Value {
    let input = if call.arguments.is_object() {
        call.arguments.clone()
    } else {
        json!({})
    };
    json!({ "type": "tool_use", "id": id(&call.id), "name": call.name, "input": input })
}

/// Returns an id with only the characters that this protocol allows; other servers use more.
fn id(id: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    id.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}

fn tools(request: &ChatRequest, thinks: bool, body: &mut Map<String, Value>) {
    if request.tools.is_empty() {
        return;
    }
    let tools = request.tools.iter().map(|tool| {
        json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters })
    });
    set(body, "tools", tools.collect::<Value>());
    let choice = match &request.tool_choice {
        ToolChoice::None => json!({ "type": "none" }),
        ToolChoice::Required if !thinks => json!({ "type": "any" }),
        ToolChoice::Named(name) if !thinks => json!({ "type": "tool", "name": name }),
        _ => return,
    };
    set(body, "tool_choice", choice);
}

fn sampling(request: &ChatRequest, thinks: bool, body: &mut Map<String, Value>) {
    let chosen = &request.sampling;
    if !thinks {
        for (key, value) in [("temperature", chosen.temperature), ("top_p", chosen.top_p)] {
            if let Some(value) = value {
                set(body, key, decimal(value));
            }
        }
    }
    if !chosen.stop.is_empty() {
        set(body, "stop_sequences", json!(chosen.stop));
    }
}

#[cfg(test)]
mod tests;
