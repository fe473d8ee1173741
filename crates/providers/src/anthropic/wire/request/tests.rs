use fugato_llm::ToolSchema;
use fugato_state::Schema;

use super::*;

fn client() -> Anthropic {
    Anthropic::new("small")
}

fn sent(client: &Anthropic, request: &ChatRequest) -> Value {
    Value::Object(body(client, request))
}

fn said(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": [{ "type": "text", "text": text }] })
}

fn schema() -> Schema {
    Schema::new(json!({ "type": "object" })).unwrap()
}

#[test]
fn what_a_request_leaves_open_is_left_out() {
    let expected = json!({
        "model": "small",
        "stream": true,
        "messages": [said("user", "Hello")],
        "max_tokens": 4096,
    });
    let request = ChatRequest::new([Message::user("Hello")]);
    assert_eq!(sent(&client(), &request), expected);
}

#[test]
fn l1_everything_that_a_request_says_is_sent() {
    let call = ToolCall::new("call:1", "move", json!({ "day": 4 }));
    let broken = ToolCall::new("c2", "swap", json!("{"));
    let mut asked = Message::assistant(" ").with_tool_calls([call, broken]);
    let thought = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
    asked.kept.insert("anthropic".into(), vec![thought.clone()]);
    asked.kept.insert("another".into(), vec![json!("not ours")]);
    let mut request = ChatRequest::new([
        Message::system("Be brief."),
        Message::system("Be kind."),
        Message::user("Move it."),
        asked,
        Message::tool("call:1", "moved"),
        Message::system("No swap is allowed."),
        Message::tool("c2", "blocked"),
        Message::user("And?"),
    ])
    .tools([ToolSchema::new("move", "moves a task", schema())])
    .tool_choice(ToolChoice::Named("move".into()))
    .response_format(ResponseFormat::JsonSchema {
        name: "reply".into(),
        schema: schema(),
        strict: true,
    })
    .temperature(0.2)
    .max_tokens(1200)
    .thinking(Thinking::Off);
    request.sampling.stop = vec!["END".into()];
    request.sampling.seed = Some(7);
    let result =
        |id: &str, text: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": text });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let expected = json!({
        "model": "small",
        "stream": true,
        "system": "Be brief.\n\nBe kind.",
        "messages": [
            said("user", "Move it."),
            { "role": "assistant", "content": [
                thought,
                { "type": "tool_use", "id": "call_1", "name": "move", "input": { "day": 4 } },
                { "type": "tool_use", "id": "c2", "name": "swap", "input": {} },
            ] },
            { "role": "user", "content": [
                result("call_1", "moved"),
                result("c2", "blocked"),
                text("No swap is allowed."),
                text("And?"),
            ] },
        ],
        "tools": [{ "name": "move", "description": "moves a task", "input_schema": { "type": "object" } }],
        "tool_choice": { "type": "tool", "name": "move" },
        "thinking": { "type": "disabled" },
        "max_tokens": 1200,
        "temperature": 0.2,
        "stop_sequences": ["END"],
        "output_config": { "format": { "type": "json_schema", "schema": { "type": "object" } } },
        "service_tier": "auto",
    });
    let client = client().structured(true).extra("service_tier", "auto");
    assert_eq!(sent(&client, &request), expected);
}

#[test]
fn a_model_that_thinks_gets_tokens_for_it_and_nothing_that_it_refuses() {
    let request = ChatRequest::new([Message::user("Hello")])
        .tools([ToolSchema::new("move", "moves a task", schema())])
        .tool_choice(ToolChoice::Required)
        .temperature(0.2)
        .max_tokens(800)
        .thinking(Thinking::On);
    let with = |thinking: Value, tokens: u32| {
        json!({
            "model": "small",
            "stream": true,
            "messages": [said("user", "Hello")],
            "tools": [{ "name": "move", "description": "moves a task", "input_schema": { "type": "object" } }],
            "thinking": thinking,
            "max_tokens": tokens,
        })
    };
    for (mode, expected) in [
        (
            ThinkingMode::Budget(2000),
            with(json!({ "type": "enabled", "budget_tokens": 2000 }), 2800),
        ),
        (
            ThinkingMode::Budget(1),
            with(json!({ "type": "enabled", "budget_tokens": 1024 }), 1824),
        ),
        (
            ThinkingMode::Adaptive,
            with(json!({ "type": "adaptive" }), 800),
        ),
    ] {
        assert_eq!(sent(&client().thinking_mode(mode), &request), expected);
    }
}

#[test]
fn a_turn_of_tools_that_began_without_thoughts_goes_on_without_them() {
    let call = ToolCall::new("c1", "move", json!({}));
    let turn = |kept: bool| {
        let mut asked = Message::assistant("").with_tool_calls([call.clone()]);
        if kept {
            let thought = json!({ "type": "redacted_thinking", "data": "d" });
            asked.kept.insert(PROTOCOL.into(), vec![thought]);
        }
        let messages = [Message::user("Move"), asked, Message::tool("c1", "moved")];
        ChatRequest::new(messages).thinking(Thinking::On)
    };
    let thinking = |request: &ChatRequest| sent(&client(), request)["thinking"]["type"].clone();
    assert_eq!(thinking(&turn(false)), "disabled");
    assert_eq!(thinking(&turn(true)), "enabled");
    // A user message after the results does not end the turn, but an answer does.
    let asked = turn(false).message(Message::user("Why?"));
    assert_eq!(thinking(&asked), "disabled");
    assert_eq!(
        thinking(&asked.message(Message::assistant("So."))),
        "enabled"
    );
}

#[test]
fn each_choice_of_tools_has_its_word() {
    for (choice, expected) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!({ "type": "none" })),
        (ToolChoice::Required, json!({ "type": "any" })),
    ] {
        let request = ChatRequest::new([Message::user("Hello")])
            .tools([ToolSchema::new("move", "moves a task", schema())])
            .tool_choice(choice);
        assert_eq!(sent(&client(), &request)["tool_choice"], expected);
    }
}
