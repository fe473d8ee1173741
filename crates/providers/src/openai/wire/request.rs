//! The request in the protocol's JSON.

use fugato_llm::{ChatRequest, ResponseFormat, Thinking, ToolChoice};
use fugato_state::{Message, Role, ToolCall};
use serde_json::{Map, Value, json};

use crate::{
    json::{decimal, set},
    openai::{OpenAi, ThinkingField},
};

/// Returns the body of a request. Settings that the request does not have are left out.
pub(crate) fn body(client: &OpenAi, request: &ChatRequest) -> Map<String, Value> {
    let mut body = Map::new();
    let model = request.model.as_ref().unwrap_or(&client.model);
    set(&mut body, "model", model.as_str());
    set(
        &mut body,
        "messages",
        request.messages.iter().map(message).collect::<Value>(),
    );
    set(&mut body, "stream", true);
    if client.usage {
        set(
            &mut body,
            "stream_options",
            json!({ "include_usage": true }),
        );
    }
    tools(request, &mut body);
    match &request.response_format {
        ResponseFormat::JsonObject => {
            set(
                &mut body,
                "response_format",
                json!({ "type": "json_object" }),
            );
        }
        ResponseFormat::JsonSchema {
            name,
            schema,
            strict,
        } => {
            let inner = json!({ "name": name, "schema": schema, "strict": strict });
            let format = json!({ "type": "json_schema", "json_schema": inner });
            set(&mut body, "response_format", format);
        }
        _ => {}
    }
    sampling(client, request, &mut body);
    if let Some((key, value)) = thinking(client.thinking, request.thinking) {
        set(&mut body, key, value);
    }
    body.extend(client.extra.clone());
    body
}

fn tools(request: &ChatRequest, body: &mut Map<String, Value>) {
    if request.tools.is_empty() {
        return;
    }
    let tools = request.tools.iter().map(|tool| {
        let function = json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        });
        json!({ "type": "function", "function": function })
    });
    set(body, "tools", tools.collect::<Value>());
    match &request.tool_choice {
        ToolChoice::None => set(body, "tool_choice", "none"),
        ToolChoice::Required => set(body, "tool_choice", "required"),
        ToolChoice::Named(name) => {
            let choice = json!({ "type": "function", "function": { "name": name } });
            set(body, "tool_choice", choice);
        }
        _ => {}
    }
}

fn sampling(client: &OpenAi, request: &ChatRequest, body: &mut Map<String, Value>) {
    let chosen = &request.sampling;
    let stop = Some(&chosen.stop).filter(|stop| !stop.is_empty());
    for (key, value) in [
        ("temperature", chosen.temperature.map(decimal)),
        ("top_p", chosen.top_p.map(decimal)),
        (
            client.max_tokens_field.as_str(),
            chosen.max_tokens.map(Value::from),
        ),
        ("stop", stop.map(|stop| json!(stop))),
        ("seed", chosen.seed.map(Value::from)),
    ] {
        if let Some(value) = value {
            set(body, key, value);
        }
    }
}

fn thinking(field: ThinkingField, wanted: Thinking) -> Option<(&'static str, Value)> {
    let on = match wanted {
        Thinking::On => true,
        Thinking::Off => false,
        _ => return None,
    };
    match field {
        ThinkingField::Unsaid => None,
        ThinkingField::ReasoningEffort => Some((
            "reasoning_effort",
            if on { "medium" } else { "minimal" }.into(),
        )),
        ThinkingField::EnableThinking => Some(("enable_thinking", on.into())),
        ThinkingField::ChatTemplate => {
            Some(("chat_template_kwargs", json!({ "enable_thinking": on })))
        }
        ThinkingField::Typed => Some((
            "thinking",
            json!({ "type": if on { "enabled" } else { "disabled" } }),
        )),
    }
}

