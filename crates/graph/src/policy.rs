use std::{fmt, future::Future, sync::Arc, time::Duration};

use fugato_state::Millis;

use crate::{BoxError, context::Pulse, tasks::Attempt};

/// How often a node is tried, and how long it may take. Part of the wiring: what it decides is in
/// the log, so that it survives the process.
///
/// ```
/// use std::time::Duration;
///
/// use fugato_graph::NodePolicy;
///
/// let policy = NodePolicy::default()
///     .attempts(4)
///     .backoff(Duration::from_millis(200), Duration::from_secs(10))
///     .timeout(Duration::from_secs(60))
///     .idle_timeout(Duration::from_secs(15));
/// assert_eq!(policy.delay(1), Duration::from_millis(200));
/// assert_eq!(policy.delay(2), Duration::from_millis(400));
/// assert_eq!(policy.delay(9), Duration::from_secs(10));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct NodePolicy {
    /// How often it is tried before its failure is for good: once by default.
    pub attempts: u32,
    /// How long after the first failure it is tried again; each further wait is twice as long.
    pub first_delay: Duration,
    /// The longest wait.
    pub max_delay: Duration,
    /// How long one try may take.
    pub timeout: Option<Duration>,
    /// How long one try may be silent: without [`Context::heartbeat`](crate::Context::heartbeat)
    /// or an event.
    pub idle_timeout: Option<Duration>,
    pub(crate) retry_if: Option<Arc<RetryIf>>,
}

type RetryIf = dyn Fn(&BoxError) -> bool + Send + Sync;

impl Default for NodePolicy {
    fn default() -> Self {
        Self {
            attempts: 1,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(60),
            timeout: None,
            idle_timeout: None,
            retry_if: None,
        }
    }
}

impl NodePolicy {
    /// How often it is tried, the first try included.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The wait after the first failure, which doubles each time up to `max`.
    #[must_use]
    pub fn backoff(mut self, first: Duration, max: Duration) -> Self {
        self.first_delay = first;
        self.max_delay = max;
        self
    }

    /// How long one try may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long one try may be silent.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Tries again only after these failures; by default after every one.
    #[must_use]
    pub fn retry_if(mut self, retry: impl Fn(&BoxError) -> bool + Send + Sync + 'static) -> Self {
        self.retry_if = Some(Arc::new(retry));
        self
    }

    /// How long the wait after a failure is, the first failure being 1.
    pub fn delay(&self, failure: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failure.saturating_sub(1));
        let delay = doubled.and_then(|times| self.first_delay.checked_mul(times));
        delay.map_or(self.max_delay, |delay| delay.min(self.max_delay))
    }

    /// When a task is tried again that has failed so often; none for never.
    pub(crate) fn again(&self, tries: u32, error: &BoxError, now: Millis) -> Option<Millis> {
        let wanted = self.retry_if.as_ref().is_none_or(|retry| retry(error));
        if tries >= self.attempts || !wanted {
            return None;
        }
        Some(now.saturating_add(millis(self.delay(tries))))
    }

    /// Waits for an attempt as long as it may take.
    pub(crate) async fn watch<U>(
        &self,
        pulse: Option<Arc<Pulse>>,
        running: impl Future<Output = Attempt<U>>,
    ) -> Attempt<U> {
        let silence = async {
            match (&pulse, self.idle_timeout) {
                (Some(pulse), Some(idle)) => pulse.silent_for(idle).await,
                _ => std::future::pending().await,
            }
        };
        let late = async {
            match self.timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            attempt = running => attempt,
            () = late => Attempt::Late(self.timeout.unwrap_or_default()),
            () = silence => Attempt::Silent(self.idle_timeout.unwrap_or_default()),
        }
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.timeout.is_some() || self.idle_timeout.is_some()
    }
}

/// A duration in milliseconds; the longest there is if it is longer.
pub(crate) fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

impl fmt::Debug for NodePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodePolicy")
            .field("attempts", &self.attempts)
            .field("first_delay", &self.first_delay)
            .field("max_delay", &self.max_delay)
            .field("timeout", &self.timeout)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}
