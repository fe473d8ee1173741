use std::sync::Arc;

use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};

use super::ToolServer;

/// A tower service over HTTP, to be nested in a router of any framework.
///
/// The type is that of `rmcp`, so that its major version is part of this crate's.
pub type ToolHttpService<S = (), U = ()> =
    StreamableHttpService<ToolServer<S, U>, LocalSessionManager>;

/// The access rules of a server over HTTP. By default: programs and pages of this machine that use
/// one of its own names, so that no foreign page reaches it by another name.
#[derive(Debug, Clone, Default)]
pub struct HttpServing {
    hosts: Option<Vec<String>>,
    origins: Option<Vec<String>>,
}

const OWN_PAGES: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

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
            .with_allowed_origins(serving.origins.unwrap_or_else(own))
            .enforce_origin_validation();
        if let Some(hosts) = serving.hosts {
            config = config.with_allowed_hosts(hosts);
        }
        let server = self.clone();
        StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        )
    }
}
