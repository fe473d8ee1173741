use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use fugato_state::{Interrupt, Millis, State};
use fugato_stream::Event;
use futures::{FutureExt, Stream, StreamExt, future::BoxFuture};
use serde_json::Value;
use tokio::task::{AbortHandle, JoinHandle};

use crate::{Events, RunError, RunErrorKind};

/// The result of a run that came to rest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunResult<S> {
    /// The graph ended.
    Finished {
        /// The state at the end.
        state: Arc<S>,
        /// The graph's output, if it declares one.
        output: Option<Value>,
    },
    /// A task is tried again later, and this process does not wait for that.
    Scheduled {
        /// The state so far.
        state: Arc<S>,
        /// The time of the next try, in milliseconds of the store's clock.
        until: Millis,
    },
    /// The state was amended. No run is under way: the last one failed or was cancelled.
    Amended {
        /// The state.
        state: Arc<S>,
    },
    /// Nothing can go on until questions are answered.
    Interrupted {
        /// The state so far.
        state: Arc<S>,
        /// The questions.
        interrupts: Vec<Interrupt>,
        /// The saved run, machine and state as versioned JSON, if there is no log; none if there is
        /// one.
        saved: Option<Vec<u8>>,
    },
}

impl<S> RunResult<S> {
    /// Creates the result of a thread that waits in its log, from
    /// [`Runner::status`](crate::Runner::status).
    pub fn parked(state: Arc<S>, interrupts: Vec<Interrupt>) -> Self {
        Self::Interrupted {
            state,
            interrupts,
            saved: None,
        }
    }

    /// Returns the state.
    pub fn state(&self) -> &S {
        match self {
            Self::Finished { state, .. }
            | Self::Amended { state }
            | Self::Interrupted { state, .. }
            | Self::Scheduled { state, .. } => state,
        }
    }

    /// Returns the open questions.
    pub fn interrupts(&self) -> &[Interrupt] {
        match self {
            Self::Finished { .. } | Self::Scheduled { .. } | Self::Amended { .. } => &[],
            Self::Interrupted { interrupts, .. } => interrupts,
        }
    }
}

/// A run under way: a stream of its events, and a future of its end.
///
/// Dropping it detaches; the run goes on.
#[derive(derive_more::Debug)]
#[debug("Run {{ .. }}")]
pub struct Run<S: State> {
    events: Events,
    end: JoinHandle<Result<RunResult<S>, RunError>>,
}

impl<S: State> Run<S> {
    pub(crate) fn new(events: Events, end: JoinHandle<Result<RunResult<S>, RunError>>) -> Self {
        Self { events, end }
    }
}

impl<S: State> Run<S> {
    /// Splits the run into its events and its end, for separate consumers.
    pub fn split(self) -> (Events, BoxFuture<'static, Result<RunResult<S>, RunError>>) {
        (self.events, awaited(self.end))
    }

    pub(crate) fn abort_handle(&self) -> AbortHandle {
        self.end.abort_handle()
    }
}

impl<S: State> Stream for Run<S> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.events.poll_next_unpin(cx)
    }
}

impl<S: State> IntoFuture for Run<S> {
    type Output = Result<RunResult<S>, RunError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        // The events are dropped first: a run that is only awaited makes none.
        drop(self.events);
        awaited(self.end)
    }
}

fn awaited<S: State>(
    end: JoinHandle<Result<RunResult<S>, RunError>>,
) -> BoxFuture<'static, Result<RunResult<S>, RunError>> {
    async move {
        end.await
            .unwrap_or_else(|error| Err(RunError::new(RunErrorKind::Unfinished).because(error)))
    }
    .boxed()
}
