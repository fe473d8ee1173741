use std::time::Duration;

use fugato_state::{Seq, State, ThreadId};
use fugato_store::{Status, ThreadAdmin, ThreadAdminExt as _, ThreadFilter};
use futures::TryStreamExt as _;

use crate::{RunError, RunErrorKind, Runner, ThreadStatus, policy::millis};

/// The retention of a thread that has come to its end: its last run finished or was cancelled, no
/// question is open, and nothing failed that could be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Retention {
    /// It stays: later requests go on with it, and its history can be read and forked.
    #[default]
    Keep,
    /// It stays for this long, and then until the next call of [`Runner::retire`].
    KeepFor(Duration),
    /// It is removed as soon as a run of it finishes. Its history is lost, and a repeat of a named
    /// request begins a new run.
    Delete,
}

impl Retention {
    /// Returns the time for which a thread is kept at least; none if for ever.
    pub(crate) fn kept(self) -> Option<Duration> {
        match self {
            Self::Keep => None,
            Self::KeepFor(time) => Some(time),
            Self::Delete => Some(Duration::ZERO),
        }
    }
}

impl<S: State> Runner<S> {
    /// Removes every thread of this agent that came to its end longer ago than
    /// [`RunnerOptions::on_complete`](crate::RunnerOptions::on_complete) keeps it, by the store's
    /// clock, and returns their names. To be called periodically. Threads that run, wait or have
    /// failed stay, and so do those that a graph with another state wrote.
    pub async fn retire(&self) -> Result<Vec<ThreadId>, RunError> {
        let Some(kept) = self.inner.options.on_complete.kept() else {
            return Ok(vec![]);
        };
        let admin = self.must_have_admin()?;
        let (mut all, mut gone) = (admin.all(self.own()), vec![]);
        while let Some(summary) = all.try_next().await? {
            let (thread, head) = (summary.thread, summary.head);
            if summary.status == Status::Idle
                && self.is_old(&thread, head, kept).await?
                && self.retired(&thread, Some(head)).await?
            {
                gone.push(thread);
            }
        }
        Ok(gone)
    }

    /// Returns the names of all threads of this agent, in their order; none if it cannot list them.
    pub async fn threads(&self) -> Result<Vec<ThreadId>, RunError> {
        let Some(admin) = self.admin() else {
            return Ok(vec![]);
        };
        let all = admin.all(self.own());
        Ok(all.map_ok(|summary| summary.thread).try_collect().await?)
    }

    fn own(&self) -> ThreadFilter {
        let mut filter = ThreadFilter::default();
        filter.prefix.clone_from(&self.inner.options.prefix);
        filter
    }

    /// Returns true if the last record is at least as old as `kept`. The cheapest check comes
    /// first.
    async fn is_old(&self, thread: &ThreadId, head: Seq, kept: Duration) -> Result<bool, RunError> {
        if kept.is_zero() {
            return Ok(true);
        }
        let now = self
            .inner
            .log
            .head(thread)
            .await?
            .map_or(0, |head| head.now);
        let last = self.history(thread, head, 1).await?;
        let age = last.first().map(|last| now.saturating_sub(last.at));
        Ok(age.is_some_and(|age| age >= millis(kept)))
    }

    /// Removes a thread if it is at its end, and its head is still `seen`. The lease keeps others
    /// from beginning a run meanwhile.
    pub(crate) async fn retired(
        &self,
        thread: &ThreadId,
        seen: Option<Seq>,
    ) -> Result<bool, RunError> {
        let admin = self.must_have_admin()?;
        let lease = match self.inner.acquire(thread).await {
            Err(error) if matches!(error.kind, RunErrorKind::Busy { .. }) => return Ok(false),
            lease => lease?,
        };
        let still = seen.is_none_or(|seen| seen == lease.head);
        // A thread that this graph cannot read is not its own.
        let standing = self.status(thread).await;
        let over = still && standing.is_ok_and(|standing| standing == ThreadStatus::Idle);
        if over {
            admin.remove(thread).await?;
        } else {
            self.inner.release(thread, lease.fence).await;
        }
        Ok(over)
    }

    fn must_have_admin(&self) -> Result<&dyn ThreadAdmin, RunError> {
        let admin = self.inner.admin.as_deref();
        let missing = || RunError::new(RunErrorKind::Unsupported("administration"));
        admin.ok_or_else(missing)
    }
}
