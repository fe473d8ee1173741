//! The spans of a run at a collector, over HTTP.
mod common;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    process::ExitCode,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, http::header, response::IntoResponse, routing::post};
use clap::Parser as _;
use common::{Args, Small};
use fugato_cli::{App, Resources};
use fugato_graph::{Context, END, Graph};
use fugato_llm::{ChatModelExt as _, ChatRequest};
use fugato_state::{Message, State};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message as _;

#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
struct SpanDump(String);

impl State for SpanDump {
    type Update = String;

    fn apply(&mut self, words: String) {
        self.0 = words;
    }
}

/// Runs the program, which calls its model once.
async fn run(line: &[&str]) -> ExitCode {
    let args = Args::parse_from(line);
    let app = App::new("parrot", args.flags);
    app.run(args.command, async |open: Resources| {
        let model = open.model.clone().ok_or("a model is named")?;
        let ask = move |cx: Context<SpanDump>| {
            let (model, words) = (model.clone(), cx.state().0.clone());
            async move {
                let request = ChatRequest::new([Message::user(words)]);
                Ok(model.complete(request).await?.message.content)
            }
        };
        let graph = Graph::<SpanDump>::starting_at("ask")
            .node("ask", ask)
            .edge("ask", END)
            .output(|heard| heard.0.clone())
            .build()?;
        Ok(Small {
            runner: open.runner(graph),
            input: |said| Ok(vec![said.text]),
            title: |_| None,
        })
    })
    .await
}

const ANSWER: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"a secret answer"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}

data: [DONE]

"#;

async fn answer() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/event-stream")], ANSWER)
}

/// A server of models and a collector in one; the requests to the collector are kept.
async fn server(sent: Arc<Mutex<Vec<Bytes>>>) -> SocketAddr {
    let keep = move |body: Bytes| async move {
        let mut sent = sent.lock().expect("nobody panics with it");
        sent.push(body);
    };
    let routes = Router::new()
        .route("/v1/traces", post(keep))
        .route("/v1/chat/completions", post(answer));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.expect("a free port");
    let address = listener.local_addr().expect("a port");
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

fn fields(attributes: &[KeyValue]) -> BTreeMap<&str, String> {
    let text = |field: &KeyValue| match field.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        Value::BoolValue(yes) => Some(yes.to_string()),
        _ => None,
    };
    let fields = attributes.iter();
    fields
        .filter_map(|field| Some((field.key.as_str(), text(field)?)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_sees_a_run_and_what_its_model_cost() {
    let sent = Arc::default();
    let address = server(Arc::clone(&sent)).await;
    let folder = tempfile::tempdir().expect("a folder");
    let (dir, base) = (
        folder.path().display().to_string(),
        format!("http://{address}"),
    );
    let model = format!("{base}/v1");
    let line = [
        "parrot",
        "--dir",
        &dir,
        "--base-url",
        &model,
        "--model",
        "small",
        "--otlp",
        &base,
        "say",
        "a secret wish",
    ];
    assert_eq!(run(&line).await, ExitCode::SUCCESS);

    let bodies = std::mem::take(&mut *sent.lock().expect("nobody panics with it"));
    let words = bodies
        .iter()
        .any(|body| body.windows(6).any(|it| it == b"secret"));
    assert!(!words, "what is said is nobody else's");
    let requests = bodies.iter().map(|body| {
        ExportTraceServiceRequest::decode(body.clone()).expect("what the protocol says")
    });
    let resources: Vec<_> = requests
        .flat_map(|request| request.resource_spans)
        .collect();
    let service = resources
        .first()
        .and_then(|it| it.resource.as_ref())
        .expect("a name");
    assert_eq!(
        fields(&service.attributes)
            .get("service.name")
            .map(String::as_str),
        Some("parrot")
    );
    let scopes = resources.into_iter().flat_map(|it| it.scope_spans);
    let spans: Vec<Span> = scopes.flat_map(|it| it.spans).collect();
    let named = |name: &str| {
        let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
        let [span] = found[..] else {
            panic!("{spans:#?}")
        };
        span
    };
    let (run, chat) = (named("run"), named("chat small"));
    assert_eq!(spans.len(), 2);
    assert_eq!(
        (&chat.parent_span_id, &chat.trace_id),
        (&run.span_id, &run.trace_id)
    );
    assert_eq!(
        fields(&run.attributes)
            .get("fugato.thread")
            .map(String::as_str),
        Some("default")
    );
    let told = fields(&chat.attributes);
    let expected = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "small"),
        ("gen_ai.response.finish_reasons", "[\"stop\"]"),
        ("gen_ai.usage.input_tokens", "9"),
        ("gen_ai.usage.output_tokens", "3"),
    ];
    for (name, value) in expected {
        assert_eq!(told.get(name).map(String::as_str), Some(value), "{name}");
    }
}
