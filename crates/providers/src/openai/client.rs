use std::time::Duration;

use async_trait::async_trait;
use fugato_llm::{ApiKey, ChatModel, ChatRequest, DeltaStream, ModelError, endpoint};
use reqwest::{
    Client, RequestBuilder, Response,
    header::{ACCEPT, AUTHORIZATION},
};
use serde_json::{Map, Value};

use super::{ChunkDecoder, failure, wire};
use crate::http;

/// A model behind a server that speaks the chat completions protocol.
///
/// # Notes
/// - The client does not retry; wrap it in [`Retry`](fugato_llm::Retry) and other decorators.
/// - [`ChatRequest::timeout`] limits the whole exchange.
///
/// # Cancellation safety
/// Dropping the stream, or the future that begins it, closes the connection.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Client,
    url: String,
    key: Option<ApiKey>,
    pub(crate) model: String,
    pub(crate) usage: bool,
    pub(crate) thinking: ThinkingField,
    pub(crate) max_tokens_field: String,
    pub(crate) extra: Map<String, Value>,
}

/// The field that controls whether a model thinks; servers have no common one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ThinkingField {
    /// No field; the default of the server applies.
    #[default]
    Unsaid,
    /// `"reasoning_effort": "medium"` or `"minimal"`.
    ReasoningEffort,
    /// `"enable_thinking": true`.
    EnableThinking,
    /// `"chat_template_kwargs": {"enable_thinking": true}`.
    ChatTemplate,
    /// `"thinking": {"type": "enabled"}`.
    Typed,
}

impl OpenAi {
    /// Creates a client of the model with this name behind `base_url`.
    ///
    /// A base without a path, such as `http://localhost:8080`, gets `/v1`. Any other base is used
    /// unchanged: `https://example.org/v1`, `https://example.org/api/v3`.
    pub fn new(base_url: &str, model: impl Into<String>) -> Self {
        Self {
            http: http::client(),
            url: endpoint(base_url, "/chat/completions"),
            key: None,
            model: model.into(),
            usage: true,
            thinking: ThinkingField::default(),
            max_tokens_field: "max_tokens".to_owned(),
            extra: Map::new(),
        }
    }

    fugato_state::setters! {
        /// Sets the key with which the client authenticates.
        pub fn key(key: ApiKey) { key = Some(key) }

        /// Sets the HTTP client, for proxies, own certificates and the like.
        pub fn http(client: Client) { http = client }

        /// Sets whether to request the usage of an answer; on by default, and unknown to some old
        /// servers.
        pub fn usage(wanted: bool) { usage = wanted }

        /// Sets the field that controls whether the model thinks.
        pub fn thinking_field(field: ThinkingField) { thinking = field }

        /// Sets the name of the field for the longest answer; `max_tokens` by default.
        pub fn max_tokens_field(field: impl Into<String>) { max_tokens_field = field.into() }

        /// Adds a field to the body of every request.
        pub fn extra(field: impl Into<String>, value: impl Into<Value>) {
            extra.insert(field.into(), value.into())
        }
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let body = wire::body(self, &request);
        let call = self
            .http
            .post(&self.url)
            .header(ACCEPT, "text/event-stream");
        let key = self.key.as_ref();
        let response = send(call.json(&body), key, &self.model, request.timeout).await?;
        Ok(http::deltas(response, ChunkDecoder::new(self.key.clone())))
    }

    fn name(&self) -> &str {
        &self.model
    }
}

/// Makes a call with the key, and returns its response, or the error that it tells.
pub(super) async fn send(
    mut call: RequestBuilder,
    key: Option<&ApiKey>,
    model: &str,
    limit: Option<Duration>,
) -> Result<Response, ModelError> {
    if let Some(key) = key {
        let bearer = http::secret(&format!("Bearer {}", key.reveal()))?;
        call = call.header(AUTHORIZATION, bearer);
    }
    let response = http::send(call, limit).await?;
    tracing::debug!(
        target: "fugato.openai",
        model,
        status = response.status().as_u16(),
        "model_response"
    );
    let classify = |status, error: &Value| failure::classified(Some(status), error, key);
    http::checked(response, classify).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_without_a_path_gets_the_usual_one() {
        for (base, expected) in [
            (
                "http://localhost:8080",
                "http://localhost:8080/v1/chat/completions",
            ),
            (
                "http://localhost:8080/",
                "http://localhost:8080/v1/chat/completions",
            ),
            (
                "https://a.example/v1/",
                "https://a.example/v1/chat/completions",
            ),
            (
                "https://a.example/api/v3",
                "https://a.example/api/v3/chat/completions",
            ),
            (
                "https://a.example/v1/chat/completions",
                "https://a.example/v1/chat/completions",
            ),
        ] {
            assert_eq!(endpoint(base, "/chat/completions"), expected);
        }
    }
}
