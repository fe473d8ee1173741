mod circuit;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use fugato_state::say;
use futures::{StreamExt as _, stream};
use tokio::time::Instant;

use self::circuit::{Circuit, CircuitRefusal, Limits, Pass, Verdict};
use crate::{
    ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, RetryAdvice, figure::seconds,
};

/// Stops sending requests to a server that keeps failing, and probes whether it has recovered.
///
/// ```text
///            5 failures in a row               30 s
///  closed ──────────────────────────▶ open ──────────▶ half-open
///    ▲                                  ▲                │  │
///    │                                  └── one failure ─┘  │
///    └────────────────── 2 successes ───────────────────────┘
/// ```
///
/// While the circuit is half-open, at most 3 requests run at once. A refused request fails at once
/// with [`ModelErrorKind::Skipped`]. Its context says how long ago the server failed and why; its
/// advice says when the circuit lets requests through again.
///
/// # Notes
/// - A failure counts if the [advice](ModelErrorKind::advice) of its kind is to try again. A
///   failure that the request itself caused says nothing about the server, and neither does an
///   answer that is dropped before its end.
/// - A [`Timeout`](crate::Timeout) belongs inside, `CircuitBreaker::new(Timeout::new(model))`;
///   without it an answer that hangs is never counted.
/// - In a [`Fallback`](crate::Fallback) each model gets a breaker of its own; a request that the
///   breaker refuses goes to the backup at once.
/// - Clones share the circuit.
///
/// # Default
/// 5 failures without a limit of their time, 30 s open each time, 3 probes, 2 successes.
#[derive(Debug, Clone)]
pub struct CircuitBreaker<M> {
    model: M,
    limits: Limits,
    circuit: Arc<Mutex<CircuitEntry>>,
}

/// A circuit and the time and text of its last failure.
#[derive(Debug, Default)]
struct CircuitEntry {
    circuit: Circuit,
    failure: Option<(Instant, String)>,
}

impl CircuitEntry {
    fn refusal(&self, why: CircuitRefusal, now: Instant) -> ModelError {
        let failed = match &self.failure {
            Some((at, why)) => {
                let ago = Duration::from_secs(now.saturating_duration_since(*at).as_secs());
                say!(
                    "it failed {} ago ({why})",
                    "它在 {} 前失败过（{why}）",
                    seconds(ago)
                )
            }
            None => say!("it failed a short time ago", "它刚刚失败过"),
        };
        let (context, advice) = match why {
            CircuitRefusal::Open(left) => (
                say!(
                    "{failed} and is asked again in {}",
                    "{failed}，{} 后再问",
                    seconds(rounded(left))
                ),
                RetryAdvice::After(left),
            ),
            CircuitRefusal::Probing => (
                say!(
                    "{failed}, and another request finds out whether it is well again",
                    "{failed}，另一个请求正在查看它是否恢复"
                ),
                RetryAdvice::Now,
            ),
        };
        ModelError::new(ModelErrorKind::Skipped, context).advice(advice)
    }
}

/// Rounds a time up to whole seconds.
fn rounded(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}

/// The state of a [`CircuitBreaker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitState {
    /// All requests are let through.
    Closed,
    /// No request is let through.
    Open,
    /// A few requests are let through to probe whether the server has recovered.
    HalfOpen,
}

impl<M: ChatModel> CircuitBreaker<M> {
    /// Wraps a model. The circuit is closed at first.
    pub fn new(model: M) -> Self {
        Self {
            model,
            limits: Limits::default(),
            circuit: Arc::default(),
        }
    }

    fugato_state::setters! {
        /// Sets the number of failures in a row that open the circuit.
        pub fn failures(failures: u32) { limits.failures = failures }

        /// Sets the total time of failures in a row that opens the circuit. A server that hangs is
        /// thus detected after fewer failures than one that refuses at once.
        pub fn lost(time: Duration) { limits.lost = Some(time) }

        /// Sets the time for which the circuit stays open.
        pub fn open_for(time: Duration) { limits.open_for = time }

        /// Sets the longest time for which the circuit stays open. The time doubles with each
        /// failed probe, up to this limit. It does not grow unless the limit is longer than
        /// [`open_for`](Self::open_for).
        pub fn open_at_most(time: Duration) { limits.open_at_most = time }

        /// Sets the number of requests that may run at once while the circuit is half-open; at
        /// least one.
        pub fn probes(probes: u32) { limits.probes = probes }

        /// Sets the number of successes that close a half-open circuit.
        pub fn successes(successes: u32) { limits.successes = successes }
    }

    /// Returns the present state of the circuit.
    pub fn state(&self) -> CircuitState {
        let circuit = self.circuit.lock().unwrap_or_else(PoisonError::into_inner);
        circuit.circuit.state(Instant::now())
    }

    fn admit(&self) -> Result<CircuitPermit, ModelError> {
        let now = Instant::now();
        let mut circuit = self.circuit.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = circuit.circuit.admit(now, &self.limits);
        let pass = admitted.map_err(|why| circuit.refusal(why, now))?;
        drop(circuit);
        Ok(CircuitPermit {
            model: self.model.name().to_owned(),
            circuit: self.circuit.clone(),
            limits: self.limits,
            pass: Some(pass),
        })
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for CircuitBreaker<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let mut trial = self.admit()?;
        let deltas = match self.model.stream(request).await {
            Ok(deltas) => deltas,
            Err(error) => {
                trial.failed(&error);
                return Err(error);
            }
        };
        let watched = stream::unfold(Some((deltas, trial)), |watched| async {
            let (mut deltas, mut trial) = watched?;
            match deltas.next().await {
                Some(Ok(delta)) => Some((Ok(delta), Some((deltas, trial)))),
                Some(Err(error)) => {
                    trial.failed(&error);
                    Some((Err(error), None))
                }
                None => {
                    trial.settle(Verdict::Good);
                    None
                }
            }
        });
        Ok(watched.fuse().boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

fn verdict(error: &ModelError) -> Verdict {
    match error.kind.advice() {
        RetryAdvice::Never => Verdict::Neither,
        RetryAdvice::Now | RetryAdvice::After(_) => Verdict::Bad,
    }
}

/// One request that was let through. Dropped before its end, it counts as neither good nor bad.
struct CircuitPermit {
    model: String,
    circuit: Arc<Mutex<CircuitEntry>>,
    limits: Limits,
    pass: Option<Pass>,
}

impl CircuitPermit {
    fn failed(&mut self, error: &ModelError) {
        let verdict = verdict(error);
        if verdict == Verdict::Bad {
            let mut circuit = self.circuit.lock().unwrap_or_else(PoisonError::into_inner);
            circuit.failure = Some((Instant::now(), error.sentence()));
        }
        self.settle(verdict);
    }

    fn settle(&mut self, verdict: Verdict) {
        let Some(pass) = self.pass.take() else {
            return;
        };
        let now = Instant::now();
        let mut circuit = self.circuit.lock().unwrap_or_else(PoisonError::into_inner);
        let before = circuit.circuit.state(now);
        circuit.circuit.settle(pass, verdict, now, &self.limits);
        let after = circuit.circuit.state(now);
        drop(circuit);
        if before != after {
            let state = format!("{after:?}");
            tracing::info!(target: "fugato.llm", model = self.model, state, "circuit_changed");
        }
    }
}

impl Drop for CircuitPermit {
    fn drop(&mut self) {
        self.settle(Verdict::Neither);
    }
}
