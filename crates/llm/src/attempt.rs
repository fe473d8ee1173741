use std::time::Duration;

use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind};

/// One try at an answer: who, how long, why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attempt {
    /// The name of the model.
    pub model: String,
    /// How long it took until the end of the answer, or until it failed; whole milliseconds.
    pub took: Duration,
    /// Why it failed; none if it succeeded.
    pub failure: Option<AttemptFailure>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttemptFailure {
    /// What happened.
    pub kind: ModelErrorKind,
    /// The same for people.
    pub message: String,
}

impl Attempt {
    /// An attempt of `model` that succeeded after `took`.
    pub fn succeeded(model: impl Into<String>, took: Duration) -> Self {
        let took = Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        Self {
            model: model.into(),
            took,
            failure: None,
        }
    }

    /// An attempt of `model` that failed after `took`.
    pub fn failed(model: impl Into<String>, took: Duration, error: &ModelError) -> Self {
        let failure = AttemptFailure {
            kind: error.kind,
            message: error.to_string(),
        };
        Self {
            failure: Some(failure),
            ..Self::succeeded(model, took)
        }
    }
}

/// An answer that has begun: something of it is there, or it ended without anything.
pub(crate) struct Begun {
    /// The deltas, the first included; the attempt that succeeds comes last.
    pub(crate) deltas: DeltaStream,
    /// Attempts that a decorator within had to make before.
    pub(crate) earlier: Vec<Attempt>,
}

/// Asks, and waits for the first delta: up to there, trying again cannot repeat anything. What it
/// costs is not yet an answer: some servers tell it before they begin.
///
/// An error carries the attempt that it ended, and an answer tells of its attempt at its end,
/// unless a decorator within did so already.
pub(crate) async fn begin<M: ChatModel + ?Sized>(
    model: &M,
    request: ChatRequest,
) -> Result<Begun, ModelError> {
    let clock = Clock {
        model: model.name().to_owned(),
        start: Instant::now(),
        told: false,
    };
    let mut deltas = match model.stream(request).await {
        Ok(deltas) => deltas,
        Err(error) => return Err(clock.failed(error)),
    };
    let (mut earlier, mut cost) = (vec![], None);
    let first = loop {
        match deltas.next().await {
            Some(Ok(ChatDelta::Attempt(attempt))) => earlier.push(attempt),
            Some(Ok(ChatDelta::Usage(usage))) => cost = Some(Ok(ChatDelta::Usage(usage))),
            Some(Err(error)) => return Err(clock.failed(error).after(earlier)),
            first => break first,
        }
    };
    let rest = stream::iter(cost.into_iter().chain(first))
        .chain(deltas)
        .fuse();
    Ok(Begun {
        deltas: watch(rest.boxed(), clock),
        earlier,
    })
}

struct Clock {
    model: String,
    start: Instant,
    told: bool,
}

impl Clock {
    fn failed(&self, mut error: ModelError) -> ModelError {
        if error.attempts.is_empty() {
            let attempt = Attempt::failed(&self.model, self.start.elapsed(), &error);
            tracing::debug!(
                target: "fugato.llm",
                model = attempt.model,
                took_ms = u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
                error = error.kind.as_str(),
                "{}", crate::log_key::MODEL_ATTEMPT
            );
            error.attempts.push(attempt);
        }
        error
    }

    fn succeeded(&self) -> Attempt {
        let attempt = Attempt::succeeded(&self.model, self.start.elapsed());
        tracing::debug!(
            target: "fugato.llm",
            model = attempt.model,
            took_ms = u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
            "{}", crate::log_key::MODEL_ATTEMPT
        );
        attempt
    }
}

fn watch(deltas: DeltaStream, clock: Clock) -> DeltaStream {
    stream::unfold(Some((deltas, clock)), |watched| async {
        let (mut deltas, mut clock) = watched?;
        match deltas.next().await {
            Some(Ok(delta)) => {
                clock.told |= matches!(delta, ChatDelta::Attempt(_));
                Some((Ok(delta), Some((deltas, clock))))
            }
            Some(Err(error)) => Some((Err(clock.failed(error)), None)),
            None if clock.told => None,
            None => Some((Ok(ChatDelta::Attempt(clock.succeeded())), None)),
        }
    })
    .fuse()
    .boxed()
}
