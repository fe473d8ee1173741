//! A server for the clients of others: an agent behind each protocol, on a free port of this
//! machine. It prints its address, and ends when its standard input does.
mod agent;
mod gated;
mod peer_server;
mod served;
mod socket;

use std::{
    convert::Infallible,
    io::{self, Write as _},
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use fugato::{
    BoxError, Encoder, Event, Frames,
    stream::{
        AgUiEncoder, AiSdkEncoder, Fidelity, NamedSseEncoder, OpenAiEncoder, Resume, Vocabulary,
    },
};
use fugato_testkit::encoder::any_events;
use futures::{Stream, StreamExt as _, stream};
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::peer_server::PeerServer;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let peer_server = PeerServer::open()?;
    let served = served::routes(peer_server.gate())?;
    let routes = Router::new()
        .route("/v1/chat/completions", post(openai))
        .route("/agui", post(ag_ui))
        .route("/ai", post(ai_sdk))
        .route("/ai/{thread}/stream", get(ai_sdk_again))
        .route("/sse/{vocabulary}", get(named))
        .route("/ws", get(socket::open))
        .route("/go", post(go))
        .route("/random/{protocol}/{seed}", post(random))
        .with_state(peer_server)
        .nest("/served", served)
        .nest("/gated", gated::routes()?);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(io::stdout(), "http://{}", listener.local_addr()?)?;
    let closed = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink()));
    tokio::select! {
        served = axum::serve(listener, routes) => served?,
        _ = closed => {}
    }
    Ok(())
}

/// What a request asks for beside its protocol.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct PeerOptions {
    /// Everything is told.
    full: bool,
    thread: Option<String>,
    text: Option<String>,
}

impl PeerOptions {
    fn fidelity(&self) -> Fidelity {
        if self.full {
            Fidelity::Full
        } else {
            Fidelity::Strict
        }
    }
}

/// A request that cannot be served.
struct BadRequest(BoxError);

impl<E: Into<BoxError>> From<E> for BadRequest {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for BadRequest {
    fn into_response(self) -> Response {
        (StatusCode::BAD_REQUEST, self.0.to_string()).into_response()
    }
}

type ServeResult = Result<Response, BadRequest>;

async fn openai(
    State(peer_server): State<PeerServer>,
    Query(wish): Query<PeerOptions>,
    Json(request): Json<Value>,
) -> ServeResult {
    let thread = request.get("user").and_then(Value::as_str);
    let resume = Resume::openai(&request)?;
    let events = peer_server.go_on(
        thread.unwrap_or("openai"),
        resume,
        peer_server::last_text(&request),
    )?;
    let mut encoder = OpenAiEncoder::new("run-1", "desk", 1_700_000_000).fidelity(wish.fidelity());
    if request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)) {
        encoder = encoder.include_usage();
    }
    respond(events, encoder)
}

async fn ag_ui(
    State(peer_server): State<PeerServer>,
    Query(wish): Query<PeerOptions>,
    Json(request): Json<Value>,
) -> ServeResult {
    let id = |name: &str| {
        let id = request.get(name).and_then(Value::as_str);
        id.ok_or_else(|| format!("there is no {name}"))
    };
    let (thread, run) = (id("threadId")?, id("runId")?);
    let resume = Resume::ag_ui(&request)?;
    let events = peer_server.go_on(thread, resume, peer_server::last_text(&request))?;
    let encoder = AgUiEncoder::new().named(thread, run);
    respond(events, encoder.fidelity(wish.fidelity()))
}

async fn ai_sdk(
    State(peer_server): State<PeerServer>,
    Query(wish): Query<PeerOptions>,
    Json(request): Json<Value>,
) -> ServeResult {
    let thread = request.get("id").and_then(Value::as_str);
    let resume = Resume::ai_sdk(&request)?;
    let mut encoder = AiSdkEncoder::new().fidelity(wish.fidelity());
    if !resume.answers.is_empty() {
        encoder = encoder.continues(resume.calls.clone());
    }
    let events = peer_server.go_on(
        thread.unwrap_or("ai"),
        resume,
        peer_server::last_text(&request),
    )?;
    respond(events, encoder)
}

/// The run that is under way, from its beginning.
async fn ai_sdk_again(
    State(peer_server): State<PeerServer>,
    Path(thread): Path<String>,
) -> ServeResult {
    match peer_server.again(&thread, None)? {
        Some(events) => respond(events, AiSdkEncoder::new()),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

async fn named(
    State(peer_server): State<PeerServer>,
    Path(vocabulary): Path<String>,
    Query(wish): Query<PeerOptions>,
    headers: HeaderMap,
) -> ServeResult {
    let names = match vocabulary.as_str() {
        "planner" => Vocabulary::PLANNER,
        _ => Vocabulary::REACT,
    };
    let encoder = NamedSseEncoder::new(names).fidelity(wish.fidelity());
    let thread = wish.thread.as_deref().unwrap_or("named");
    let seen = headers.get("last-event-id").map(|id| id.to_str());
    let Some(seen) = seen.transpose()? else {
        let text = wish.text.clone().unwrap_or_default();
        let events = peer_server.go_on(thread, Resume::default(), text)?;
        return respond(events, encoder);
    };
    let after = Resume::last_event_id(seen)?.after;
    match peer_server.again(thread, after)? {
        Some(events) => respond(events, encoder),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Lets a slow run go on.
async fn go(State(peer_server): State<PeerServer>) {
    peer_server.gate().add_permits(1);
}

/// Random events, for clients that check the rules of a protocol.
async fn random(
    Path((protocol, seed)): Path<(String, u32)>,
    Query(wish): Query<PeerOptions>,
) -> ServeResult {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let tree = any_events().new_tree(&mut runner);
    let tree = tree.map_err(|reason| reason.to_string())?;
    let events = stream::iter(tree.current());
    match protocol.as_str() {
        "agui" => respond(events, AgUiEncoder::new().fidelity(wish.fidelity())),
        "ai" => respond(events, AiSdkEncoder::new().fidelity(wish.fidelity())),
        other => Err(format!("there is no protocol {other}").into()),
    }
}

/// The events as the body of a response, as they come.
fn respond(
    events: impl Stream<Item = Event> + Send + 'static,
    mut encoder: impl Encoder + 'static,
) -> ServeResult {
    let mut response = Response::builder().header(header::CONTENT_TYPE, encoder.content_type());
    for (name, value) in encoder.headers() {
        response = response.header(*name, *value);
    }
    let mut frames = Frames::new();
    encoder.keep_alive(&mut frames);
    let events = events.map(Some).chain(stream::iter([None]));
    let pieces = events.map(move |event| {
        match event {
            Some(event) => encoder.encode(&event, &mut frames),
            None => encoder.finish(&mut frames),
        }
        let bytes = Bytes::from(frames.as_str().to_owned());
        frames.clear();
        Ok::<_, Infallible>(bytes)
    });
    Ok(response.body(Body::from_stream(pieces))?)
}
