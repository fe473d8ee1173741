//! Nothing is done but what a person agrees to through a client.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that stops here has failed"
)]
use std::{
    error::Error,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use fugato_mcp::{Era, McpOptions, McpServer, ServerAnswer, Stateless, ToolHost, ToolServer, View};
use fugato_state::ToolCall;
use fugato_tool::{
    ConfirmCard, GateChain, GatedCall, NoArguments, Registry, ToolContext, ToolSpec, Verdict,
    async_trait, confirm_writes,
};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

/// A host whose state is a number that others change.
#[derive(Clone)]
struct Ledger(Arc<AtomicU64>);

#[async_trait]
impl ToolHost<u64, ()> for Ledger {
    async fn view(&self) -> Result<View<u64>, Box<dyn Error + Send + Sync>> {
        Ok(View::new(self.0.load(Ordering::Relaxed)))
    }

    async fn commit(&self, _: &ToolCall, _: Vec<()>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

#[tokio::test]
async fn k35_what_changed_before_the_person_agreed_is_asked_again() {
    for era in [Era::Handshake, Era::Stateless] {
        for (changes, done) in [(1, true), (9, false)] {
            let entries = Arc::new(AtomicU64::new(1));
            let registry = Registry::builder()
                .function(
                    ToolSpec::write("clear", "Clears."),
                    |cx: ToolContext<'_, u64>, NoArguments {}| {
                        Ok(format!("cleared {}", cx.state()?))
                    },
                )
                .build()
                .unwrap();
            let server = ToolServer::new("desk", registry, Ledger(entries.clone())).gates(
                GateChain::new().with(|call: &GatedCall<'_>, entries: &u64| {
                    let summary = format!("{entries} entries");
                    Verdict::NeedConfirm(ConfirmCard::new("Clear", summary, call.call.clone()))
                }),
            );
            let open = move || {
                let (ours, theirs) = tokio::io::duplex(64 * 1024);
                let server = server.clone();
                tokio::spawn(async move { server.serve(theirs).await });
                async move { Ok(ours) }
            };
            let asked = Arc::new(Mutex::new(vec![]));
            let seen = asked.clone();
            let options = McpOptions::new().era(era).answers(move |question| {
                let mut seen = seen.lock().unwrap();
                seen.push(question.message);
                if seen.len() <= changes {
                    entries.fetch_add(1, Ordering::Relaxed);
                }
                async { ServerAnswer::Given(json!({ "agree": true })) }
            });
            let tools = McpServer::stream("desk", open, options).tools().await;
            let registry: Registry = Registry::builder().tools(tools.unwrap()).build().unwrap();
            let call = ToolCall::new("c1", "desk_clear", json!({}));
            let result = registry.call(&call, ToolContext::new(&())).await;
            let asked = asked.lock().unwrap();
            if done {
                assert_eq!(*asked, ["Clear\n1 entries", "Clear\n2 entries"], "{era:?}");
                assert_eq!(result.text, "cleared 2", "{era:?}");
            } else {
                assert!(!result.text.contains("cleared"), "{era:?}: {}", result.text);
            }
        }
    }
}

/// A client that writes the lines of the protocol itself.
struct RawClient {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

impl RawClient {
    async fn of<S, U>(server: ToolServer<S, U>) -> Self
    where
        S: Send + Sync + 'static,
        U: Send + 'static,
    {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(async move { server.serve(theirs).await });
        let (read, write) = tokio::io::split(ours);
        let lines = BufReader::new(read).lines();
        let mut client = Self { lines, write };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "raw", "version": "1" },
        });
        client
            .send(json!({ "id": 1, "method": "initialize", "params": hello }))
            .await;
        client.receive().await;
        client
            .send(json!({ "method": "notifications/initialized" }))
            .await;
        client
    }

    async fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.write
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn receive(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

/// Returns a server of notes whose one tool needs consent, and the number of its calls.
pub(crate) fn counter() -> (ToolServer, Arc<AtomicU64>) {
    let done = Arc::new(AtomicU64::new(0));
    let counts = done.clone();
    let registry = Registry::builder()
        .function(
            ToolSpec::write("append", "Appends."),
            move |_: ToolContext<'_>, NoArguments {}| {
                Ok(format!(
                    "line {}",
                    counts.fetch_add(1, Ordering::Relaxed) + 1
                ))
            },
        )
        .build()
        .unwrap();
    let gates = GateChain::new().with(confirm_writes);
    (
        ToolServer::new("notes", registry, Stateless::new()).gates(gates),
        done,
    )
}

