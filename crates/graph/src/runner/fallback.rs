//! The fallback of a runner: another run goes on in the place of one that has failed.
use std::sync::Arc;

use async_trait::async_trait;
use fugato_state::{RunId, State, ThreadId};
use fugato_stream::{EventKind, Hub};
use futures::StreamExt as _;

use super::{Runner, RunnerInner};
use crate::{Run, RunError, RunErrorKind, RunResult, request::Request};

/// A fallback of a runner, set by [`Runner::fallback`]: it goes on with a thread whose run has
/// failed.
///
/// The requester gets the events of both runs as those of one, without the failure, and the end of
/// the second. Another reader of the log finds both.
///
/// *Contract*
/// - **of the graph**: only a failure of the graph comes here. A thread that is busy, waiting or
///   cancelled, and a store that is down, are errors of the request as ever.
/// - **once**: the failure of the run that takes over is the end of the request.
/// - **at home**: an answer, a retry or a recovery that the graph refuses, because the thread rests
///   in a node of another one, goes to the [`backup`](Self::backup).
#[async_trait]
pub trait RunFallback<S: State>: Send + Sync {
    /// Begins the run that takes the place of one of `main` that has failed with this error, or
    /// returns the error that stands.
    async fn take_over(
        &self,
        main: &Runner<S>,
        thread: &ThreadId,
        error: RunError,
    ) -> Result<Run<S>, RunError>;

    /// Returns the runner of the threads that rest in the graph of the fallback; none by default.
    fn backup(&self) -> Option<&Runner<S>> {
        None
    }
}

impl<S: State> RunnerInner<S> {
    /// Returns the runner that carries a request out which this graph refuses, if there is one.
    pub(super) fn elsewhere(
        &self,
        error: &RunError,
        again: Option<Request<S::Update>>,
    ) -> Option<(&Runner<S>, Request<S::Update>)> {
        let is_of_other = matches!(error.kind, RunErrorKind::GraphChanged { .. });
        let backup = self.fallback.as_ref()?.backup();
        backup.zip(again).filter(|_| is_of_other)
    }

    /// Lets the fallback go on if a run has failed, and tells its readers of the failure if it does
    /// not.
    pub(super) async fn stood_in(
        self: Arc<Self>,
        thread: &ThreadId,
        run: RunId,
        ended: Result<RunResult<S>, RunError>,
        hub: &Hub,
    ) -> Result<RunResult<S>, RunError> {
        let (Some(fallback), Err(error)) = (self.fallback.clone(), &ended) else {
            return ended;
        };
        let mut stands = error.clone();
        if error.kind.is_failure() {
            let main = Runner {
                inner: self.clone(),
            };
            match fallback.take_over(&main, thread, error.clone()).await {
                Ok(backup) => return relayed(backup, Some(run), hub).await,
                Err(error) => stands = error,
            }
        }
        // The failure is in the log, and was not sent.
        if let Ok(Some(head)) = self.log.head(thread).await {
            hub.skip(head.seq);
        }
        Err(stands)
    }
}

/// Hands the events of a run to the readers of another one, and returns its end. With `first`, they
/// are shown as events of that run.
pub(super) async fn relayed<S: State>(
    run: Run<S>,
    first: Option<RunId>,
    hub: &Hub,
) -> Result<RunResult<S>, RunError> {
    let (mut events, end) = run.split();
    while let Some(mut event) = events.next().await {
        if let Some(first) = first {
            if matches!(event.kind, EventKind::RunStarted { .. }) {
                continue;
            }
            event.run = first;
        }
        hub.send(event);
    }
    end.await
}
