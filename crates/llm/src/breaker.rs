mod circuit;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use tokio::time::Instant;

use self::circuit::{Circuit, Limits, Pass, Refused, Verdict};
use crate::{ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, RetryAdvice};

/// Stops asking a server that keeps failing, and finds out carefully whether it is well again.
///
/// ```text
///            5 failures in a row               30 s
///  closed ──────────────────────────▶ open ──────────▶ half-open
///    ▲                                  ▲                │  │
///    │                                  └── one failure ─┘  │
///    └────────────────── 2 successes ───────────────────────┘
/// ```
///
/// Half-open, at most 3 requests are on their way at once. What is refused fails with
/// [`ModelErrorKind::Unavailable`], and the advice says when the circuit lets requests through.
///
/// # Notes
/// - A failure counts if its kind advises to try again: one that the request brought about says
///   nothing of the server. An answer that is dropped before its end says nothing either.
/// - A [`Timeout`](crate::Timeout) belongs inside, `CircuitBreaker::new(Timeout::new(model))`, or
///   an answer that hangs is never counted.
/// - In a [`Fallback`](crate::Fallback) each model gets a breaker of its own; what it refuses goes
///   to the backup at once.
/// - Clones share the circuit.
///
/// # Default
/// 5 failures, 30 s, 3 probes, 2 successes.
#[derive(Debug, Clone)]
pub struct CircuitBreaker<M> {
    model: M,
    limits: Limits,
    circuit: Arc<Mutex<Circuit>>,
}

/// Whether a [`CircuitBreaker`] lets requests through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitState {
    /// All of them.
    Closed,
    /// None.
    Open,
    /// A few, to find out whether the server is well again.
    HalfOpen,
}

impl<M: ChatModel> CircuitBreaker<M> {
    /// Wraps a model; the circuit is closed.
    pub fn new(model: M) -> Self {
        Self {
            model,
            limits: Limits::default(),
            circuit: Arc::default(),
        }
    }

    /// How many failures in a row open the circuit.
    #[must_use]
    pub fn failures(mut self, failures: u32) -> Self {
        self.limits.failures = failures;
        self
    }

    /// How long the circuit stays open.
    #[must_use]
    pub fn open_for(mut self, time: Duration) -> Self {
        self.limits.open_for = time;
        self
    }

    /// How many requests may be on their way at once while it is half-open; at least one.
    #[must_use]
    pub fn probes(mut self, probes: u32) -> Self {
        self.limits.probes = probes;
        self
    }

    /// How many successes close a half-open circuit.
    #[must_use]
    pub fn successes(mut self, successes: u32) -> Self {
        self.limits.successes = successes;
        self
    }

    /// Whether requests are let through now.
    pub fn state(&self) -> CircuitState {
        let circuit = self.circuit.lock().unwrap_or_else(PoisonError::into_inner);
        circuit.state(Instant::now())
    }

    fn admit(&self) -> Result<Trial, ModelError> {
        let mut circuit = self.circuit.lock().unwrap_or_else(PoisonError::into_inner);
        let pass = circuit.admit(Instant::now(), &self.limits).map_err(|why| {
            let (context, advice) = match why {
                Refused::Open(left) => ("the circuit is open", RetryAdvice::After(left)),
                Refused::Probing => ("the circuit is being probed", RetryAdvice::Now),
            };
            ModelError::new(ModelErrorKind::Unavailable, context).advice(advice)
        })?;
        drop(circuit);
        Ok(Trial {
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
                trial.settle(verdict(&error));
                return Err(error);
            }
        };
        let watched = stream::unfold(Some((deltas, trial)), |watched| async {
            let (mut deltas, mut trial) = watched?;
            match deltas.next().await {
                Some(Ok(delta)) => Some((Ok(delta), Some((deltas, trial)))),
                Some(Err(error)) => {
                    trial.settle(verdict(&error));
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

/// One request that was let through. Dropped before its end, it says nothing.
struct Trial {
    model: String,
    circuit: Arc<Mutex<Circuit>>,
    limits: Limits,
    pass: Option<Pass>,
}

impl Trial {
    fn settle(&mut self, verdict: Verdict) {
        let Some(pass) = self.pass.take() else {
            return;
        };
        let now = Instant::now();
        let mut circuit = self.circuit.lock().unwrap_or_else(PoisonError::into_inner);
        let before = circuit.state(now);
        circuit.settle(pass, verdict, now, &self.limits);
        let after = circuit.state(now);
        drop(circuit);
        if before != after {
            let state = format!("{after:?}");
            tracing::info!(target: "fugato.llm", model = self.model, state, "{}", crate::log_key::CIRCUIT_CHANGED);
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.settle(Verdict::Neither);
    }
}