fn append(id: u64) -> Value {
    json!({ "id": id, "method": "tools/call", "params": { "name": "append", "arguments": {} } })
}

#[tokio::test]
async fn an_agreement_to_a_call_that_was_taken_back_does_nothing() {
    let (server, done) = counter();
    let mut client = RawClient::of(server).await;
    client.send(append(5)).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    let cancelled = json!({ "requestId": 5 });
    client
        .send(json!({ "method": "notifications/cancelled", "params": cancelled }))
        .await;
    let agreed = json!({ "action": "accept", "content": { "agree": true } });
    client
        .send(json!({ "id": question["id"], "result": agreed }))
        .await;
    client
        .send(json!({ "id": 6, "method": "tools/list" }))
        .await;
    while client.receive().await["id"] != 6 {}
    assert_eq!(done.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_answer_counts_for_one_call_and_one_question() {
    let (server, done) = counter();
    let mut client = RawClient::of(server).await;
    let agreed = json!({ "action": "accept", "content": { "agree": true } });
    // An answer before the question is none.
    client.send(json!({ "id": 0, "result": agreed })).await;
    client.send(append(5)).await;
    let question = client.receive().await;
    let odd = [
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": { "agree": "true" } }),
        json!({ "action": "accept", "content": { "agree": [true] } }),
        json!({ "action": "decline", "content": { "agree": true } }),
        json!({ "agree": true }),
    ];
    client
        .send(json!({ "id": question["id"], "result": odd[0] }))
        .await;
    assert_eq!(client.receive().await["result"]["isError"], true);
    for answer in &odd[1..] {
        client.send(append(6)).await;
        let question = client.receive().await;
        client
            .send(json!({ "id": question["id"], "result": answer }))
            .await;
        assert_eq!(
            client.receive().await["result"]["isError"],
            true,
            "{answer}"
        );
    }
    assert_eq!(done.load(Ordering::Relaxed), 0);
    client.send(append(7)).await;
    let question = client.receive().await;
    for _ in 0..2 {
        client
            .send(json!({ "id": question["id"], "result": agreed }))
            .await;
    }
    assert_eq!(
        client.receive().await["result"]["content"][0]["text"],
        "line 1"
    );
    client.send(append(8)).await;
    assert_eq!(client.receive().await["method"], "elicitation/create");
    assert_eq!(done.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn calls_that_wait_for_a_person_are_not_without_number() {
    let (server, done) = counter();
    let mut client = RawClient::of(server).await;
    let mut first = Value::Null;
    for id in 0..256 {
        client.send(append(100 + id)).await;
        let question = client.receive().await;
        assert_eq!(question["method"], "elicitation/create", "{id}");
        if id == 0 {
            first = question["id"].clone();
        }
    }
    client.send(append(999)).await;
    let refused = client.receive().await;
    let why = "256 calls are under way, and no more may be";
    assert_eq!(refused["error"]["message"], why);
    let declined = json!({ "action": "decline" });
    client
        .send(json!({ "id": first, "result": declined }))
        .await;
    assert_eq!(client.receive().await["id"], 100);
    client.send(append(1000)).await;
    assert_eq!(client.receive().await["method"], "elicitation/create");
    assert_eq!(done.load(Ordering::Relaxed), 0);
}