fn message(message: &Message) -> Value {
    let content = Value::from(message.content.as_str());
    match message.role {
        Role::System => json!({ "role": "system", "content": content }),
        Role::User => json!({ "role": "user", "content": content }),
        Role::Tool => {
            json!({ "role": "tool", "tool_call_id": message.tool_call_id, "content": content })
        }
        Role::Assistant if message.tool_calls.is_empty() => {
            json!({ "role": "assistant", "content": content })
        }
        Role::Assistant => {
            let content = if message.content.is_empty() {
                Value::Null
            } else {
                content
            };
            let calls: Vec<_> = message.tool_calls.iter().map(call).collect();
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
    }
}

fn call(call: &ToolCall) -> Value {
    // Servers parse the arguments again, and reject all but objects.
    let arguments = if call.arguments.is_object() {
        call.arguments.to_string()
    } else {
        "{}".into()
    };
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

#[cfg(test)]
mod tests {
    use fugato_llm::ToolSchema;
    use fugato_state::Schema;

    use super::*;

    #[test]
    fn what_a_request_leaves_open_is_left_out() {
        let client = OpenAi::new("http://localhost", "small").usage(false);
        let request = ChatRequest::new([Message::user("Hello")]);
        let expected = json!({
            "model": "small",
            "messages": [{ "role": "user", "content": "Hello" }],
            "stream": true,
        });
        assert_eq!(Value::Object(body(&client, &request)), expected);
        let large = body(&client, &request.model("large"));
        assert_eq!(large.get("model"), Some(&json!("large")));
    }

    #[test]
    fn everything_that_a_request_says_is_sent() {
        let schema = Schema::new(json!({ "type": "object" })).unwrap();
        let client = OpenAi::new("http://localhost", "small")
            .thinking_field(ThinkingField::ChatTemplate)
            .max_tokens_field("max_completion_tokens")
            .extra("cache_prompt", true);
        let call = ToolCall::new("c1", "move", json!({ "day": 4 }));
        let broken = ToolCall::new("c2", "swap", json!("{"));
        let mut request = ChatRequest::new([
            Message::system("Be brief."),
            Message::assistant("").with_tool_calls([call, broken]),
            Message::tool("c1", "moved"),
        ])
        .tools([ToolSchema::new("move", "moves a task", schema.clone())])
        .tool_choice(ToolChoice::Named("move".into()))
        .response_format(ResponseFormat::JsonSchema {
            name: "reply".into(),
            schema,
            strict: true,
        })
        .temperature(0.2)
        .max_tokens(1200)
        .thinking(Thinking::Off);
        request.sampling.stop = vec!["END".into()];
        request.sampling.seed = Some(7);
        let function =
            |name: &str, arguments: &str| json!({ "name": name, "arguments": arguments });
        let expected = json!({
            "model": "small",
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c1", "type": "function", "function": function("move", "{\"day\":4}") },
                    { "id": "c2", "type": "function", "function": function("swap", "{}") },
                ] },
                { "role": "tool", "tool_call_id": "c1", "content": "moved" },
            ],
            "stream": true,
            "stream_options": { "include_usage": true },
            "tools": [{ "type": "function", "function": {
                "name": "move", "description": "moves a task", "parameters": { "type": "object" },
            } }],
            "tool_choice": { "type": "function", "function": { "name": "move" } },
            "response_format": { "type": "json_schema", "json_schema": {
                "name": "reply", "schema": { "type": "object" }, "strict": true,
            } },
            "temperature": 0.2,
            "max_completion_tokens": 1200,
            "stop": ["END"],
            "seed": 7,
            "chat_template_kwargs": { "enable_thinking": false },
            "cache_prompt": true,
        });
        assert_eq!(Value::Object(body(&client, &request)), expected);
    }

    #[test]
    fn each_field_for_thinking_is_said_in_its_own_words() {
        for (field, on, off) in [
            (ThinkingField::Unsaid, json!(null), json!(null)),
            (
                ThinkingField::ReasoningEffort,
                json!("medium"),
                json!("minimal"),
            ),
            (ThinkingField::EnableThinking, json!(true), json!(false)),
            (
                ThinkingField::Typed,
                json!({ "type": "enabled" }),
                json!({ "type": "disabled" }),
            ),
        ] {
            let said = |wanted| thinking(field, wanted).map_or(Value::Null, |(_, value)| value);
            assert_eq!((said(Thinking::On), said(Thinking::Off)), (on, off));
            assert_eq!(said(Thinking::Auto), Value::Null);
        }
    }
}
