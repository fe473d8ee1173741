use std::{sync::Arc, time::Duration};

use fugato_graph::{BoxError, RunError, RunErrorKind, Runner};
use fugato_state::{Interrupt, Millis, State, ThreadId};
use fugato_store::StoreErrorKind;
use futures::{FutureExt as _, future::BoxFuture};
use tokio::time::sleep;

use crate::{Job, JobError, Jobs};

/// The longest sleep, because clocks are put forward now and then.
const LONGEST: Duration = Duration::from_secs(30);
/// The pause before a retry of a job that could not run yet.
const SOON: Duration = Duration::from_millis(200);
/// The pause before a retry after an error of the store.
const LATER: Duration = Duration::from_secs(2);
/// The most attempts to start a run: an earlier run may have to be recovered, and then to be
/// cancelled.
const TRIES: usize = 4;
/// The reason for the cancellation of a run that still waits for an answer.
const NEXT_TIME: &str = "the next time of the job has come";

/// The driver that runs due jobs, each as a run of a graph. Cheap to clone.
#[derive_where::derive_where(Clone)]
#[derive(derive_more::Debug)]
#[debug("JobRunner {{ jobs: {jobs:?}, .. }}")]
pub struct JobRunner<S: State> {
    runner: Runner<S>,
    jobs: Jobs,
    input: Arc<Input<S>>,
    asked: Option<Arc<QuestionHook>>,
}

/// The function that returns the input of a job's run at one of its times.
type Input<S> = dyn Fn(&Job, Millis) -> Vec<<S as State>::Update> + Send + Sync;

/// The function that is called with the questions of a job's run.
type QuestionHook = dyn Fn(&Job, &[Interrupt]) -> BoxFuture<'static, ()> + Send + Sync;

impl<S: State> JobRunner<S> {
    /// Creates a driver for these jobs. `input` returns the input of a job's run at one of its
    /// times, and must always return the same for the same job and time.
    pub fn new(
        runner: Runner<S>,
        jobs: Jobs,
        input: impl Fn(&Job, Millis) -> Vec<S::Update> + Send + Sync + 'static,
    ) -> Self {
        let input = Arc::new(input);
        Self {
            runner,
            jobs,
            input,
            asked: None,
        }
    }

