use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    McpError, McpOptions, McpTools, ServerProgram,
    connect::{Connect, Custom},
    link::Link,
    listing,
};

/// A server whose tools are offered as our own. Cheap to clone; the clones share one session.
///
/// It is connected at its first use. If it is lost, the next call connects again: at once the first
/// time, then after a second, two, four, and at most a minute. A call itself is never repeated.
#[derive(derive_more::Debug, Clone)]
#[debug("McpServer {{ name: {:?}, options: {:?}, .. }}", self.link.server, self.link.options)]
pub struct McpServer {
    pub(crate) link: Arc<Link>,
    listed: Arc<AtomicU64>,
}

impl McpServer {
    /// Creates a server that is a program.
    pub fn stdio(name: impl Into<String>, program: ServerProgram, options: McpOptions) -> Self {
        Self::new(name, Box::new(program), options)
    }

    /// Creates a server behind an URL.
    #[cfg(feature = "http")]
    pub fn http(
        name: impl Into<String>,
        url: impl Into<String>,
        http: crate::HttpOptions,
        options: McpOptions,
    ) -> Self {
        let way = crate::url::Url {
            url: url.into(),
            options: http,
        };
        Self::new(name, Box::new(way), options)
    }

    /// Creates a server at the other end of a stream of bytes, which `open` opens for each
    /// connection.
    pub fn stream<F, A, S>(name: impl Into<String>, open: F, options: McpOptions) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        Self::new(name, Box::new(Custom::new(open)), options)
    }

    fn new(name: impl Into<String>, connect: Box<dyn Connect>, options: McpOptions) -> Self {
        Self {
            link: Arc::new(Link::new(name.into(), connect, options)),
            listed: Arc::default(),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.link.server
    }

    /// Requests the list of tools, and connects if needed.
    pub async fn tools(&self) -> Result<McpTools, McpError> {
        // A change while the list is read counts as a change after it.
        let session = self.link.session().await?;
        let version = *self.link.changes.borrow();
        let tools = listing::list(self, &session).await?;
        self.listed.store(version, Ordering::Relaxed);
        Ok(tools)
    }

    /// Waits until the tools may differ from those that were listed last: the server has notified a
    /// change, or was connected again. A registry does not change, so a new one is built then.
    pub async fn changed(&self) {
        let mut changes = self.link.changes.subscribe();
        let listed = self.listed.load(Ordering::Relaxed);
        // The sender lives as long as `self`, so that waiting cannot fail.
        let _ = changes.wait_for(|version| *version != listed).await;
    }

    /// Ends the session. A server that is a program ends, too. The next call connects again.
    pub async fn close(&self) {
        self.link.close().await;
    }
}
