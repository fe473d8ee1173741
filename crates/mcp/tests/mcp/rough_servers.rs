//! Servers that break off, fall silent, or answer with nonsense.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that stops here has failed"
)]
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use fugato_mcp::{Era, McpError, McpOptions, McpServer, McpTool, RefusedTool};
use fugato_state::{Lang, ToolCall, ToolStatus};
use fugato_tool::{Registry, ToolContext, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    sync::mpsc,
};

/// The reaction of a server to a request.
enum Does {
    /// Sends these lines; `$id` and `$token` stand for those of the request.
    Says(Vec<String>),
    BreaksOff,
}

fn result(value: &Value) -> Does {
    Does::Says(vec![format!(
        r#"{{"jsonrpc":"2.0","id":$id,"result":{value}}}"#
    )])
}

fn tools(tools: &Value) -> Does {
    result(&json!({ "tools": tools }))
}

fn one_tool() -> Does {
    tools(&json!([{ "name": "t", "inputSchema": { "type": "object" } }]))
}

async fn speak(stream: DuplexStream, does: impl Fn(&str, &Value) -> Does) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let method = request["method"].as_str().unwrap_or_default();
        let done = match method {
            "initialize" => result(&json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "rough", "version": "1" },
            })),
            _ => does(method, &request),
        };
        let Does::Says(lines) = done else { return };
        let token = request["params"]["_meta"]["progressToken"].to_string();
        for line in lines {
            let line = line
                .replace("$id", &request["id"].to_string())
                .replace("$token", &token);
            write.write_all(line.as_bytes()).await.unwrap();
            write.write_all(b"\n").await.unwrap();
        }
    }
}

fn rough<D>(options: McpOptions, does: D) -> McpServer
where
    D: Fn(&str, &Value) -> Does + Clone + Send + Sync + 'static,
{
    let open = move || {
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        tokio::spawn(speak(theirs, does.clone()));
        async move { Ok(ours) }
    };
    McpServer::stream("rough", open, options.era(Era::Handshake))
}

fn calls<D>(options: McpOptions, does: D) -> McpServer
where
    D: Fn(&Value) -> Does + Clone + Send + Sync + 'static,
{
    rough(options, move |method, request| match method {
        "tools/list" => one_tool(),
        "tools/call" => does(request),
        _ => Does::Says(vec![]),
    })
}

async fn call(server: &McpServer) -> ToolResult {
    let tools = server.tools().await.unwrap();
    let registry: Registry = Registry::builder().tools(tools).build().unwrap();
    let call = ToolCall::new("c1", "rough_t", json!({}));
    registry.call(&call, ToolContext::new(&())).await
}

fn refused(name: &str, reason: &str) -> (String, String) {
    (name.to_owned(), reason.to_owned())
}

