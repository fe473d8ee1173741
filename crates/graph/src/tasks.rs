//! Running the tasks of a step: one inline, several at once.
use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Poll, ready},
};

use fugato_state::State;
use futures::{FutureExt, StreamExt, future::CatchUnwind, stream::FuturesUnordered};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{BoxError, Context, Node, Outcome, route::panic_text};

/// What came out of one attempt of a task.
pub(crate) enum Attempt<U> {
    Outcome(Outcome<U>),
    Failed(BoxError),
    Panicked(BoxError),
}

type Called<U> = Result<Outcome<U>, BoxError>;

/// Runs one task where the caller is.
pub(crate) async fn run_one<S: State>(node: &dyn Node<S>, cx: Context<S>) -> Attempt<S::Update> {
    attempt(AssertUnwindSafe(called(node, cx)).catch_unwind().await)
}

/// Calls the node when polled, so that a panic before its future exists is caught too.
async fn called<S: State>(node: &dyn Node<S>, cx: Context<S>) -> Called<S::Update> {
    node.run(cx).await
}

fn attempt<U>(called: Result<Called<U>, Box<dyn std::any::Any + Send>>) -> Attempt<U> {
    match called {
        Ok(Ok(outcome)) => Attempt::Outcome(outcome),
        Ok(Err(error)) => Attempt::Failed(error),
        Err(panic) => Attempt::Panicked(panic_text(&*panic).into()),
    }
}

/// A task that is ready to run: its position in the frontier, its node, and what it is given.
pub(crate) type Ready<S> = (usize, Arc<dyn Node<S>>, Context<S>);

type Batch<U> = Vec<(usize, Attempt<U>)>;

/// The tasks of a step that run at the same time. Dropping it stops them.
pub(crate) struct Tasks<S: State> {
    running: JoinSet<()>,
    results: mpsc::UnboundedReceiver<Batch<S::Update>>,
}

/// Above this many tasks for each core, a task is not worth a spawn of its own.
const SPAWNED_PER_CORE: usize = 4;
/// How many tasks share a spawn then.
const CHUNK: usize = 16;

impl<S: State> Tasks<S> {
    pub(crate) fn start(ready: Vec<Ready<S>>) -> Self {
        let (sender, results) = mpsc::unbounded_channel();
        let mut running = JoinSet::new();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let chunk = if ready.len() > SPAWNED_PER_CORE * cores {
            CHUNK
        } else {
            1
        };
        let mut ready = ready.into_iter();
        loop {
            let chunk: Vec<_> = ready.by_ref().take(chunk).collect();
            if chunk.is_empty() {
                break;
            }
            running.spawn(run_chunk::<S>(chunk, sender.clone()));
        }
        Self { running, results }
    }

    /// The next outcomes, as many as there are.
    pub(crate) async fn next(&mut self) -> Batch<S::Update> {
        let mut batch = self.results.recv().await.unwrap_or_default();
        while let Ok(more) = self.results.try_recv() {
            batch.extend(more);
        }
        batch
    }
}

impl<S: State> Drop for Tasks<S> {
    fn drop(&mut self) {
        self.running.abort_all();
    }
}

async fn run_chunk<S: State>(
    chunk: Vec<Ready<S>>,
    sender: mpsc::UnboundedSender<Batch<S::Update>>,
) {
    // Nodes come first: they must outlive their futures, which borrow them.
    let nodes: Vec<_> = chunk.iter().map(|(_, node, _)| node.clone()).collect();
    let mut done = Vec::with_capacity(chunk.len());
    let mut pending = FuturesUnordered::new();
    for ((position, _, cx), node) in chunk.into_iter().zip(&nodes) {
        // A node written by hand may panic before its future exists.
        let called = catch_unwind(AssertUnwindSafe(|| node.run(cx)));
        let called = match called {
            Ok(called) => AssertUnwindSafe(called).catch_unwind(),
            Err(panic) => {
                done.push((position, attempt(Err(panic))));
                continue;
            }
        };
        let mut task = Running { position, called };
        match futures::poll!(&mut task) {
            Poll::Ready(result) => done.push(result),
            Poll::Pending => pending.push(task),
        }
    }
    loop {
        if !done.is_empty() && sender.send(std::mem::take(&mut done)).is_err() {
            return;
        }
        match pending.next().await {
            Some(result) => done.push(result),
            None => return,
        }
        while let Some(Some(result)) = pending.next().now_or_never() {
            done.push(result);
        }
    }
}

type Boxed<'a, U> = Pin<Box<dyn Future<Output = Called<U>> + Send + 'a>>;

struct Running<'a, U> {
    position: usize,
    called: CatchUnwind<AssertUnwindSafe<Boxed<'a, U>>>,
}

impl<U> Future for Running<'_, U> {
    type Output = (usize, Attempt<U>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let called = ready!(self.called.poll_unpin(cx));
        Poll::Ready((self.position, attempt(called)))
    }
}
