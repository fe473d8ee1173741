use super::*;

fn decode(chunks: &[&str]) -> (VecDeque<ChatDelta>, ChunkDecoder) {
    let (mut decoder, mut deltas) = (ChunkDecoder::default(), VecDeque::new());
    for chunk in chunks {
        decoder.decode(chunk.as_bytes(), &mut deltas).unwrap();
    }
    (deltas, decoder)
}

#[test]
fn text_reasoning_finish_and_usage_are_read_whatever_else_is_there() {
    let (deltas, decoder) = decode(&[
        r#"{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":null},"logprobs":null,"finish_reason":null}],"usage":null,"x_unknown":{"a":[1]}}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm","content":""}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning":"m"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"H\u00e9"}},{"index":1,"delta":{"content":"other"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"delta":{"content":"!"},"finish_reason":""}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
        r#"{"choices":null}"#,
        " [DONE] ",
    ]);
    let expected = [
        ChatDelta::reasoning("Hm"),
        ChatDelta::reasoning("m"),
        ChatDelta::text("Hé"),
        ChatDelta::Finish(FinishReason::Stop),
        ChatDelta::text("!"),
        ChatDelta::Usage(Usage::new(9, 3).cached(4).reasoning(2)),
    ];
    assert_eq!(deltas, expected);
    assert!(decoder.is_done());
}

#[test]
fn calls_are_told_apart_by_index_or_by_where_they_begin() {
    let call = |index, arguments: &str| ToolCallDelta::new(index, arguments);
    let (deltas, _) = decode(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"move","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"day\""}},{"index":1,"id":"b","function":{"name":"swap","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"arguments":":4}"}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    let expected = [
        ChatDelta::ToolCall(call(0, "").id("a").name("move")),
        ChatDelta::ToolCall(call(0, "{\"day\"")),
        ChatDelta::ToolCall(call(1, "{}").id("b").name("swap")),
        ChatDelta::ToolCall(call(0, ":4}")),
        ChatDelta::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(deltas, expected);

    let (deltas, _) = decode(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"move","arguments":{"day":4}}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"swap"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{}"}}]}}]}"#,
    ]);
    let expected = [
        ChatDelta::ToolCall(call(0, "{\"day\":4}").id("a").name("move")),
        ChatDelta::ToolCall(call(1, "").id("b").name("swap")),
        ChatDelta::ToolCall(call(1, "{}")),
    ];
    assert_eq!(deltas, expected);
}

#[test]
fn what_is_no_chunk_is_an_error() {
    let mut decoder = ChunkDecoder::default();
    let mut fails = |data: &str| {
        let mut deltas = VecDeque::new();
        decoder.decode(data.as_bytes(), &mut deltas).unwrap_err()
    };
    for data in [
        "{\"choices\": [",
        "{\"choices\": [{\"delta\": {\"content\": 7}}]}",
    ] {
        let error = fails(data);
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(error.kind, ModelErrorKind::Malformed);
        assert_eq!(source.to_string(), "a chunk cannot be read");
    }
    let reported = fails("{\"error\": {\"message\": \"overloaded\"}}");
    assert_eq!(reported.kind, ModelErrorKind::Unavailable);
    assert_eq!(reported.context, "overloaded");
}
