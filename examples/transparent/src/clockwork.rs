//! What goes on beside the conversations: jobs whose time has come, and archives that follow the
//! log.
use std::time::Duration;

use fugato::{
    graph::{RunErrorKind, Runner},
    state::ThreadId,
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
        let mut waits = false;
        for job in self.jobs.all().await? {
            if job.due > now {
                let wait = u64::try_from(job.due - now).unwrap_or(u64::MAX);
                let wait = Duration::from_millis(wait).min(LONGEST);
                return Ok(if waits { wait.min(SOON) } else { wait });
            }
            if self.run(&job).await {
                self.jobs.fired(&job).await?;
            } else {
                waits = true;
            }
        }
        Ok(if waits { SOON } else { LONGEST })
    }

    /// Runs a job under a name that belongs to this time of it: whoever asks again, after a crash
    /// or in another process, runs nothing twice. False if it has to wait.
    async fn run(&self, job: &Job) -> bool {
        let thread = match ThreadId::new(thread_of(job)) {
            Ok(thread) => thread,
            Err(error) => {
                tracing::warn!(job = job.id, %error, "{}", log_key::A_JOB_FAILED);
                return true;
            }
        };
        let request = Request {
            lang: Some(job.lang),
            ..Request::of_job(&job.id, &job.wish.task)
        };
        let key = format!("{}@{}", job.id, job.due);
        match self
            .runner
            .start_keyed(&thread, key, vec![Update::Asked(request)])
            .await
        {
            Ok(_) => true,
            Err(error) if matches!(error.kind, RunErrorKind::Busy { .. }) => false,
            Err(error) => {
                // It is not tried for ever: the log of its thread tells why it failed.
                tracing::warn!(job = job.id, %error, "{}", log_key::A_JOB_FAILED);
                true
            }
        }
    }
}

/// The thread in which a job is done: beside its conversation, and of the same owner.
pub fn thread_of(job: &Job) -> String {
    format!("{}.{}", job.thread, job.id)
}
