//! The execution of tasks: one inline, several at once.
use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, LazyLock},
    task::{self, Poll},
    time::Duration,
};

use fugato_state::{Lang, State};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
};
use tracing::Instrument as _;

use crate::{
    BoxError, Context, Node, Outcome, context::Heartbeat, in_place::in_place, route::panic_text,
    scope::AttemptEnd,
};

/// The result of one attempt of a task.
pub(crate) enum Attempt<U> {
    Outcome(Outcome<U>),
    Failed(BoxError),
    Panicked(BoxError),
    /// It took longer than this.
    Late(Duration),
    /// It was silent for this long.
    Silent(Duration),
}

/// Runs one task.
pub(crate) async fn run_one<S: State>(node: &dyn Node<S>, cx: Context<S>) -> Attempt<S::Update> {
    let mut begins = Some(cx);
    let first = poll_fn(|task| match begins.take() {
        Some(cx) => Poll::Ready(begin(node, || cx, task)),
        None => Poll::Pending,
    });
    match first.await {
        Ok(attempt) => attempt,
        Err(running) => running.await,
    }
}

/// Begins one task: calls its node, and polls it once. Returns what goes on if that is not its end.
/// A panic before its future exists is caught too. Texts are in the language of the state meanwhile.
///
/// The context is made where the node takes it: it is large, and most tasks are over at once.
pub(crate) fn begin<'a, S: State>(
    node: &'a dyn Node<S>,
    cx: impl FnOnce() -> Context<S>,
    task: &mut task::Context<'_>,
) -> Result<Attempt<S::Update>, Running<'a, S::Update>> {
    let mut running = None;
    let first = catch_unwind(AssertUnwindSafe(|| {
        let cx = cx();
        let (lang, pulse) = (cx.state().lang(), cx.pulse.clone());
        lang.scope(|| {
            let work = node.run(cx);
            let running = running.insert(Running { lang, pulse, work });
            running.work.as_mut().poll(task)
        })
    }));
    match first {
        Ok(Poll::Ready(end)) => Ok(end.into()),
        Ok(Poll::Pending) => Err(running.expect("what is pending was called")),
        Err(panic) => Ok(Attempt::Panicked(panic_text(&*panic).into())),
    }
}

/// A task that was polled and has not ended.
pub(crate) struct Running<'a, U> {
    lang: Lang,
    pub(crate) pulse: Option<Arc<Heartbeat>>,
    work: BoxFuture<'a, Result<Outcome<U>, BoxError>>,
}

impl<U> Future for Running<'_, U> {
    type Output = Attempt<U>;

    fn poll(mut self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<Attempt<U>> {
        let lang = self.lang;
        let poll = AssertUnwindSafe(|| lang.scope(|| self.work.as_mut().poll(task)));
        match catch_unwind(poll) {
            Ok(poll) => poll.map(Attempt::from),
            Err(panic) => Poll::Ready(Attempt::Panicked(panic_text(&*panic).into())),
        }
    }
}

impl<U> From<Result<Outcome<U>, BoxError>> for Attempt<U> {
    fn from(end: Result<Outcome<U>, BoxError>) -> Self {
        match end {
            Ok(outcome) => Self::Outcome(outcome),
            Err(error) => Self::Failed(error),
        }
    }
}

type Batch = Vec<AttemptEnd>;

/// The tasks of a run that run at the same time. Dropping it stops them.
#[derive(Default)]
pub(crate) struct Tasks {
    pool: Option<Pool>,
    /// The number of tasks that have not ended.
    open: usize,
}

struct Pool {
    running: JoinSet<()>,
    sender: UnboundedSender<Batch>,
    results: UnboundedReceiver<Batch>,
}

/// The number of cores, cached because determining it reads files.
static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// The number of tasks for each core above which tasks share a spawn.
const SPAWNED_PER_CORE: usize = 4;
/// The number of tasks that share a spawn.
const CHUNK: usize = 16;

impl Tasks {
    pub(crate) fn start(&mut self, ready: Vec<BoxFuture<'static, AttemptEnd>>, hands_over: bool) {
        let pool = self.pool.get_or_insert_with(|| {
            let (sender, results) = unbounded_channel();
            Pool {
                running: JoinSet::new(),
                sender,
                results,
            }
        });
        self.open += ready.len();
        let cores = *CORES;
        let many = ready.len() > SPAWNED_PER_CORE * cores;
        let chunk = if many { CHUNK } else { 1 };
        let mut ready = ready.into_iter();
        loop {
            let chunk: Vec<_> = ready.by_ref().take(chunk).collect();
            if chunk.is_empty() {
                break;
            }
            let work = run_chunk(chunk, pool.sender.clone());
            let work = in_place(hands_over, work).in_current_span();
            pool.running.spawn(work);
        }
    }

    /// Returns the next outcomes, as many as there are; none if a task died outside of its future.
    pub(crate) async fn next(&mut self) -> Option<Batch> {
        let pool = self.pool.as_mut()?;
        let mut batch = loop {
            tokio::select! {
                biased;
                batch = pool.results.recv() => break batch?,
                Some(ended) = pool.running.join_next() => if ended.is_err() {
                    return None;
                },
            }
        };
        while let Ok(more) = pool.results.try_recv() {
            batch.extend(more);
        }
        self.open = self.open.saturating_sub(batch.len());
        Some(batch)
    }

    /// Returns true if all tasks have ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// Stops counting a task that will never end.
    pub(crate) fn abandon(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// Stops all tasks.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

async fn run_chunk(chunk: Vec<BoxFuture<'static, AttemptEnd>>, sender: UnboundedSender<Batch>) {
    let mut done = Vec::with_capacity(chunk.len());
    let mut pending = FuturesUnordered::new();
    for mut task in chunk {
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
