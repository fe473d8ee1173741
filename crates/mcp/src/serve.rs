mod confirm;
mod handler;
mod host;
#[cfg(feature = "http-server")]
mod http;

use std::sync::{Arc, Mutex, PoisonError};

use fugato_tool::{GateChain, Registry};
use rmcp::{
    ServiceExt,
    model::{Implementation, ServerCapabilities, ServerConfig, ToolsCapability},
};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, watch},
    task::JoinHandle,
};

use confirm::UsedAnswers;
pub use host::{Stateless, ToolHost, View};
#[cfg(feature = "http-server")]
pub use http::{HttpServing, ToolHttpService};

/// An MCP server of our tools. Cheap to clone; the clones share host and gates.
///
/// A client sees the visible tools, and cannot call others. A call passes the gates first: one that
/// needs confirmation is put to the person through the client, and refused if the client cannot
/// ask.
///
/// The person's answer comes from the client, so the confirmation is as trustworthy as the client.
/// For an untrusted client, use a gate that blocks.
#[derive(derive_more::Debug)]
#[debug(
    "ToolServer {{ name: {:?}, registry: {registry:?}, gates: {gates:?}, .. }}",
    self.config.server_info.name
)]
pub struct ToolServer<S = (), U = ()> {
    registry: Registry<S, U>,
    host: Arc<dyn ToolHost<S, U>>,
    gates: Arc<GateChain<S>>,
    config: ServerConfig,
    used: Arc<UsedAnswers>,
    /// The number of changes of the visible tools.
    changes: watch::Sender<u64>,
    /// The notifier of this clone's client, if it has one.
    teller: ChangeNotifier,
    /// The room for calls of this clone's client.
    room: Semaphore,
}

/// The most calls of one client that are under way at once: each may wait for a person.
const MOST_CALLS: usize = 256;

/// The task that notifies a client of changes. It ends with the session.
#[derive(Default)]
struct ChangeNotifier(Mutex<Option<JoinHandle<()>>>);

impl ChangeNotifier {
    fn set(&self, task: JoinHandle<()>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(earlier) = held.replace(task) {
            earlier.abort();
        }
    }
}

impl Drop for ChangeNotifier {
    fn drop(&mut self) {
        let held = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = held.take() {
            task.abort();
        }
    }
}

impl<S, U> ToolServer<S, U>
where
    S: Send + Sync + 'static,
    U: Send + 'static,
{
    /// Creates a server of this name, with no gates.
    pub fn new(
        name: impl Into<String>,
        registry: Registry<S, U>,
        host: impl ToolHost<S, U> + 'static,
    ) -> Self {
        let mut offered = ServerCapabilities::default();
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        offered.tools = Some(tools);
        let mut config = ServerConfig::new(offered);
        config.server_info = Implementation::new(name, env!("CARGO_PKG_VERSION"));
        Self {
            registry,
            host: Arc::new(host),
            gates: Arc::new(GateChain::new()),
            config,
            used: Arc::default(),
            changes: watch::Sender::new(0),
            teller: ChangeNotifier::default(),
            room: Semaphore::new(MOST_CALLS),
        }
    }

    fugato_state::setters! {
        /// Sets the gates that every call has to pass.
        pub fn gates(gates: GateChain<S>) { gates = Arc::new(gates) }

        /// Sets the program's version that clients see.
        pub fn version(version: impl Into<String>) { config.server_info.version = version.into() }

        /// Sets the instructions for clients about using the tools.
        pub fn instructions(text: impl Into<String>) { config.instructions = Some(text.into()) }
    }

    /// Notifies clients that other tools are visible now. Changes by the calls of clients are
    /// notified automatically.
    pub fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Serves one client at the other end of a stream of bytes, until it ends.
    pub async fn serve<T>(&self, stream: T) -> Result<(), ServeError>
    where
        T: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (read, write) = tokio::io::split(stream);
        self.serve_pair(read, write).await
    }

    /// Serves the program that started this one, until it ends. Nothing else may write to the
    /// standard output.
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        self.serve_pair(tokio::io::stdin(), tokio::io::stdout())
            .await
    }

    async fn serve_pair<R, W>(&self, read: R, write: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| ServeError(source);
        let service = ServiceExt::serve(self.clone(), (read, write));
        let running = service.await.map_err(|error| failed(error.into()))?;
        running
            .waiting()
            .await
            .map_err(|error| failed(error.into()))?;
        Ok(())
    }
}

/// The error of a client that could not be served.
#[derive(Debug, Error)]
#[error("the client could not be served")]
pub struct ServeError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl<S, U> Clone for ToolServer<S, U> {
    fn clone(&self) -> Self {
        Self {
            registry: self.registry.clone(),
            host: Arc::clone(&self.host),
            gates: Arc::clone(&self.gates),
            config: self.config.clone(),
            used: Arc::clone(&self.used),
            changes: self.changes.clone(),
            teller: ChangeNotifier::default(),
            room: Semaphore::new(MOST_CALLS),
        }
    }
}
