use std::time::Duration;

use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind};

/// One attempt to get an answer: the model, its duration, and the failure if there was one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attempt {
    /// The name of the model.
    pub model: String,
    /// The time from the request to the end of the answer or to the failure, in whole milliseconds.
    pub took: Duration,
    /// The failure; `None` if the attempt succeeded.
    pub failure: Option<AttemptFailure>,
}

/// The failure of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttemptFailure {
    /// The kind of the error.
    pub kind: ModelErrorKind,
    /// The error as text for people.
    pub message: String,
}

impl Attempt {
    /// Creates an attempt of `model` that succeeded after `took`.
    pub fn succeeded(model: impl Into<String>, took: Duration) -> Self {
        let took = Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        Self {
            model: model.into(),
            took,
            failure: None,
        }
    }

    /// Creates an attempt of `model` that failed after `took`.
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

/// An answer that has begun: its first delta has arrived, or it ended without any.
pub(crate) struct StartedAnswer {
    /// The deltas, the first included; the attempt that succeeds comes last.
    pub(crate) deltas: DeltaStream,
    /// The attempts that an inner decorator made before this one.
    pub(crate) earlier: Vec<Attempt>,
}

/// Sends the request and waits for the first delta. Until then a retry cannot repeat any output. A
/// usage delta does not count as the first one, because some servers send it before the answer.
///
/// An error carries the attempt that it ended. A successful answer reports its attempt as its last
/// delta, unless an inner decorator already did.
pub(crate) async fn begin<M: ChatModel + ?Sized>(
    model: &M,
    request: ChatRequest,
) -> Result<StartedAnswer, ModelError> {
    let clock = Clock {
        model: request.model.as_deref().unwrap_or(model.name()).to_owned(),
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
    Ok(StartedAnswer {
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
                "model_attempt"
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
            "model_attempt"
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
