//! The entry of a request to its thread: by a lease, or by the run of this process that has one.
use std::{sync::Arc, time::Duration};

use fugato_state::{Millis, State, ThreadId, say};
use fugato_store::{Lease, is_away};
use fugato_stream::Hub;
use tokio::{sync::oneshot, time::Instant};

use super::{LiveRun, RunnerInner, lock};
use crate::{
    Answers, RunError, RunErrorKind, RunResult,
    effect::{AnswerCall, Call},
};

/// The time by which a lease may outlive its own: clocks differ, and a renewal may be late.
const GRACE: Duration = Duration::from_secs(5);

/// The way in which a request gets to its thread.
pub(super) enum Entry<S: State> {
    /// Under a lease of its own.
    Leased(Lease),
    /// Its answers were taken by a run of this process, which ended so.
    Joined(Result<RunResult<S>, RunError>),
}

impl<S: State> RunnerInner<S> {
    /// Hands answers to the run of this process that has the thread, or acquires the lease. With
    /// `waits`, it waits for the end of the run that has it; but not for a lease that has outlived its
    /// own time, since the time of the store stands still then, and the owner may be dead.
    pub(super) async fn enter(
        &self,
        thread: &ThreadId,
        (answers, waits): (Option<&Answers>, bool),
        hub: &Arc<Hub>,
    ) -> Result<Entry<S>, RunError> {
        let (mut wait, mut awaited) = (Duration::from_millis(10), None);
        loop {
            if let Some(answers) = answers
                && let Some(end) = self.join(thread, answers, hub).await?
            {
                return Ok(Entry::Joined(end));
            }
            match self.acquire(thread).await {
                Ok(lease) => return Ok(Entry::Leased(lease)),
                Err(error) if !passes(&error) => return Err(error),
                // The run has begun since.
                Err(_) if answers.is_some() && lock(&self.live).contains_key(thread) => continue,
                Err(error) if waits => {
                    let is_here = lock(&self.live).contains_key(thread);
                    if !is_here && self.has_outlived(thread, &error, &mut awaited).await? {
                        tracing::warn!(%thread, "lease outlives its time: was the clock set back?");
                        return Err(error);
                    }
                }
                Err(error) if answers.is_some() => return Err(error.because(elsewhere())),
                Err(error) => return Err(error),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(1));
        }
    }

    /// Returns true if the lease of another owner is there after its end by the steady clock; `awaited`
    /// is the lease that was seen before, by its time, and that end.
    async fn has_outlived(
        &self,
        thread: &ThreadId,
        busy: &RunError,
        awaited: &mut Option<(Millis, Instant)>,
    ) -> Result<bool, RunError> {
        let RunErrorKind::Busy { until, .. } = busy.kind else {
            return Ok(false);
        };
        if let Some((_, ends)) = awaited.filter(|(seen, _)| *seen == until) {
            return Ok(Instant::now() > ends);
        }
        let now = self.log.head(thread).await?.map_or(until, |head| head.now);
        let left = Duration::from_millis(until.saturating_sub(now).max(0).unsigned_abs());
        let ends = Instant::now().checked_add(left.saturating_add(GRACE));
        *awaited = ends.map(|ends| (until, ends));
        Ok(false)
    }

    /// Hands answers to the run of this process that has the thread, and returns its end; none if
    /// there is no such run, or if it left without taking them.
    async fn join(
        &self,
        thread: &ThreadId,
        answers: &Answers,
        hub: &Arc<Hub>,
    ) -> Result<Option<Result<RunResult<S>, RunError>>, RunError> {
        let live = |live: &LiveRun<S>| (live.control.upgrade(), live.end.clone());
        let live = lock(&self.live).get(thread).map(live);
        let Some((control, mut end)) = live else {
            return Ok(None);
        };
        let (reply, taken) = oneshot::channel();
        let (answers, hub) = (answers.clone(), hub.clone());
        let call = AnswerCall {
            answers,
            hub,
            reply,
        };
        // If the run has just left, the call is dropped with its reply.
        match control {
            Some(control) => control.calls.send(Call::Answer(call)),
            None => drop(call),
        }
        let taken = match taken.await {
            Ok(taken) => taken.map(|()| true)?,
            Err(_) => false,
        };
        let end = match end.wait_for(Option::is_some).await {
            Ok(end) => end.clone(),
            Err(_) => None,
        };
        let lost = || Err(RunError::new(RunErrorKind::Unfinished));
        Ok(taken.then(|| end.unwrap_or_else(lost)))
    }
}

/// Returns true if another owner has the thread, and will be done with it. A thread that moved to
/// another store never comes free.
fn passes(error: &RunError) -> bool {
    matches!(&error.kind, RunErrorKind::Busy { owner, until } if !is_away(owner, *until))
}

/// Returns the reason why answers to a thread of another process are refused.
fn elsewhere() -> String {
    say!(
        "while tasks of a run work, answers are taken by the process that runs it; when all of \
         them rest, by every process",
        "运行中的任务还在工作时，回答只能由运行它的进程接收；全部停下后，任何进程都可以接收"
    )
}
