use std::{fmt, sync::Arc, time::Duration};

use fugato_graph::{BoxError, RunError, RunErrorKind, Runner};
use fugato_state::{Millis, State, ThreadId};
use fugato_store::StoreErrorKind;
use tokio::time::sleep;

use crate::{Job, Jobs, NoJob, log_key};

/// How long it sleeps at most: clocks are put forward now and then.
const LONGEST: Duration = Duration::from_secs(30);
/// How soon it looks again at what could not be done yet.
const SOON: Duration = Duration::from_millis(200);
/// How soon it asks a store again that has failed.
const LATER: Duration = Duration::from_secs(2);
/// How often a thread is made ready for a job: a run may have to end, and then to be given up.
const TRIES: usize = 4;
/// Why a run is given up that still waits for an answer.
const NEXT_TIME: &str = "the next time of the job has come";

/// Does the jobs that are due, by runs of a graph. Cheap to clone.
pub struct Clockwork<S: State> {
    runner: Runner<S>,
    jobs: Jobs,
    input: Arc<Input<S>>,
}

/// With what the run of a job at a time begins.
type Input<S> = dyn Fn(&Job, Millis) -> Vec<<S as State>::Update> + Send + Sync;

impl<S: State> Clockwork<S> {
    /// Does these jobs; `input` says with what the run of one at one of its times begins, and says
    /// the same whenever it is asked about the same.
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
        }
    }

    /// Goes on until `stop` is ready. Dropped in the middle of a run, it leaves the run to go on by
    /// itself, and whoever fires next finds it.
    pub async fn run_until(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        loop {
            let wait = tokio::select! {
                () = &mut stop => return,
                wait = self.fire() => wait,
            };
            let wait = wait.unwrap_or_else(|error| {
                tracing::warn!(%error, "{}", log_key::JOBS_CANNOT_BE_READ);
                LATER
            });
            tokio::select! {
                () = &mut stop => return,
                () = sleep(wait) => {}
                () = self.jobs.changed() => {}
            }
        }
    }

    /// Does the jobs that are due, each in a thread of its own beside the conversation in which it
    /// was made. Returns how long nothing will be due.
    pub async fn fire(&self) -> Result<Duration, NoJob> {
        let now = self.jobs.clock().now();
        let mut wait = LONGEST;
        for job in self.jobs.readable().await? {
            let until = match self.until(&job, now).await {
                Err(error @ NoJob::Store(_)) => return Err(error),
                // What is wrong with one job keeps no other from being done.
                Err(error) => {
                    tracing::warn!(job = job.id, %error, "{}", log_key::A_JOB_FAILED);
                    None
                }
                Ok(until) => until,
            };
            wait = wait.min(until.unwrap_or(LONGEST));
        }
        Ok(wait)
    }

    /// Does a job if it is due. Returns when to look at it again.
    async fn until(&self, job: &Job, now: Millis) -> Result<Option<Duration>, NoJob> {
        if job.due > now {
            if let Some(turn) = self.jobs.set_back(job, now) {
                tracing::warn!(
                    job = job.id,
                    due = job.due,
                    "{}",
                    log_key::THE_CLOCK_WAS_SET_BACK
                );
                self.jobs.moved(job, turn).await?;
                return Ok(Some(Duration::ZERO));
            }
            let until = u64::try_from(job.due - now).unwrap_or(u64::MAX);
            return Ok(Some(Duration::from_millis(until)));
        }
        // While others ran, it may have been cancelled.
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
                tracing::debug!(job = job.id, error, "{}", log_key::A_JOB_WAITS);
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
                tracing::info!(
                    job = job.id,
                    due = job.due,
                    "{}",
                    log_key::A_JOB_IS_LEFT_OUT
                );
            }
        }
        self.jobs.moved(job, turn).await?;
        let again = turn.next.filter(|next| *next <= self.jobs.clock().now());
        Ok(again.map(|_| Duration::ZERO))
    }

    /// Whether the conversation in which a job was made is still there.
    async fn conversed(&self, job: &Job) -> Result<bool, BoxError> {
        let thread = ThreadId::new(&*job.thread)?;
        Ok(self.runner.log().head(&thread).await?.is_some())
    }

    /// Runs a job under a name that belongs to this time of it: whoever asks again, after a crash
    /// or in another process, runs nothing twice. Returns when to try again if it was not done.
    async fn run(&self, job: &Job, time: Millis) -> Option<Duration> {
        let thread = match ThreadId::new(job.place()) {
            Ok(thread) => thread,
            Err(error) => {
                tracing::warn!(job = job.id, %error, "{}", log_key::A_JOB_FAILED);
                return None;
            }
        };
        let key = format!("{}@{time}", job.id);
        let mut recovered = false;
        for _ in 0..TRIES {
            let input = (self.input)(job, time);
            let error = self.runner.start_keyed(&thread, &*key, input).await.err()?;
            let ready = match error.kind {
                RunErrorKind::Unfinished if !recovered => {
                    recovered = true;
                    self.bring_to_an_end(&thread).await
                }
                // Nobody has answered what it asked the last time.
                RunErrorKind::Waiting { .. } | RunErrorKind::Unfinished => {
                    self.runner.cancel(&thread, "clockwork", NEXT_TIME).await
                }
                _ => Err(error),
            };
            let Err(error) = ready else { continue };
            if let Some(wait) = postponed(&error.kind) {
                tracing::debug!(job = job.id, %error, "{}", log_key::A_JOB_WAITS);
                return Some(wait);
            }
            // It is not tried for ever: the log of its thread tells why it failed.
            tracing::warn!(job = job.id, %error, "{}", log_key::A_JOB_FAILED);
            return None;
        }
        Some(SOON)
    }

    /// Goes on with what a crash has left of an earlier time, whatever comes of it.
    async fn bring_to_an_end(&self, thread: &ThreadId) -> Result<(), RunError> {
        match self.runner.recover(thread).await {
            Err(error) if postponed(&error.kind).is_some() => Err(error),
            _ => Ok(()),
        }
    }
}

/// When to try again after an error that says nothing about the job itself; none after others.
fn postponed(kind: &RunErrorKind) -> Option<Duration> {
    match kind {
        RunErrorKind::Busy { .. } | RunErrorKind::HandedOver => Some(SOON),
        RunErrorKind::Store(StoreErrorKind::TooLarge { .. }) => None,
        RunErrorKind::Store(_) => Some(LATER),
        _ => None,
    }
}

impl<S: State> Clone for Clockwork<S> {
    fn clone(&self) -> Self {
        Self {
            runner: self.runner.clone(),
            jobs: self.jobs.clone(),
            input: self.input.clone(),
        }
    }
}

impl<S: State> fmt::Debug for Clockwork<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clockwork")
            .field("jobs", &self.jobs)
            .finish_non_exhaustive()
    }
}