#[tokio::test]
async fn a_tool_that_cannot_be_used_does_not_spoil_the_others() {
    let server = rough(McpOptions::new(), |_, _| {
        tools(&json!([
            { "name": "good", "inputSchema": { "type": "object" } },
            { "name": "good", "inputSchema": { "type": "object" } },
            { "name": "list", "inputSchema": { "type": "array" } },
            { "name": "number", "inputSchema": 7 },
            { "name": "banana", "inputSchema": { "type": "object", "properties": { "x": { "type": "banana" } } } },
            { "name": "far", "inputSchema": { "type": "object", "$ref": "http://example.com/schema.json" } },
            { "name": "", "inputSchema": { "type": "object" } },
            { "inputSchema": { "type": "object" } },
            { "name": "bare", "inputSchema": {} },
            7,
        ]))
    });
    let tools = server.tools().await.unwrap();
    let usable: Vec<_> = tools.iter().map(McpTool::original).collect();
    assert_eq!(usable, ["good", "bare"]);
    let first_words = |reason: &str| {
        reason
            .split([' ', ':'])
            .take(3)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let found: Vec<_> = tools
        .refused()
        .iter()
        .map(|RefusedTool { name, reason, .. }| (name.clone(), first_words(reason)))
        .collect();
    assert_eq!(
        found,
        [
            refused("good", "another tool of"),
            refused("list", "the schema of"),
            refused("number", "invalid type "),
            refused("banana", "the schema is"),
            refused("far", "the schema is"),
            refused("", "it has no"),
            refused("#8", "missing field `name`"),
            refused("#10", "invalid type "),
        ]
    );
    let _: Registry = Registry::builder().tools(tools).build().unwrap();
}

#[tokio::test]
async fn a_list_has_pages_and_an_end() {
    let paged = |next: fn(u64) -> Value| {
        rough(McpOptions::new().most_tools(5), move |_, request| {
            let cursor = request["params"]["cursor"].as_str().unwrap_or("0");
            let page: u64 = cursor.parse().unwrap();
            let tool = json!({ "name": format!("t{page}"), "inputSchema": {} });
            result(&json!({ "tools": [tool], "nextCursor": next(page) }))
        })
    };
    let three = paged(|page| match page {
        0 | 1 => json!((page + 1).to_string()),
        _ => Value::Null,
    });
    let tools = three.tools().await.unwrap();
    assert_eq!(
        tools.iter().map(McpTool::name).collect::<Vec<_>>(),
        ["rough_t0", "rough_t1", "rough_t2"]
    );

    let endless = paged(|page| json!((page + 1).to_string()));
    assert!(matches!(
        endless.tools().await,
        Err(McpError::TooManyTools { most: 5, .. })
    ));

    let circle = paged(|page| json!(((page + 1) % 2).to_string()));
    assert!(matches!(
        circle.tools().await,
        Err(McpError::Garbage { .. })
    ));
}

#[tokio::test]
async fn noise_between_the_lines_is_passed_over() {
    let server = calls(McpOptions::new(), |_| {
        Does::Says(vec![
            "Listening on port 7".into(),
            "{".into(),
            "[]".into(),
            r#"{"jsonrpc":"2.0","id":999,"result":{"content":[]}}"#.into(),
            r#"{"jsonrpc":"2.0","method":"notifications/nothing","params":{}}"#.into(),
            r#"{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"here"}]}}"#
                .into(),
        ])
    });
    assert_eq!(call(&server).await.text, "here");
}

#[tokio::test]
async fn a_huge_result_is_cut() {
    let server = calls(McpOptions::new().most_text(10).most_data(100), |_| {
        result(&json!({
            "content": [{ "type": "text", "text": "放".repeat(100_000) }],
            "structuredContent": { "x": "y".repeat(100) },
        }))
    });
    let result = call(&server).await;
    assert_eq!(
        result.text,
        format!(
            "{}\n[cut: 10 of 100000 characters are shown]",
            "放".repeat(10)
        )
    );
    assert_eq!(result.data, Value::Null);
    assert_eq!(
        result.issues,
        [
            "the text was cut to 10 of 100000 characters",
            "the data of 108 bytes was left out; at most 100 are kept",
        ]
    );
}

#[tokio::test]
async fn what_is_no_text_is_named_and_kept() {
    let server = calls(McpOptions::new(), |_| {
        result(&json!({ "content": [
            { "type": "text", "text": "Look:" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource_link", "uri": "file:///a", "name": "a" },
            { "type": "resource", "resource": { "uri": "file:///b", "text": "in b" } },
            { "type": "resource", "resource": { "uri": "file:///c", "blob": "AAAA" } },
        ] }))
    });
    let result = call(&server).await;
    assert_eq!(
        result.text,
        "Look:\n[image: image/png]\n[audio: audio/wav]\n[a: file:///a]\n[file:///b]\nin b\n\
         [file:///c: application/octet-stream]"
    );
    assert_eq!(result.data["content"].as_array().map(Vec::len), Some(5));
    assert_eq!(result.data["content"][0]["data"], "AAAA");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_taken_back() {
    let (told, mut hears) = mpsc::unbounded_channel();
    let server = rough(
        McpOptions::new().timeout(Duration::from_secs(5)),
        move |method, request| match method {
            "tools/list" => one_tool(),
            "notifications/cancelled" => {
                told.send(request["params"]["requestId"].clone()).unwrap();
                Does::Says(vec![])
            }
            _ => Does::Says(vec![]),
        },
    );
    let result = call(&server).await;
    assert_eq!(
        (result.status, result.text.as_str(), result.data),
        (
            ToolStatus::Failed,
            "the server `rough` did not answer within 5s; it is not known whether `t` was carried out",
            json!({ "in_doubt": true }),
        )
    );
    assert_eq!(hears.recv().await, Some(json!(2)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_begun_anew_and_one_that_is_only_slow_is_not() {
    for (is_there, expected) in [(true, 1), (false, 2)] {
        let begun = Arc::new(AtomicU32::new(0));
        let times = Arc::clone(&begun);
        let open = move || {
            times.fetch_add(1, Ordering::SeqCst);
            let (ours, theirs) = tokio::io::duplex(1024 * 1024);
            tokio::spawn(speak(theirs, move |method, _| match method {
                "tools/list" => one_tool(),
                "ping" if is_there => result(&json!({})),
                _ => Does::Says(vec![]),
            }));
            async move { Ok(ours) }
        };
        let server = McpServer::stream("rough", open, McpOptions::new().era(Era::Handshake));
        for _ in 0..2 {
            let text = call(&server).await.text;
            assert!(text.contains("did not answer within 60s"), "{text}");
        }
        assert_eq!(begun.load(Ordering::SeqCst), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_hangs_is_an_error() {
    let server = rough(McpOptions::new(), |_, _| Does::Says(vec![]));
    let error = server.tools().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server `rough` did not answer within 60s"
    );
}

#[tokio::test]
async fn l16_progress_is_read_with_the_call_that_it_belongs_to() {
    let progress = Arc::new(Mutex::new(vec![]));
    let read = Arc::clone(&progress);
    let (told, mut hears) = mpsc::unbounded_channel();
    let options = McpOptions::new().on_progress(move |at| {
        read.lock()
            .unwrap()
            .push((at.tool, at.call, at.done, at.total, at.message));
        told.send(()).unwrap();
    });
    let server = calls(options, |_| {
        Does::Says(vec![
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1,"total":2,"message":"half"}}"#.into(),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4711,"progress":9}}"#.into(),
        ])
    });
    let tools = server.tools().await.unwrap();
    let registry: Registry = Registry::builder().tools(tools).build().unwrap();
    let asked = ToolCall::new("c7", "rough_t", json!({}));
    tokio::select! {
        result = registry.call(&asked, ToolContext::new(&())) => panic!("nothing answers: {result:?}"),
        _ = hears.recv() => {}
    }
    let expected = (
        "t".to_owned(),
        "c7".to_owned(),
        1.0,
        Some(2.0),
        Some("half".to_owned()),
    );
    assert_eq!(*progress.lock().unwrap(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_breaks_off_is_reached_anew_but_not_again_and_again() {
    let begun = Arc::new(AtomicU32::new(0));
    let times = Arc::clone(&begun);
    let server = calls(McpOptions::new(), move |_| {
        match times.fetch_add(1, Ordering::SeqCst) {
            0 | 2 | 3 => Does::BreaksOff,
            n => result(&json!({ "content": [{ "type": "text", "text": n.to_string() }] })),
        }
    });
    let tools = server.tools().await.unwrap();
    let registry: Registry = Registry::builder().tools(tools).build().unwrap();
    let call = async || {
        let call = ToolCall::new("c1", "rough_t", json!({}));
        registry.call(&call, ToolContext::new(&())).await.text
    };
    let lost = "the server `rough` stopped before it answered; \
                it is not known whether `t` was carried out";
    assert_eq!(call().await, lost);
    // It may offer other tools now.
    assert_eq!(call().await, "1", "the first time it is reached at once");
    server.changed().await;
    assert_eq!(call().await, lost);
    assert_eq!(call().await, lost);
    let rests = call().await;
    assert!(
        rests.starts_with("the server `rough` was lost, and is not tried again for"),
        "{rests}"
    );
    assert_eq!(begun.load(Ordering::SeqCst), 4, "no call went out");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(call().await, "4");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error() {
    let nowhere = McpServer::stream(
        "nowhere",
        || async { Err::<DuplexStream, _>(std::io::Error::other("no such street")) },
        McpOptions::new(),
    );
    let error = nowhere.tools().await.unwrap_err();
    assert_eq!(error.to_string(), "the server `nowhere` cannot be reached");
    assert_eq!(
        std::error::Error::source(&error)
            .map(ToString::to_string)
            .as_deref(),
        Some("no such street")
    );
}

#[tokio::test]
async fn a_refusal_is_told_in_the_words_of_the_server() {
    let server = calls(McpOptions::new(), |_| {
        Does::Says(vec![
            r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"no such file"}}"#.into(),
        ])
    });
    let result = call(&server).await;
    assert_eq!(
        (result.status, result.text.as_str(), result.data),
        (
            ToolStatus::Failed,
            "the server `rough` refuses the call: no such file",
            json!({ "code": -32602 }),
        )
    );
    let chinese = Lang::Zh.scope_future(call(&server)).await;
    assert_eq!(chinese.text, "服务器 `rough` 拒绝了这次调用：no such file");
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "content",
        "type",
        "text",
        "image",
        "resource",
        "uri",
        "data",
        "mimeType",
        "isError",
        "structuredContent",
        "tools",
        "name",
        "inputSchema",
        "object",
        "nextCursor",
        "_meta",
        "resultType",
        "complete",
        "annotations",
        "readOnlyHint",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(test)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_answer_to_a_call_becomes_a_result(answer in any_json()) {
        let server = calls(McpOptions::new().most_text(200), move |_| result(&answer));
        let result = run(call(&server));
        prop_assert!(result.text.chars().count() < 300, "{}", result.text);
        prop_assert!(!result.text.is_empty() || result.is_ok());
    }

    #[test]
    fn any_list_of_tools_becomes_a_registry_or_an_error(list in any_json()) {
        let server = rough(McpOptions::new(), move |_, _| result(&list));
        if let Ok(tools) = run(server.tools()) {
            let registry: Result<Registry, _> = Registry::builder().tools(tools).build();
            prop_assert!(registry.is_ok(), "{registry:?}");
        }
    }
}
