use proptest::prelude::*;

use super::*;

fn decode<'a>(events: impl IntoIterator<Item = &'a Value>) -> (VecDeque<ChatDelta>, EventDecoder) {
    let (mut deltas, mut decoder) = (VecDeque::new(), EventDecoder::default());
    for event in events {
        let data = event.to_string();
        decoder.decode(data.as_bytes(), &mut deltas).unwrap();
    }
    (deltas, decoder)
}

fn start(index: usize, block: Value) -> Value {
    let mut event = json!({ "type": "content_block_start", "index": index });
    event["content_block"] = block;
    event
}

fn more(index: usize, delta: Value) -> Value {
    let mut event = json!({ "type": "content_block_delta", "index": index });
    event["delta"] = delta;
    event
}

fn stop(index: usize) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn kept(value: Value) -> ChatDelta {
    ChatDelta::Kept {
        by: "anthropic".into(),
        value,
    }
}

#[test]
fn an_answer_with_thinking_text_and_calls_is_read() {
    let usage = json!({
        "input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 20, "output_tokens": 1,
    });
    let json = |text: &str| json!({ "type": "input_json_delta", "partial_json": text });
    let (deltas, decoder) = decode(&[
        json!({ "type": "message_start", "message": { "id": "msg_1", "model": "m", "usage": usage } }),
        start(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        json!({ "type": "ping" }),
        more(0, json!({ "type": "thinking_delta", "thinking": "Day " })),
        more(0, json!({ "type": "thinking_delta", "thinking": "4." })),
        more(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
        stop(0),
        start(1, json!({ "type": "redacted_thinking", "data": "ZGF0YQ" })),
        stop(1),
        start(2, json!({ "type": "text", "text": "" })),
        more(2, json!({ "type": "text_delta", "text": "I move it." })),
        more(2, json!({ "type": "citations_delta", "citation": {} })),
        stop(2),
        start(
            3,
            json!({ "type": "tool_use", "id": "toolu_1", "name": "move", "input": {} }),
        ),
        more(3, json("")),
        more(3, json("{\"day\"")),
        more(3, json(": 4}")),
        stop(3),
        start(
            4,
            json!({ "type": "server_tool_use", "id": "s", "name": "search", "input": {} }),
        ),
        more(4, json("{}")),
        stop(4),
        start(
            5,
            json!({ "type": "tool_use", "id": "toolu_2", "name": "look", "input": {} }),
        ),
        stop(5),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 40 } }),
        json!({ "type": "message_stop" }),
        json!({ "type": "something_new", "x": 1 }),
    ]);
    let call = |index, text: &str| ToolCallDelta::new(index, text);
    let expected = [
        ChatDelta::Usage(Usage::new(33, 1).cached(20)),
        ChatDelta::reasoning("Day "),
        ChatDelta::reasoning("4."),
        kept(json!({ "type": "thinking", "thinking": "Day 4.", "signature": "c2ln" })),
        kept(json!({ "type": "redacted_thinking", "data": "ZGF0YQ" })),
        ChatDelta::text("I move it."),
        ChatDelta::ToolCall(call(0, "").id("toolu_1").name("move")),
        ChatDelta::ToolCall(call(0, "{\"day\"")),
        ChatDelta::ToolCall(call(0, ": 4}")),
        ChatDelta::ToolCall(call(1, "").id("toolu_2").name("look")),
        ChatDelta::Finish(FinishReason::ToolCalls),
        ChatDelta::Usage(Usage::new(33, 40).cached(20)),
    ];
    assert_eq!(deltas, expected);
    assert!(decoder.is_done());
}

#[test]
fn a_whole_message_is_read() {
    let (deltas, decoder) = decode(&[json!({
        "type": "message",
        "content": [
            { "type": "thinking", "thinking": "hm", "signature": "s" },
            { "type": "text", "text": "Hi" },
            { "type": "tool_use", "id": "t", "name": "move", "input": { "day": 4 } },
        ],
        "stop_reason": "tool_use",
        "usage": { "input_tokens": 5, "output_tokens": 2 },
    })]);
    let call = ToolCallDelta::new(0, "{\"day\":4}").id("t").name("move");
    let expected = [
        ChatDelta::reasoning("hm"),
        kept(json!({ "type": "thinking", "thinking": "hm", "signature": "s" })),
        ChatDelta::text("Hi"),
        ChatDelta::ToolCall(call),
        ChatDelta::Finish(FinishReason::ToolCalls),
        ChatDelta::Usage(Usage::new(5, 2)),
    ];
    assert_eq!(deltas, expected);
    assert!(decoder.is_done());
}

#[test]
fn every_reason_to_stop_has_its_word() {
    for (reason, expected) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("tool_use", FinishReason::ToolCalls),
        ("refusal", FinishReason::Filtered),
        ("pause_turn", FinishReason::Other("pause_turn".into())),
    ] {
        let event = json!({ "type": "message_delta", "delta": { "stop_reason": reason } });
        let (deltas, decoder) = decode(&[event]);
        assert_eq!(deltas, [ChatDelta::Finish(expected)]);
        assert!(decoder.may_end() && !decoder.is_done());
    }
}

proptest! {
    #[test]
    fn nothing_that_a_server_says_brings_it_down(
        events in prop::collection::vec(("[a-z_]{0,8}", 0usize..3, "[ -~]{0,12}", 0usize..9), 0..20),
    ) {
        let (mut decoder, mut deltas) = (EventDecoder::default(), VecDeque::new());
        for (word, index, text, kind) in events {
            let event = match kind {
                0 => start(index, json!({ "type": "text", "text": text })),
                1 => start(index, json!({ "type": "tool_use", "id": word, "name": text })),
                2 => start(index, json!({ "type": "thinking" })),
                3 => more(index, json!({ "type": "input_json_delta", "partial_json": text })),
                4 => more(index, json!({ "type": "signature_delta", "signature": text })),
                5 => stop(index),
                6 => json!({ "type": word, "index": index }),
                7 => json!({ "type": "message_delta", "delta": {}, "usage": { "output_tokens": u64::MAX } }),
                _ => Value::String(text),
            };
            let _ = decoder.decode(event.to_string().as_bytes(), &mut deltas);
        }
        let stopped = decoder.decode(b"{\"type\":\"message_stop\"}", &mut deltas);
        prop_assert!(stopped.is_ok() && decoder.is_done());
    }
}
