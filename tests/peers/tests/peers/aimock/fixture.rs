//! A server of others, and our clients of it.
use std::sync::{Arc, OnceLock};

use fugato::{
    Anthropic, BoxError, ChatModel, ChatModelExt as _, ChatRequest, OpenAi,
    llm::{ApiKey, Attempt, ModelError, ModelErrorKind},
    state::Message,
};
use reqwest::{
    Client,
    header::{HeaderMap, HeaderValue},
};
use serde_json::Value;
use servers::{Aimock, Server};

pub(crate) const SECRET: &str = "sk-very-secret-0123456789";

/// One client of one test. The server counts the requests of each by itself.
pub(crate) struct PeerState {
    pub(crate) model: Arc<dyn ChatModel>,
    server: &'static Server,
    test: String,
}

/// A client of each protocol; none where the server is not installed.
pub(crate) fn desks(test: &str) -> Result<Vec<PeerState>, BoxError> {
    desks_of(test, "small")
}

/// The same for a model of this name.
pub(crate) fn desks_of(test: &str, name: &str) -> Result<Vec<PeerState>, BoxError> {
    let Some(server) = server() else {
        return Ok(vec![]);
    };
    let desk = |protocol: &str, client: fn(&str, &str, Client) -> Arc<dyn ChatModel>| {
        let test = format!("{test}-{protocol}");
        let headers = HeaderMap::from_iter([("x-test-id".parse()?, HeaderValue::from_str(&test)?)]);
        let http = Client::builder().default_headers(headers).build()?;
        let model = client(server.url(), name, http);
        Ok::<_, BoxError>(PeerState {
            model,
            server,
            test,
        })
    };
    Ok(vec![
        desk("openai", |url, name, http| {
            Arc::new(OpenAi::new(url, name).key(ApiKey::new(SECRET)).http(http))
        })?,
        desk("anthropic", |url, name, http| {
            let client = Anthropic::new(name).base_url(url);
            Arc::new(client.key(ApiKey::new(SECRET)).http(http))
        })?,
    ])
}

/// Where the server listens.
pub(crate) fn url() -> Option<&'static str> {
    server().map(Server::url)
}

fn server() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    // This test makes HTTP clients of its own.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let start = || Aimock::start(include_str!("fixtures.json"));
    SHARED.get_or_init(start).as_ref()
}

impl PeerState {
    /// The status of each answer that the server gave, in order; 0 where it gave none.
    pub(crate) async fn seen(&self) -> Result<Vec<u64>, BoxError> {
        let url = format!(
            "{}/__aimock/journal?testId={}",
            self.server.url(),
            self.test
        );
        let entries: Vec<Value> = reqwest::get(url).await?.json().await?;
        let status = |entry: &Value| entry.pointer("/response/status").and_then(Value::as_u64);
        Ok(entries.iter().filter_map(status).collect())
    }
}

/// The text that is said at last, and why each attempt before failed.
pub(crate) async fn says(
    model: &dyn ChatModel,
    text: &str,
) -> Result<(String, Vec<ModelErrorKind>), ModelError> {
    let response = model.complete(ask(text)).await?;
    Ok((response.message.content, failures(&response.attempts)))
}

pub(crate) fn ask(text: &str) -> ChatRequest {
    ChatRequest::new([Message::user(text)])
}

pub(crate) fn failures(attempts: &[Attempt]) -> Vec<ModelErrorKind> {
    let failed = attempts
        .iter()
        .filter_map(|attempt| attempt.failure.as_ref());
    failed.map(|failure| failure.kind).collect()
}
