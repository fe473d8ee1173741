use async_trait::async_trait;
use fugato_llm::{ApiKey, ChatModel, ChatRequest, DeltaStream, ModelError, RetryAdvice, endpoint};
use reqwest::{Client, header::ACCEPT};
use serde_json::{Map, Value};

use super::{EventDecoder, failure, wire};
use crate::http;

const VERSION: &str = "2023-06-01";
const PATH: &str = "/messages";

/// A model behind a server that speaks the messages protocol.
///
/// # Notes
/// - The client does not retry; wrap it in [`Retry`](fugato_llm::Retry) and other decorators.
/// - [`ChatRequest::timeout`] limits the whole exchange.
///
/// # Cancellation safety
/// Dropping the stream, or the future that begins it, closes the connection.
#[derive(Debug, Clone)]
pub struct Anthropic {
    http: Client,
    url: String,
    key: Option<ApiKey>,
    pub(crate) model: String,
    pub(crate) max_tokens: u32,
    pub(crate) thinking: ThinkingMode,
    pub(crate) structured: bool,
    pub(crate) extra: Map<String, Value>,
}

/// The mode of thinking for requests with [`Thinking::On`](fugato_llm::Thinking::On).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingMode {
    /// Thinking with at most so many tokens, in addition to those of the answer; at least 1,024.
    Budget(u32),
    /// Thinking of a length that the model chooses, for models that support it.
    Adaptive,
}

impl Anthropic {
    /// Creates a client of the model with this name at `https://api.anthropic.com`.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            http: http::client(),
            url: endpoint("https://api.anthropic.com", PATH),
            key: None,
            model: model.into(),
            max_tokens: 4096,
            thinking: ThinkingMode::Budget(4096),
            structured: false,
            extra: Map::new(),
        }
    }

    fugato_state::setters! {
        /// Sets another server; a base without a path gets `/v1`.
        pub fn base_url(base_url: &str) { url = endpoint(base_url, PATH) }

        /// Sets the key with which the client authenticates.
        pub fn key(key: ApiKey) { key = Some(key) }

        /// Sets the HTTP client, for proxies, own certificates and the like.
        pub fn http(client: Client) { http = client }

        /// Sets the longest answer for requests without a limit, in tokens; 4,096 by default.
        pub fn max_tokens(tokens: u32) { max_tokens = tokens }

        /// Sets the mode of thinking; a budget of 4,096 tokens by default.
        pub fn thinking_mode(mode: ThinkingMode) { thinking = mode }

        /// Sets whether the server enforces schemas of answers; off by default, because not every
        /// model supports it.
        ///
        /// Without it the schema of a [`Contract`](fugato_llm::Contract) has to be described in the
        /// prompt.
        pub fn structured(supported: bool) { structured = supported }

        /// Adds a field to the body of every request.
        pub fn extra(field: impl Into<String>, value: impl Into<Value>) {
            extra.insert(field.into(), value.into())
        }
    }
}

#[async_trait]
impl ChatModel for Anthropic {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let mut call = self
            .http
            .post(&self.url)
            .header(ACCEPT, "text/event-stream")
            .header("anthropic-version", VERSION)
            .json(&wire::body(self, &request));
        if let Some(key) = &self.key {
            call = call.header("x-api-key", http::secret(key.reveal())?);
        }
        let response = http::send(call, request.timeout).await?;
        tracing::debug!(
            target: "fugato.anthropic",
            model = self.model,
            status = response.status().as_u16(),
            "model_response"
        );
        let retry = response.headers().get("x-should-retry");
        let is_hopeless = retry.is_some_and(|retry| retry == "false");
        let key = self.key.as_ref();
        let classify = |status, error: &Value| failure::classified(Some(status), error, key);
        let response = match http::checked(response, classify).await {
            Err(error) if is_hopeless => return Err(error.advice(RetryAdvice::Never)),
            checked => checked?,
        };
        Ok(http::deltas(response, EventDecoder::new(self.key.clone())))
    }

    fn name(&self) -> &str {
        &self.model
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_without_a_path_gets_the_usual_one() {
        for (base, expected) in [
            ("http://localhost:80", "http://localhost:80/v1/messages"),
            ("https://a.example/v1/", "https://a.example/v1/messages"),
            ("https://a.example/api", "https://a.example/api/messages"),
            (
                "https://a.example/v1/messages",
                "https://a.example/v1/messages",
            ),
        ] {
            assert_eq!(endpoint(base, PATH), expected);
        }
    }
}
