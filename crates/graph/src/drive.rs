//! The seam between threads and the engine that places them: a worker, or a system of its own.
use std::time::Duration;

use async_trait::async_trait;
use fugato_state::{Millis, State, ThreadId};
use fugato_store::{Claim, Head, Lease, LeaseOutcome, LeaseRequest, Status};

use crate::{Run, RunError, RunErrorKind, RunResult, Runner};

/// The pause between two requests to stop of a run whose time is over. The first may come before
/// its first step, and is then not heard.
const AGAIN: Duration = Duration::from_millis(20);

/// The threads of one agent, as an engine sees them that decides where and when each of them runs.
///
/// The log says what can go on; the engine's own records are a cache of that. So every call may be
/// repeated, and may come from two places at once.
#[async_trait]
pub trait Drive: Send + Sync {
    /// Returns the beginning of the names of the agent's threads.
    fn prefix(&self) -> &str;

    /// Lets a thread go on until it rests, or until its first step that ends after `limit`, and
    /// returns what comes next. See [`Runner::drive`].
    async fn drive(&self, thread: &ThreadId, limit: Duration) -> Result<Next, RunError>;

    /// Returns up to `n` threads that can go on now and that nobody runs. See [`Runner::due`].
    async fn due(&self, n: usize) -> Result<Vec<ThreadId>, RunError>;
}

/// The next thing that an engine has to do for a thread, from [`Drive::drive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// Nothing is left to do: the run ended, failed or was cancelled, or there is no such thread.
    Done,
    /// Its time was over between two steps: it goes on at once.
    Yield,
    /// It waits for an answer, which has no end.
    WaitForAnswer,
    /// It goes on at a time, or earlier by an answer.
    WakeAt {
        /// The time, in milliseconds of the store's clock.
        until: Millis,
        /// The time until then. An engine, whose clock may differ from the store's, counts from now.
        after: Duration,
    },
    /// Another owner has it. If that one has died, it goes on at the end of its lease.
    Retry {
        /// The end of the lease, in milliseconds of the store's clock.
        until: Millis,
        /// The time until then, from now.
        after: Duration,
    },
}

#[async_trait]
impl<S: State> Drive for Runner<S> {
    fn prefix(&self) -> &str {
        Self::prefix(self)
    }

    async fn drive(&self, thread: &ThreadId, limit: Duration) -> Result<Next, RunError> {
        Self::drive(self, thread, limit).await
    }

    async fn due(&self, n: usize) -> Result<Vec<ThreadId>, RunError> {
        Self::due(self, n).await
    }
}

impl<S: State> Runner<S> {
    /// Lets a thread go on, if it can, until it rests, or until its first step that ends after
    /// `limit`, and returns what comes next. It may be called again at any time, and in several
    /// processes at once: one of them has the lease, and the others are told to come back.
    ///
    /// # Errors
    /// A failure of the run is in the log, and the thread is [`Next::Done`]. An error says that the
    /// thread could not be driven: the store is away, this program refuses the thread, or the
    /// process shuts down ([`HandedOver`](RunErrorKind::HandedOver)). The engine tries again later,
    /// or elsewhere.
    ///
    /// # Cancellation safety
    /// A run is a task of its own: it goes on if the future is dropped, and another call is told to
    /// come back.
    pub async fn drive(&self, thread: &ThreadId, limit: Duration) -> Result<Next, RunError> {
        let inner = &self.inner;
        inner.must_own(thread)?;
        let Some(head) = inner.log.head(thread).await? else {
            return Ok(Next::Done);
        };
        if let Some(next) = Next::of_rest(&head) {
            return Ok(next);
        }
        let lease = match inner.acquire(thread).await {
            Ok(lease) => lease,
            Err(error) => match error.kind {
                RunErrorKind::Busy { until, .. } => {
                    let after = span(head.now, until);
                    return Ok(Next::Retry { until, after });
                }
                _ => return Err(error),
            },
        };
        // It may have come to rest between the look and the lease.
        match self.after(thread).await {
            Ok(Next::Yield) => {}
            rests => {
                inner.release(thread, lease.fence).await;
                return rests;
            }
        }
        match self
            .pursue(lease.thread.clone(), self.go_on(lease), Some(limit))
            .await
        {
            Err(error) if error.kind == RunErrorKind::HandedOver && inner.is_closed() => Err(error),
            Ok(_) => self.after(thread).await,
            Err(error) => match self.after(thread).await {
                Ok(Next::Yield) if error.kind != RunErrorKind::HandedOver => Err(error),
                next => {
                    if error.kind != RunErrorKind::HandedOver {
                        tracing::warn!(%error, "driven run failed");
                    }
                    next
                }
            },
        }
    }

    /// Returns up to `n` threads of this agent that can go on now and that nobody runs, those first
    /// that could go on the longest. An engine wakes them: it looks from time to time, in case a
    /// word was lost.
    pub async fn due(&self, n: usize) -> Result<Vec<ThreadId>, RunError> {
        let leases = self.claim(n).await?;
        let mut due = vec![];
        for lease in leases {
            self.inner.release(&lease.thread, lease.fence).await;
            due.push(lease.thread);
        }
        Ok(due)
    }

    /// Claims up to `n` threads of this agent.
    pub(crate) async fn claim(&self, n: usize) -> Result<Vec<Lease>, RunError> {
        let options = &self.inner.options;
        let claim = Claim {
            prefix: options.prefix.clone(),
            n,
            owner: options.owner.clone(),
            ttl: options.ttl(),
            except: self.inner.running(),
        };
        match self.inner.log.lease(LeaseRequest::Claim(claim)).await? {
            LeaseOutcome::Granted(leases) => Ok(leases),
            _ => Ok(vec![]),
        }
    }

    /// Waits for the end of a run. After `limit` it is asked to stop between two steps.
    pub(crate) async fn pursue(
        &self,
        thread: ThreadId,
        run: Run<S>,
        limit: Option<Duration>,
    ) -> Result<RunResult<S>, RunError> {
        let end = run.into_future();
        let Some(limit) = limit else {
            return end.await;
        };
        let stopping = async {
            tokio::time::sleep(limit).await;
            loop {
                self.stop_after_step(&thread);
                tokio::time::sleep(AGAIN).await;
            }
        };
        tokio::select! {
            ended = end => ended,
            () = stopping => Err(RunError::new(RunErrorKind::HandedOver)),
        }
    }

    /// Returns what comes next by the log alone; [`Next::Yield`] if the thread can go on now.
    async fn after(&self, thread: &ThreadId) -> Result<Next, RunError> {
        let head = self.inner.log.head(thread).await?;
        let next = head.map(|head| Next::of_rest(&head).unwrap_or(Next::Yield));
        Ok(next.unwrap_or(Next::Done))
    }
}

impl Next {
    /// Returns what comes next for a thread that cannot go on now; none if it can.
    fn of_rest(head: &Head) -> Option<Self> {
        let at = |until| {
            let after = span(head.now, until);
            (until > head.now).then_some(Self::WakeAt { until, after })
        };
        match head.status {
            Status::Runnable => None,
            Status::Idle => Some(Self::Done),
            Status::Waiting { expires: None } => Some(Self::WaitForAnswer),
            Status::Sleeping { until }
            | Status::Waiting {
                expires: Some(until),
            } => at(until),
        }
    }
}

fn span(now: Millis, until: Millis) -> Duration {
    Duration::from_millis(u64::try_from(until.saturating_sub(now)).unwrap_or(0))
}
