use std::{
    convert::Infallible,
    error::Error,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use http_body::Body;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, combinators::BoxBody};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use serde_json::{Value, json};
use tower_service::Service;

use super::ToolServer;

/// The response of a [`ToolHttpService`].
type ToolHttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// A tower service over HTTP, to be nested in a router of any framework.
#[derive(derive_more::Debug)]
#[debug("ToolHttpService {{ most_sessions: {most_sessions:?}, .. }}")]
pub struct ToolHttpService<S = (), U = ()> {
    protocol: StreamableHttpService<ToolServer<S, U>, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    most_sessions: usize,
}

/// The access rules of a server over HTTP. By default: programs and pages of this machine that use
/// one of its own names, so that no foreign page reaches it by another name.
#[derive(smart_default::SmartDefault, Debug, Clone)]
pub struct HttpServing {
    hosts: Option<Vec<String>>,
    origins: Option<Vec<String>>,
    #[default = 1000]
    most_sessions: usize,
}

const OWN_PAGES: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// The largest body of a request, in bytes.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

impl HttpServing {
    /// Creates the rules for clients on this machine.
    pub fn new() -> Self {
        Self::default()
    }

    fugato_state::setters! {
        /// Sets the names, with or without a port, by which clients reach the server.
        pub fn hosts<N: Into<String>>(hosts: impl IntoIterator<Item = N>) {
            hosts = Some(hosts.into_iter().map(Into::into).collect())
        }

        /// Sets the origins of the pages that may reach the server, such as
        /// `https://desk.example:443`; with none of them, no page may.
        pub fn origins<N: Into<String>>(origins: impl IntoIterator<Item = N>) {
            origins = Some(origins.into_iter().map(Into::into).collect())
        }

        /// Sets the number of sessions that are open at once at most. A session ends when its client
        /// says so, or after five minutes of silence.
        pub fn most_sessions(sessions: usize) { most_sessions = sessions }
    }
}

impl<S, U> ToolServer<S, U>
where
    S: Send + Sync + 'static,
    U: Send + 'static,
{
    /// Returns the server as a service over HTTP, for both eras of the protocol.
    pub fn http(&self, serving: HttpServing) -> ToolHttpService<S, U> {
        let own = || OWN_PAGES.map(str::to_owned).into();
        let mut config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(MOST_BYTES)
            .with_allowed_origins(serving.origins.unwrap_or_else(own))
            .enforce_origin_validation();
        if let Some(hosts) = serving.hosts {
            config = config.with_allowed_hosts(hosts);
        }
        let server = self.clone();
        let sessions = Arc::new(LocalSessionManager::default());
        ToolHttpService {
            protocol: StreamableHttpService::new(
                move || Ok(server.clone()),
                Arc::clone(&sessions),
                config,
            ),
            sessions,
            most_sessions: serving.most_sessions,
        }
    }
}

impl<S, U> ToolHttpService<S, U>
where
    S: Send + Sync + 'static,
    U: Send + 'static,
{
    async fn answer<B>(mut self, request: Request<B>) -> ToolHttpResponse
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        if request.method() != Method::POST {
            let request = request.map(|_| Full::<Bytes>::default());
            return called(self.protocol.call(request).await);
        }
        let (parts, body) = request.into_parts();
        let body = match Limited::new(body, MOST_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let why = format!("the request has more than {MOST_BYTES} bytes");
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, &why);
            }
            Err(error) => {
                let why = format!("the request broke off: {error}");
                return refusal(StatusCode::BAD_REQUEST, &why);
            }
        };
        let is_json = parts.headers.get(CONTENT_TYPE).is_some_and(|given| {
            let given = given.to_str().unwrap_or_default().trim();
            given.to_ascii_lowercase().starts_with("application/json")
        });
        let begins = !parts.headers.contains_key(SESSION);
        if begins && self.is_full().await && method(&body).as_deref() == Some("initialize") {
            let why = format!(
                "{} sessions are open, and no more may be",
                self.most_sessions
            );
            let mut refused = refusal(StatusCode::SERVICE_UNAVAILABLE, &why);
            refused.headers_mut().insert(RETRY_AFTER, 60.into());
            return refused;
        }
        let request = Request::from_parts(parts, Full::new(body.clone()));
        let answer = called(self.protocol.call(request).await);
        // The protocol's own words for a body that is no message say neither what is wrong nor what
        // is allowed.
        if is_json
            && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
            && let Some(why) = problem(&body)
        {
            return refusal(StatusCode::BAD_REQUEST, &why);
        }
        answer
    }

    async fn is_full(&self) -> bool {
        self.sessions.sessions.read().await.len() >= self.most_sessions
    }
}

impl<S, U, B> Service<Request<B>> for ToolHttpService<S, U>
where
    S: Send + Sync + 'static,
    U: Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = ToolHttpResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.clone().answer(request).map(Ok).boxed()
    }
}

impl<S, U> Clone for ToolHttpService<S, U> {
    fn clone(&self) -> Self {
        Self {
            protocol: self.protocol.clone(),
            sessions: Arc::clone(&self.sessions),
            most_sessions: self.most_sessions,
        }
    }
}

/// Returns the answer of a service that always has one.
fn called(answer: Result<ToolHttpResponse, Infallible>) -> ToolHttpResponse {
    answer.unwrap_or_else(|never| match never {})
}

/// Returns an error of the protocol that belongs to no call.
fn refusal(status: StatusCode, why: &str) -> ToolHttpResponse {
    let error =
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": why } });
    let mut refused = Response::new(Full::from(error.to_string()).boxed());
    *refused.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    refused.headers_mut().insert(CONTENT_TYPE, json);
    refused
}

fn method(body: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(body).ok()?;
    message.get("method")?.as_str().map(str::to_owned)
}

/// Returns the reason why a body is no message; none if it may be one.
fn problem(body: &[u8]) -> Option<String> {
    let message: Value = match serde_json::from_slice(body) {
        Ok(message) => message,
        Err(error) => return Some(format!("the body is not the JSON of a message: {error}")),
    };
    let Value::Object(message) = message else {
        let found = if message.is_array() {
            "an array, and batches are not allowed"
        } else {
            "no object"
        };
        return Some(format!("the body is {found}: one message as an object is"));
    };
    let wrong = |name: &str, allowed: &str| {
        let found = message
            .get(name)
            .map_or("missing".to_owned(), Value::to_string);
        Some(format!("`{name}` is {found}: {allowed} is allowed"))
    };
    if message.get("jsonrpc") != Some(&json!("2.0")) {
        return wrong("jsonrpc", "\"2.0\"");
    }
    match message.get("id") {
        None | Some(Value::String(_)) => {}
        Some(Value::Number(number)) if number.is_i64() => {}
        Some(_) => return wrong("id", "a text or a whole number below 2^63"),
    }
    if message
        .get("method")
        .is_some_and(|method| !method.is_string())
    {
        return wrong("method", "a text");
    }
    if message
        .get("params")
        .is_some_and(|params| !params.is_object())
    {
        return wrong("params", "an object");
    }
    let parts = ["method", "result", "error"];
    (parts
        .iter()
        .filter(|part| message.contains_key(**part))
        .count()
        != 1)
        .then(|| "a message has exactly one of `method`, `result` and `error`".to_owned())
}
