use std::{io, sync::Arc, time::Duration};

use futures::FutureExt as _;
use tokio::net::TcpListener;

use crate::{Agent, AgentRoutes, connection::accept};

/// How long connections may take to end when everything else has.
const LAST: Duration = Duration::from_secs(5);

/// Serves an agent until `stop` is ready, and then ends in peace.
///
/// No run begins any more, and requests are told to come again; every run that is under way stops
/// after its step and is left to others, with the store knowing so; then streams end, and clients
/// that come back find the thread where they left it. A step that takes longer than
/// [`AgentRoutes::grace`] is given up, and begins again where the thread goes on.
///
/// Returns how many runs were given up so.
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
            // Nobody waits for it if the server has failed.
            let _ = closed.send(left);
        }
    };
    let server = accept(listener, app, &office.limits, closing);
    let mut server = std::pin::pin!(server);
    let left = tokio::select! {
        // It ends in peace only after the office has closed.
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
