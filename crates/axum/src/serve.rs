use std::{io, sync::Arc, time::Duration};

use futures::FutureExt as _;
use tokio::net::TcpListener;

use crate::{Agent, AgentRoutes, connection::accept};

/// The time limit for open connections after everything else has ended.
const LAST: Duration = Duration::from_secs(5);

/// Serves an agent until `stop` is ready, and then shuts down in order.
///
/// No run begins any more, and new requests get 503 with `Retry-After`; every run that is under way
/// stops after its step and is handed over, which the store records; then streams end, and a client
/// that reconnects finds the thread where it was. A step that takes longer than
/// [`AgentRoutes::grace`] is given up, and begins again where the thread goes on.
///
/// Returns the number of runs that were given up so.
pub async fn serve<A: Agent>(
    listener: TcpListener,
    routes: AgentRoutes<A>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<usize> {
    let (grace, recovers) = (routes.grace, routes.recovers);
    let (app, office) = routes.open();
    let worker = recovers.then(|| {
        let (office, stop) = (office.clone(), office.closes().boxed());
        tokio::spawn(async move { office.agent.work(stop).await })
    });
    let (closed, mut ended) = tokio::sync::oneshot::channel();
    let closing = {
        let office = Arc::clone(&office);
        async move {
            stop.await;
            let left = office.close(grace).await;
            // The receiver is gone if the server has failed.
            let _ = closed.send(left);
        }
    };
    let server = accept(listener, app, &office.limits, closing);
    let mut server = std::pin::pin!(server);
    let left = tokio::select! {
        // The server ends after the office has closed, so the count is there.
        () = &mut server => ended.await.unwrap_or(0),
        left = &mut ended => {
            // A client that reads nothing must not keep the process.
            drop(tokio::time::timeout(LAST, &mut server).await);
            left.unwrap_or(0)
        }
    };
    if let Some(worker) = worker {
        drop(tokio::time::timeout(LAST, worker).await);
    }
    Ok(left)
}