    /// Sets what tells somebody of the questions with which a job's run waits. After a crash it may
    /// be called again for the same questions. The next job waits for it.
    #[must_use]
    pub fn on_question<F: Future<Output = ()> + Send + 'static>(
        mut self,
        tell: impl Fn(&Job, &[Interrupt]) -> F + Send + Sync + 'static,
    ) -> Self {
        self.asked = Some(Arc::new(move |job, asked| tell(job, asked).boxed()));
        self
    }

    /// Fires due jobs until `stop` is ready or the runner is closed. If the future is dropped during
    /// a run, the run goes on by itself, and the next call of [`fire`](Self::fire) finds it.
    pub async fn run_until(&self, stop: impl Future<Output = ()>) {
        let closed = self.runner.closed();
        let stop = async {
            tokio::select! {
                () = stop => {}
                () = closed => {}
            }
        };
        tokio::pin!(stop);
        loop {
            let wait = tokio::select! {
                () = &mut stop => return,
                wait = self.fire() => wait,
            };
            let wait = wait.unwrap_or_else(|error| {
                tracing::warn!(%error, "jobs cannot be read");
                LATER
            });
            tokio::select! {
                () = &mut stop => return,
                () = sleep(wait) => {}
                () = self.jobs.changed() => {}
            }
        }
    }

    /// Runs the jobs that are due, each in a thread of its own next to its conversation. Returns
    /// the time until the next job may be due.
    pub async fn fire(&self) -> Result<Duration, JobError> {
        let now = self.jobs.clock().now();
        let mut wait = LONGEST;
        for job in self.jobs.readable().await? {
            let until = match self.until(&job, now).await {
                Err(error @ JobError::Store(_)) => return Err(error),
                // An error of one job does not stop the others.
                Err(error) => {
                    tracing::warn!(job = job.id, %error, "job failed");
                    None
                }
                Ok(until) => until,
            };
            wait = wait.min(until.unwrap_or(LONGEST));
        }
        Ok(wait)
    }

    /// Runs a job if it is due. Returns the time until it has to be checked again.
    async fn until(&self, job: &Job, now: Millis) -> Result<Option<Duration>, JobError> {
        if job.due > now {
            if let Some(turn) = self.jobs.set_back(job, now) {
                tracing::warn!(job = job.id, due = job.due, "clock was set back");
                self.jobs.moved(job, turn).await?;
                return Ok(Some(Duration::ZERO));
            }
            let until = u64::try_from(job.due - now).unwrap_or(u64::MAX);
            return Ok(Some(Duration::from_millis(until)));
        }
        // It may have been cancelled while others ran.
        if !self.jobs.stands(job).await? {
            return Ok(None);
        }
        match self.conversed(job).await {
            Ok(true) => {}
            Ok(false) => {
                self.jobs.cancel(&job.thread, &job.id).await?;
                return Ok(None);
            }
            Err(error) => {
                tracing::debug!(job = job.id, error, "job delayed");
                return Ok(Some(LATER));
            }
        }
        let turn = self.jobs.turn(job)?;
        match turn.time {
            Some(time) => {
                if let Some(soon) = self.run(job, time).await {
                    return Ok(Some(soon));
                }
            }
            None => {
                tracing::info!(job = job.id, due = job.due, "job skipped");
            }
        }
        self.jobs.moved(job, turn).await?;
        let again = turn.next.filter(|next| *next <= self.jobs.clock().now());
        Ok(again.map(|_| Duration::ZERO))
    }

    /// Returns true if the conversation of a job still exists, or if the job needs none.
    async fn conversed(&self, job: &Job) -> Result<bool, BoxError> {
        if job.wish.standing {
            return Ok(true);
        }
        let thread = ThreadId::new(&*job.thread)?;
        Ok(self.runner.log().head(&thread).await?.is_some())
    }

    /// Runs a job under a key that belongs to this time of it, so that a repetition, after a crash
    /// or in another process, runs nothing twice. Returns the pause before a retry if it was not
    /// done.
    async fn run(&self, job: &Job, time: Millis) -> Option<Duration> {
        let thread = match ThreadId::new(job.place()) {
            Ok(thread) => thread,
            Err(error) => {
                tracing::warn!(job = job.id, %error, "job failed");
                return None;
            }
        };
        let key = format!("{}@{time}", job.id);
        let mut recovered = false;
        for _ in 0..TRIES {
            let input = (self.input)(job, time);
            let error = match self.runner.start_keyed(&thread, &*key, input).await {
                Ok(ended) => {
                    if let (Some(tell), [_, ..]) = (&self.asked, ended.interrupts()) {
                        tell(job, ended.interrupts()).await;
                    }
                    return None;
                }
                Err(error) => error,
            };
            let ready = match error.kind {
                RunErrorKind::Unfinished if !recovered => {
                    recovered = true;
                    self.bring_to_an_end(&thread).await
                }
                // The question of the previous run was never answered.
                RunErrorKind::Waiting { .. } | RunErrorKind::Unfinished => {
                    self.runner.cancel(&thread, "clockwork", NEXT_TIME).await
                }
                _ => Err(error),
            };
            let Err(error) = ready else { continue };
            if let Some(wait) = postponed(&error.kind) {
                tracing::debug!(job = job.id, %error, "job delayed");
                return Some(wait);
            }
            // There is no further retry: the log of its thread contains the error.
            tracing::warn!(job = job.id, %error, "job failed");
            return None;
        }
        Some(SOON)
    }

    /// Recovers a run that a crash has interrupted. Its outcome does not matter here.
    async fn bring_to_an_end(&self, thread: &ThreadId) -> Result<(), RunError> {
        match self.runner.recover(thread).await {
            Err(error) if postponed(&error.kind).is_some() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns the pause before a retry, for an error that is not about the job itself; `None` for
/// others.
fn postponed(kind: &RunErrorKind) -> Option<Duration> {
    match kind {
        RunErrorKind::Busy { .. } | RunErrorKind::HandedOver => Some(SOON),
        RunErrorKind::Store(StoreErrorKind::TooLarge { .. }) => None,
        RunErrorKind::Store(_) => Some(LATER),
        _ => None,
    }
}
