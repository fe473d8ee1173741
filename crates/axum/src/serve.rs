use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::Router;
use futures::{FutureExt as _, future::join_all};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    AgentRoutes, Limits, ServedAgent, app_state::AppState, connection::accept, guard::RECHECK,
};

/// The time limit for open connections after everything else has ended.
const LAST: Duration = Duration::from_secs(5);

/// The endpoints that [`serve`] serves: those of one agent, as [`AgentRoutes`], or of an agent for
/// each person, as [`PersonalRoutes`](crate::PersonalRoutes).
pub trait Endpoints: private::Endpoints {}

impl<E: private::Endpoints> Endpoints for E {}

pub(crate) mod private {
    use super::OpenEndpoints;

    pub trait Endpoints {
        /// Opens the endpoints.
        #[doc(hidden)]
        fn opened(self) -> OpenEndpoints;
    }
}

/// Opened endpoints.
#[derive(derive_more::Debug)]
#[doc(hidden)]
#[debug("OpenEndpoints {{ limits: {limits:?}, grace: {grace:?}, .. }}")]
pub struct OpenEndpoints {
    pub(crate) app: Router,
    pub(crate) limits: Limits,
    pub(crate) grace: Duration,
    pub(crate) agents: Arc<OpenAgents>,
}

/// The agents that a server has opened, and the workers that continue their threads.
#[derive(Default)]
pub(crate) struct OpenAgents {
    open: Mutex<Vec<Arc<AppState>>>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

impl OpenAgents {
    /// Adds an agent, which begins to work if it continues threads by itself.
    pub(crate) fn add(&self, app_state: Arc<AppState>, recovers: bool) {
        if recovers {
            let (working, stop) = (app_state.clone(), app_state.closes().boxed());
            let worker = tokio::spawn(async move { working.agent.work(stop).await });
            locked(&self.workers).push(worker);
        }
        locked(&self.open).push(app_state);
    }

    /// Closes one agent, and forgets it. Its open streams get the time in which each of them finds
    /// out whether its caller is still there.
    pub(crate) async fn remove(&self, app_state: &Arc<AppState>, grace: Duration) {
        app_state.hand_over(grace).await;
        tokio::time::sleep(RECHECK * 2).await;
        app_state.end_streams();
        locked(&self.open).retain(|open| !Arc::ptr_eq(open, app_state));
    }

    /// Closes all agents, and returns the number of runs that were given up.
    async fn close(&self, grace: Duration) -> usize {
        let open = locked(&self.open).clone();
        let left = open.iter().map(|app_state| app_state.close(grace));
        join_all(left).await.into_iter().sum()
    }

    async fn workers_end(&self) {
        let workers = std::mem::take(&mut *locked(&self.workers));
        drop(tokio::time::timeout(LAST, join_all(workers)).await);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<A: ServedAgent> private::Endpoints for AgentRoutes<A> {
    fn opened(self) -> OpenEndpoints {
        let (grace, recovers) = (self.grace, self.recovers);
        let (app, app_state) = self.open();
        let (limits, agents) = (app_state.limits.clone(), Arc::new(OpenAgents::default()));
        agents.add(app_state, recovers);
        OpenEndpoints {
            app,
            limits,
            grace,
            agents,
        }
    }
}

/// Serves an agent until `stop` is ready, and then shuts down in order.
///
/// No run begins any more, and new requests get 503 with `Retry-After`; every run that is under way
/// stops after its step and is handed over, which the store records; then streams end, and a client
/// that reconnects finds the thread where it was. A step that takes longer than
/// [`AgentRoutes::grace`] is given up, and begins again where the thread goes on.
///
/// Returns the number of runs that were given up so.
pub async fn serve(
    listener: TcpListener,
    routes: impl Endpoints,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<usize> {
    let OpenEndpoints {
        app,
        limits,
        grace,
        agents,
    } = routes.opened();
    let (closed, mut ended) = tokio::sync::oneshot::channel();
    let closing = {
        let agents = Arc::clone(&agents);
        async move {
            stop.await;
            let left = agents.close(grace).await;
            // The receiver is gone if the server has failed.
            let _ = closed.send(left);
        }
    };
    let server = accept(listener, app, &limits, closing);
    let mut server = std::pin::pin!(server);
    let left = tokio::select! {
        // The server ends after the agents have closed, so the count is there.
        () = &mut server => ended.await.unwrap_or(0),
        left = &mut ended => {
            // A client that reads nothing must not keep the process.
            drop(tokio::time::timeout(LAST, &mut server).await);
            left.unwrap_or(0)
        }
    };
    agents.workers_end().await;
    Ok(left)
}
