use std::{future::Future, sync::Arc, time::Duration};

use fugato_state::Millis;

use crate::{BoxError, context::Heartbeat, tasks::Attempt};

/// The retries and time limits of a node. Part of the wiring: retry times are stored in the log, so
/// that they survive the process.
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
#[derive(smart_default::SmartDefault, derive_more::Debug, Clone)]
#[non_exhaustive]
pub struct NodePolicy {
    /// The number of tries before a failure is final: 1 by default.
    #[default(1)]
    pub attempts: u32,
    /// The delay before the second try; each further delay is twice as long.
    #[default(Duration::from_millis(500))]
    pub first_delay: Duration,
    /// The longest wait.
    #[default(Duration::from_secs(60))]
    pub max_delay: Duration,
    /// The time limit of one try.
    pub timeout: Option<Duration>,
    /// The idle timeout of one try: the longest time without
    /// [`Context::heartbeat`](crate::Context::heartbeat) or an event.
    pub idle_timeout: Option<Duration>,
    #[debug(skip)]
    pub(crate) retry_if: Option<Arc<RetryIf>>,
}

type RetryIf = dyn Fn(&BoxError) -> bool + Send + Sync;

impl NodePolicy {
    fugato_state::setters! {
        /// Sets the number of tries, the first try included.
        pub fn attempts(attempts: u32) { attempts = attempts.max(1) }

        /// Sets the time limit of one try.
        pub fn timeout(timeout: Duration) { timeout = Some(timeout) }

        /// Sets the idle timeout of one try.
        pub fn idle_timeout(timeout: Duration) { idle_timeout = Some(timeout) }

        /// Sets the filter of failures that are retried; by default all are.
        pub fn retry_if(retry: impl Fn(&BoxError) -> bool + Send + Sync + 'static) {
            retry_if = Some(Arc::new(retry))
        }
    }

    /// Sets the delay after the first failure, which doubles each time up to `max`.
    #[must_use]
    pub fn backoff(mut self, first: Duration, max: Duration) -> Self {
        self.first_delay = first;
        self.max_delay = max;
        self
    }

    /// Returns the delay after a failure, the first failure being 1.
    pub fn delay(&self, failure: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failure.saturating_sub(1));
        let delay = doubled.and_then(|times| self.first_delay.checked_mul(times));
        delay.map_or(self.max_delay, |delay| delay.min(self.max_delay))
    }

    /// Returns the time of the next try after `tries` tries; none if the failure is final.
    pub(crate) fn again(&self, tries: u32, error: &BoxError, now: Millis) -> Option<Millis> {
        let wanted = self.retry_if.as_ref().is_none_or(|retry| retry(error));
        if tries >= self.attempts || !wanted {
            return None;
        }
        Some(now.saturating_add(millis(self.delay(tries))))
    }

    /// Waits for an attempt within its time limits.
    pub(crate) async fn watch<U>(
        &self,
        pulse: Option<Arc<Heartbeat>>,
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

/// Returns a duration in milliseconds, saturating at the largest value.
pub(crate) fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}
