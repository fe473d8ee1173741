use std::collections::HashMap;

use async_trait::async_trait;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::{
    StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
};

use crate::{
    Era,
    connect::{BoxError, Connect, RunningServer, greet},
    handler::Handler,
};

/// The HTTP options of a server behind an URL.
///
/// The program handles authentication itself: it passes a token, or an HTTP client that has one.
///
/// ```
/// use fugato_mcp::HttpOptions;
///
/// let options = HttpOptions::new().bearer("a secret").header("x-tenant", "desk");
/// assert!(!format!("{options:?}").contains("secret"));
/// ```
#[derive(derive_more::Debug, Clone, Default)]
#[debug(
    "HttpOptions {{ client: {:?}, bearer: {:?}, headers: {:?} }}",
    self.client.is_some(),
    self.bearer.is_some(),
    self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>()
)]
pub struct HttpOptions {
    client: Option<reqwest::Client>,
    bearer: Option<String>,
    headers: Vec<(String, String)>,
}

impl HttpOptions {
    /// Creates options without a token and further headers, with a client that follows no redirect.
    pub fn new() -> Self {
        Self::default()
    }

    fugato_state::setters! {
        /// Sets the token that is sent with every request.
        pub fn bearer(token: impl Into<String>) { bearer = Some(token.into()) }

        /// Adds a header to every request.
        pub fn header(name: impl Into<String>, value: impl Into<String>) {
            headers.push((name.into(), value.into()))
        }

        /// Uses this HTTP client, with its proxies, certificates and redirects.
        pub fn client(client: reqwest::Client) { client = Some(client) }
    }
}

pub(crate) struct Url {
    pub(crate) url: String,
    pub(crate) options: HttpOptions,
}

impl Url {
    fn config(&self) -> Result<StreamableHttpClientTransportConfig, BoxError> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str())
            .custom_headers(self.headers()?)
            .reinit_on_expired_session(true);
        if let Some(token) = &self.options.bearer {
            config = config.auth_header(token);
        }
        Ok(config)
    }

    fn headers(&self) -> Result<HashMap<HeaderName, HeaderValue>, BoxError> {
        let headers = self.options.headers.iter();
        let parsed = headers.map(|(name, value)| {
            let mut value = HeaderValue::from_str(value)?;
            value.set_sensitive(true);
            Ok((HeaderName::from_bytes(name.as_bytes())?, value))
        });
        parsed.collect()
    }
}

#[async_trait]
impl Connect for Url {
    async fn connect(&self, handler: Handler, era: Era) -> Result<RunningServer, BoxError> {
        #[cfg(feature = "tls")]
        {
            // An error means that the application has set a provider.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let config = self.config()?;
        let transport = match &self.options.client {
            Some(client) => StreamableHttpClientTransport::with_client(client.clone(), config),
            None => StreamableHttpClientTransport::from_config(config),
        };
        greet(transport, handler, era).await
    }
}
