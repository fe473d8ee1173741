//! The session with a server: begun at its first use, and begun again after it was lost, with
//! growing pauses.
use std::{sync::Arc, time::Duration};

use rmcp::{
    Peer, RoleClient,
    model::{ServerNotification, SubscriptionFilter},
};
use tokio::{
    sync::{Mutex, watch},
    task::JoinHandle,
    time::{Instant, timeout},
};

use crate::{
    McpError, McpOptions,
    connect::{Connect, RunningServer},
    handler::Handler,
};

/// The longest pause before a server that keeps failing is tried again.
const LONGEST_REST: Duration = Duration::from_secs(60);

pub(crate) struct Link {
    pub(crate) server: String,
    pub(crate) options: Arc<McpOptions>,
    pub(crate) changes: watch::Sender<u64>,
    connect: Box<dyn Connect>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<Arc<Session>>,
    /// The number of failures in a row: lost sessions and failed connections.
    failures: u32,
    not_before: Option<Instant>,
}

/// One session.
pub(crate) struct Session {
    running: RunningServer,
    pub(crate) handler: Handler,
    listener: Option<JoinHandle<()>>,
}

impl Link {
    pub(crate) fn new(server: String, connect: Box<dyn Connect>, options: McpOptions) -> Self {
        Self {
            server,
            options: Arc::new(options),
            changes: watch::Sender::new(0),
            connect,
            state: Mutex::default(),
        }
    }

    /// Returns the current session, or begins a new one.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, McpError> {
        let mut state = self.state.lock().await;
        if let Some(session) = state.session.as_ref().filter(|session| !session.is_over()) {
            return Ok(Arc::clone(session));
        }
        let again = state.session.take().is_some() || state.failures > 0;
        if let Some(wait) = state.rest() {
            let server = self.server.clone();
            return Err(McpError::Resting { server, wait });
        }
        match self.begin().await {
            Ok(session) => {
                state.session = Some(Arc::clone(&session));
                if again {
                    // A restarted server may offer other tools.
                    session.handler.tools_changed();
                }
                Ok(session)
            }
            Err(error) => {
                state.failed();
                Err(error)
            }
        }
    }

    async fn begin(&self) -> Result<Arc<Session>, McpError> {
        let handler = Handler::new(
            &self.server,
            Arc::clone(&self.options),
            self.changes.clone(),
        );
        let limit = self.options.connect_timeout;
        let greeting = self.connect.connect(handler.clone(), self.options.era);
        let running = match timeout(limit, greeting).await {
            Ok(Ok(running)) => running,
            Ok(Err(source)) => {
                let server = self.server.clone();
                return Err(McpError::Unreachable { server, source });
            }
            Err(_) => {
                let server = self.server.clone();
                return Err(McpError::TimedOut { server, limit });
            }
        };
        let listener = listens(&running)
            .then(|| tokio::spawn(listen(running.peer().clone(), handler.clone())));
        Ok(Arc::new(Session {
            running,
            handler,
            listener,
        }))
    }

    /// Records an answer: earlier failures are forgotten.
    pub(crate) async fn worked(&self) {
        let mut state = self.state.lock().await;
        state.failures = 0;
        state.not_before = None;
    }

    /// Records the loss of a session.
    pub(crate) async fn lost(&self, session: &Arc<Session>) {
        let mut state = self.state.lock().await;
        // Of several calls that notice the loss, one counts.
        if state
            .session
            .take_if(|current| Arc::ptr_eq(current, session))
            .is_some()
        {
            state.failed();
        }
    }

    /// Ends the session, if there is one.
    pub(crate) async fn close(&self) {
        let session = self.state.lock().await.session.take();
        if let Some(session) = session {
            session.running.cancellation_token().cancel();
        }
    }
}

impl State {
    fn failed(&mut self) {
        let rest = match self.failures {
            0 => Duration::ZERO,
            n => Duration::from_secs(1 << (n - 1).min(6)).min(LONGEST_REST),
        };
        self.failures += 1;
        self.not_before = Some(Instant::now() + rest);
    }

    fn rest(&self) -> Option<Duration> {
        let wait = self.not_before?.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }
}

impl Session {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.running.peer()
    }

    fn is_over(&self) -> bool {
        self.running.is_closed() || self.peer().is_transport_closed()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

/// Returns true if the server sends changes of the list of tools only to subscribers.
fn listens(running: &RunningServer) -> bool {
    running.peer().peer_info().is_some_and(|info| {
        let tools = info.capabilities.tools.as_ref();
        !info.protocol_version.has_initialize()
            && tools.and_then(|tools| tools.list_changed) == Some(true)
    })
}

async fn listen(peer: Peer<RoleClient>, handler: Handler) {
    let wanted = SubscriptionFilter::builder().tools_list_changed().build();
    let Ok(mut subscription) = peer.listen(wanted).await else {
        return;
    };
    while let Ok(Some(told)) = subscription.next().await {
        if matches!(told, ServerNotification::ToolListChangedNotification(_)) {
            handler.tools_changed();
        }
    }
}
