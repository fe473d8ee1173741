//! What goes on beside the conversations: jobs whose time has come, and archives that follow the
//! log.
use std::time::Duration;

use fugato::{
    BoxError,
    graph::{RunError, RunErrorKind, Runner},
    state::ThreadId,
    store::StoreErrorKind,
};
use tokio::time::sleep;

use crate::{
    agent::{Agent, Request, Update},
    archive::Archives,
    jobs::{Job, Jobs, NoJob},
    log_key,
};

/// How long it sleeps at most: clocks are put forward now and then.
const LONGEST: Duration = Duration::from_secs(30);
/// How soon it looks again at what could not be done yet.
const SOON: Duration = Duration::from_millis(200);
/// How soon it asks a store again that has failed.
const LATER: Duration = Duration::from_secs(2);
/// How often a thread is made ready for a job: a run may have to end, and then to be given up.
const TRIES: usize = 4;

/// Does what is due.
#[derive(Debug, Clone)]
pub struct Clockwork {
    runner: Runner<Agent>,
    jobs: Jobs,
    archives: Archives,
}

impl Clockwork {
    /// The jobs and archives of this agent.
    pub fn new(runner: Runner<Agent>, jobs: Jobs, archives: Archives) -> Self {
        Self {
            runner,
            jobs,
            archives,
        }
    }

    /// Goes on until `stop` is ready. Archives that a process before has left behind are brought
    /// up to date first.
    pub async fn run_until(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        if let Err(error) = self.archives.bring_up_all(&self.runner).await {
            tracing::warn!(error, "{}", log_key::AN_ARCHIVE_IS_BEHIND);
        }
        loop {
            let jobs = self.fire().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "{}", log_key::JOBS_CANNOT_BE_READ);
                LONGEST
            });
            let archived = self.archives.bring_up_due(&self.runner).await;
            let wait = if archived { jobs } else { jobs.min(SOON) };
            tokio::select! {
                () = &mut stop => return,
                () = sleep(wait) => {}
                () = self.jobs.changed() => {}
                () = self.archives.changed() => {}
            }
        }
    }

    /// Runs the jobs that are due, each in a thread of its own beside the conversation in which it
    /// was made. Returns how long nothing will be due.
    pub async fn fire(&self) -> Result<Duration, NoJob> {
        let now = self.jobs.now();
        let mut wait = LONGEST;
        for job in self.jobs.all().await? {
            if job.due > now {
                let until = u64::try_from(job.due - now).unwrap_or(u64::MAX);
                return Ok(wait.min(Duration::from_millis(until)));
            }
            // While others ran, it may have been cancelled.
            if !self.jobs.stands(&job).await? {
                continue;
            }
            match self.conversed(&job).await {
                Ok(true) => {}
                Ok(false) => {
                    self.jobs.cancel(&job.thread, &job.id).await?;
                    continue;
                }
                Err(error) => {
                    tracing::debug!(job = job.id, error, "{}", log_key::A_JOB_WAITS);
                    wait = wait.min(LATER);
                    continue;
                }
            }
            match self.run(&job).await {
                None => self.jobs.fired(&job).await?,
                Some(soon) => wait = wait.min(soon),
            }
        }
        Ok(wait)
    }

    /// Whether the conversation in which a job was made is still there.
    async fn conversed(&self, job: &Job) -> Result<bool, BoxError> {
        let thread = ThreadId::new(&*job.thread)?;
        Ok(self.runner.log().head(&thread).await?.is_some())
    }

    /// Runs a job under a name that belongs to this time of it: whoever asks again, after a crash
    /// or in another process, runs nothing twice. Returns when to try again if it was not done.
    async fn run(&self, job: &Job) -> Option<Duration> {
        let thread = match ThreadId::new(thread_of(job)) {
            Ok(thread) => thread,
            Err(error) => {
                tracing::warn!(job = job.id, %error, "{}", log_key::A_JOB_FAILED);
                return None;
            }
        };
        let request = Request {
            lang: Some(job.lang),
            ..Request::of_job(&job.id, &job.wish.task)
        };
        let key = format!("{}@{}", job.id, job.due);
        let mut recovered = false;
        for _ in 0..TRIES {
            let asked = vec![Update::Asked(request.clone())];
            let run = self.runner.start_keyed(&thread, &*key, asked);
            let error = run.await.err()?;
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

/// Why a run is given up that still waits for an answer.
const NEXT_TIME: &str = "the next time of the job has come";

/// When to try again after an error that says nothing about the job itself; none after others.
fn postponed(kind: &RunErrorKind) -> Option<Duration> {
    match kind {
        RunErrorKind::Busy { .. } | RunErrorKind::HandedOver => Some(SOON),
        RunErrorKind::Store(StoreErrorKind::TooLarge { .. }) => None,
        RunErrorKind::Store(_) => Some(LATER),
        _ => None,
    }
}

/// The thread in which a job is done: beside its conversation, and of the same owner.
pub fn thread_of(job: &Job) -> String {
    format!("{}.{}", job.thread, job.id)
}
