//! Access control: authentication, origins and host names.
use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody as _},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::Response,
};
use fugato_state::{Lang, say};
use futures::StreamExt as _;
use tokio::time::{Instant, interval_at};
use tower_http::cors::CorsLayer;

use crate::{Authenticate, Caller, error::ApiError, health::Metrics};

/// The rules by which requests are admitted.
pub(crate) struct Guard {
    pub(crate) who: Arc<dyn Authenticate>,
    /// The origins whose pages may use the agent, in addition to the server's own.
    pub(crate) origins: Vec<String>,
    /// The host names under which the server may be addressed; empty for any.
    pub(crate) hosts: Vec<String>,
    /// The prefix of the names of the agent's threads.
    pub(crate) home: String,
}

/// A caller whom the server has identified before it chose the agent.
#[derive(Debug, Clone)]
pub(crate) struct KnownCaller(pub(crate) Caller);

/// The pause between two times at which the caller of an open stream is identified again, and at
/// which agents of people who are gone are looked for.
pub(crate) const RECHECK: Duration = Duration::from_secs(5);

/// The admission of a request whose response may go on for long.
#[derive(Clone)]
pub(crate) struct Admission {
    who: Arc<dyn Authenticate>,
    head: Parts,
    caller: Caller,
}

impl Admission {
    /// Waits until the request would be refused, or would be that of another caller: its key was
    /// revoked, or has other rights now.
    pub(crate) async fn revoked(self) {
        let mut tick = interval_at(Instant::now() + RECHECK, RECHECK);
        loop {
            tick.tick().await;
            match self.who.caller(&self.head).await {
                Ok(now) if now.is_still(&self.caller) => {}
                _ => return,
            }
        }
    }
}

/// Returns the refusal of a change by a caller who only reads.
pub(crate) fn reader() -> ApiError {
    let message = say!(
        "this key only reads: it says, answers and removes nothing",
        "这个密钥只能读：不能说话、回答或删除"
    );
    ApiError::new(StatusCode::FORBIDDEN, "forbidden", message)
}

/// Admits a request of an allowed origin whose caller is authenticated. A stream ends when they no
/// longer are.
pub(crate) async fn known(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let opens_socket = parts.headers.contains_key(header::UPGRADE);
    let only_reads = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
    if opens_socket || !only_reads {
        guard.origin(&parts.headers)?;
    }
    let mut caller = match parts.extensions.remove::<KnownCaller>() {
        Some(KnownCaller(caller)) => caller,
        None => guard.who.caller(&parts).await?,
    };
    caller.home.clone_from(&guard.home);
    if caller.only_reads() && !only_reads {
        return Err(reader());
    }
    let admission = Admission {
        who: guard.who.clone(),
        head: parts.clone(),
        caller: caller.clone(),
    };
    parts.extensions.insert(caller);
    parts.extensions.insert(admission.clone());
    let response = next.run(Request::from_parts(parts, body)).await;
    // The body of a stream has no known length.
    if response.body().size_hint().exact().is_some() {
        return Ok(response);
    }
    Ok(response.map(|body| {
        let pieces = body.into_data_stream();
        Body::from_stream(pieces.take_until(Box::pin(admission.revoked())))
    }))
}

/// Admits a request that names this server in its `Host` header: a foreign page can make its own
/// name resolve to this machine.
pub(crate) async fn called(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    guard.host(request.headers())?;
    Ok(next.run(request).await)
}

pub(crate) async fn counted(
    State(metrics): State<Arc<Metrics>>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    metrics.responded(response.status());
    response
}

/// Answers in the first language of the header `accept-language` that is spoken here; in that of the
/// server if there is none.
pub(crate) async fn spoken(State(own): State<Lang>, request: Request, next: Next) -> Response {
    let accepted = text(request.headers(), header::ACCEPT_LANGUAGE);
    let mut names = accepted.split(',').filter_map(|one| one.split(';').next());
    let lang = names.find_map(|name| name.trim().parse().ok());
    let lang: Lang = lang.unwrap_or(own);
    lang.scope_future(next.run(request)).await
}

impl Guard {
    fn host(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = text(headers, header::HOST);
        let name = without_port(host);
        if self.hosts.is_empty() || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        let message = say!(
            "{name:?} is not this server: {} is",
            "{name:?} 不是这台服务器：{} 才是",
            self.hosts.join(", ")
        );
        Err(ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "host",
            message,
        ))
    }

    /// Checks the origin of a request that changes something or opens a socket: the server's own,
    /// an allowed one, or none at all.
    fn origin(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let origin = origin.to_str().unwrap_or_default();
        let own = origin.split_once("://").map(|(_, host)| host);
        let host = text(headers, header::HOST);
        let is_own = own.is_some_and(|own| !own.is_empty() && own.eq_ignore_ascii_case(host));
        if is_own || self.origins.iter().any(|allowed| allowed == origin) {
            return Ok(());
        }
        let message = say!(
            "pages of {origin:?} may not use this server",
            "{origin:?} 的网页不能使用这台服务器"
        );
        Err(ApiError::new(StatusCode::FORBIDDEN, "origin", message))
    }

    /// Returns the CORS rules for foreign pages; none if no foreign origin is allowed.
    pub(crate) fn cors(&self) -> Option<CorsLayer> {
        let origins: Vec<HeaderValue> = self
            .origins
            .iter()
            .filter_map(|origin| HeaderValue::from_str(origin).ok())
            .collect();
        let sent = [
            "content-type",
            "authorization",
            "idempotency-key",
            "last-event-id",
        ];
        let sent = sent.map(header::HeaderName::from_static);
        let own = header::HeaderName::from_static("x-conversation-id");
        let layer = CorsLayer::new()
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers(sent.into_iter().chain([own.clone()]).collect::<Vec<_>>())
            .expose_headers([own, header::RETRY_AFTER])
            .allow_credentials(true);
        (!origins.is_empty()).then(|| layer.allow_origin(origins))
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

/// Returns the host name without its port. An IPv6 address keeps its brackets.
fn without_port(host: &str) -> &str {
    let after = host.rfind(']').unwrap_or(0);
    match host.get(after..).and_then(|rest| rest.find(':')) {
        Some(colon) => host.get(..after + colon).unwrap_or(host),
        None => host,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_host_has_a_name_with_or_without_a_port() {
        let names = ["a.example", "a.example:80", "[::1]:80", "[::1]", ""];
        let names = names.map(super::without_port);
        assert_eq!(names, ["a.example", "a.example", "[::1]", "[::1]", ""]);
    }
}
