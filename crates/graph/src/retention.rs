use std::time::Duration;

use fugato_state::{State, ThreadId};
use fugato_store::{Lease, Status, ThreadAdmin, ThreadFilter};

use crate::{RunError, RunErrorKind, Runner, Standing, policy::millis};

/// What becomes of a thread that has come to its end: its last run finished or was cancelled, no
/// question is open, and nothing failed that could be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnComplete {
    /// It stays: what is asked next goes on with it, and its history can be read and forked.
    #[default]
    Keep,
    /// It stays for this long, and then until somebody calls [`Runner::retire`].
    KeepFor(Duration),
    /// It is removed as soon as a run of it finishes. Nobody can read afterwards what happened, and
    /// a repeat of a named request begins anew.
    Delete,
}

impl OnComplete {
    /// How long a thread stays at least; none if for ever.
    pub(crate) fn kept(self) -> Option<Duration> {
        match self {
            Self::Keep => None,
            Self::KeepFor(time) => Some(time),
            Self::Delete => Some(Duration::ZERO),
        }
    }
}

impl<S: State> Runner<S> {
    /// Removes every thread of the store that came to its end longer ago than
    /// [`RunnerOptions::on_complete`](crate::RunnerOptions::on_complete) keeps it, by the store's
    /// clock, and returns their names. A process calls this now and then. What runs, waits, or
    /// failed stays, and so does what a graph with another state wrote.
    pub async fn retire(&self) -> Result<Vec<ThreadId>, RunError> {
        let Some(kept) = self.shop.options.on_complete.kept() else {
            return Ok(vec![]);
        };
        let admin = self.must_have_admin()?;
        let (mut filter, mut gone) = (ThreadFilter::default(), vec![]);
        loop {
            let page = admin.list(filter.clone()).await?;
            let Some(last) = page.last() else {
                return Ok(gone);
            };
            filter.after = Some(last.thread.clone());
            let rest = |status: &Status| *status == Status::Idle;
            for summary in page.into_iter().filter(|summary| rest(&summary.status)) {
                if self.retired(&summary.thread, kept).await? {
                    gone.push(summary.thread);
                }
            }
        }
    }

    /// Removes a thread if it has been at its end for long enough. Nobody can begin a run of it
    /// meanwhile.
    pub(crate) async fn retired(
        &self,
        thread: &ThreadId,
        kept: Duration,
    ) -> Result<bool, RunError> {
        let admin = self.must_have_admin()?;
        let lease = match self.shop.acquire(thread).await {
            Err(error) if matches!(error.kind, RunErrorKind::Busy { .. }) => return Ok(false),
            lease => lease?,
        };
        let due = self.is_over(thread, &lease, kept).await;
        match due {
            Ok(true) => admin.remove(thread).await?,
            _ => self.shop.release(thread, lease.fence).await,
        }
        due
    }

    async fn is_over(
        &self,
        thread: &ThreadId,
        lease: &Lease,
        kept: Duration,
    ) -> Result<bool, RunError> {
        if !kept.is_zero() {
            let last = self.history(thread, lease.head, 1).await?;
            let since = |at| lease.now.saturating_sub(at);
            let long = last
                .first()
                .is_some_and(|last| since(last.at) >= millis(kept));
            if !long {
                return Ok(false);
            }
        }
        // What this graph cannot read is not its own.
        let standing = self.standing(thread).await;
        Ok(standing.is_ok_and(|standing| standing == Standing::Idle))
    }

    fn must_have_admin(&self) -> Result<&dyn ThreadAdmin, RunError> {
        let admin = self.shop.admin.as_deref();
        let missing = || RunError::new(RunErrorKind::Unsupported("administration"));
        admin.ok_or_else(missing)
    }
}
