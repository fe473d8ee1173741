use std::{future::Future, time::Duration};

use fugato_state::State;
use fugato_store::Lease;
use futures::{StreamExt, stream::FuturesUnordered};
use tokio::task::AbortHandle;

use crate::{
    IntoUpdates, RunError, RunErrorKind, RunResult, Runner,
    request::{Request, StartMode},
};

/// A worker that runs the threads of a log that can go on. Several workers, in one process or many,
/// share the work of one log.
///
/// A worker claims threads that can run, whose retry is due, or whose question has expired. If it
/// dies, its threads are claimed by others when its leases expire.
///
/// ```
/// # async fn example<S: fugato_state::State>(
/// #     runner: fugato_graph::Runner<S>,
/// #     terminated: impl Future<Output = ()>,
/// # ) {
/// use fugato_graph::Worker;
///
/// // `terminated` is ready when the process is asked to end, for instance by SIGTERM.
/// let worked = Worker::new(runner).concurrency(16).run_until(terminated).await;
/// println!("{} threads came to rest, {} go on elsewhere", worked.rested, worked.handed_over);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Worker<S: State> {
    runner: Runner<S>,
    concurrency: usize,
    poll: Duration,
    grace: Duration,
}

/// The numbers of runs by their end, for one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WorkerReport {
    /// Runs that came to an end or a pause.
    pub rested: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Runs that were left to others between two steps.
    pub handed_over: u64,
}

impl<S: State> Worker<S> {
    /// Creates a worker that runs up to 16 threads at once.
    pub fn new(runner: Runner<S>) -> Self {
        Self {
            runner,
            concurrency: 16,
            poll: Duration::from_millis(250),
            grace: Duration::from_secs(30),
        }
    }

    fugato_state::setters! {
        /// Sets the number of threads that run at once.
        pub fn concurrency(threads: usize) { concurrency = threads.max(1) }

        /// Sets the interval at which it looks for work while there is none: 250 ms by default.
        pub fn poll(every: Duration) { poll = every }

        /// Sets the time that a step may still take when the worker is to stop: 30 s by default. A
        /// longer step is dropped, and begins again elsewhere.
        pub fn grace(grace: Duration) { grace = grace }
    }

    /// Works until `stop` is ready, then lets every thread finish its step and leaves it to others.
    pub async fn run_until(&self, stop: impl Future<Output = ()>) -> WorkerReport {
        self.run_woken(stop, std::future::pending::<()>).await
    }

    /// Works like [`run_until`](Self::run_until), and looks for work at once whenever `woken` is
    /// ready.
    pub async fn run_woken<W: Future<Output = ()>>(
        &self,
        stop: impl Future<Output = ()>,
        mut woken: impl FnMut() -> W,
    ) -> WorkerReport {
        tokio::pin!(stop);
        let (mut running, mut worked) = (FuturesUnordered::new(), WorkerReport::default());
        let mut aborts: Vec<AbortHandle> = vec![];
        loop {
            let room = self.concurrency.saturating_sub(running.len());
            let claimed = self.claim(room).await;
            let found = claimed.len();
            aborts.retain(|abort| !abort.is_finished());
            for lease in claimed {
                let thread = lease.thread.clone();
                let run = self.runner.go_on(lease);
                aborts.push(run.abort_handle());
                running.push(self.runner.pursue(thread, run, None));
            }
            // A full claim means that there may be more.
            let full = found > 0 && found == room;
            let idle = async {
                tokio::select! {
                    () = tokio::time::sleep(self.poll) => {}
                    () = woken() => {}
                }
            };
            tokio::select! {
                biased;
                () = &mut stop => break,
                Some(ended) = running.next(), if !running.is_empty() => worked.count(&ended),
                () = idle, if running.len() < self.concurrency && !full => {}
                () = std::future::ready(()), if full && running.len() < self.concurrency => {}
            }
        }
        self.runner.drain();
        let drained = async {
            while let Some(ended) = running.next().await {
                worked.count(&ended);
            }
        };
        if tokio::time::timeout(self.grace, drained).await.is_err() {
            tracing::warn!(left = running.len(), "steps exceeded the grace period");
            aborts.iter().for_each(AbortHandle::abort);
        }
        worked
    }

    async fn claim(&self, n: usize) -> Vec<Lease> {
        if n == 0 {
            return vec![];
        }
        self.runner.claim(n).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "no thread could be claimed");
            vec![]
        })
    }
}

impl WorkerReport {
    fn count<S>(&mut self, ended: &Result<RunResult<S>, RunError>) {
        match ended {
            Ok(_) => self.rested += 1,
            Err(error) if error.kind == RunErrorKind::HandedOver => self.handed_over += 1,
            Err(error) => {
                tracing::warn!(%error, "claimed run failed");
                self.failed += 1;
            }
        }
    }
}

impl<S: State> Runner<S> {
    /// Begins a run, and leaves it to a [`Worker`] that claims it, or to the engine that is
    /// [woken](Self::woken_by); returns when it is stored.
    pub async fn submit<M>(
        &self,
        thread: &fugato_state::ThreadId,
        input: impl IntoUpdates<S::Update, M>,
    ) -> Result<(), RunError> {
        let request = Request::start(None, input.into_updates(), StartMode::Left);
        match self.spawn(thread, request, None).await {
            Err(error) if error.kind == RunErrorKind::HandedOver => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        }
    }
}
