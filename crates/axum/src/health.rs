//! Health and metrics for monitoring.
use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
};

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use fugato_graph::{RunError, RunErrorKind};
use fugato_state::{ThreadId, say};
use fugato_store::{LeaseOutcome, LeaseRequest, StoreError, StoreErrorKind, ThreadLog};
use serde_json::json;

use crate::{BadInput, Caller, app_state::AppState, erased::RunRest, error::ApiResult};

/// Counters since the process began.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    begun: AtomicU64,
    active: AtomicI64,
    ended: [AtomicU64; ENDINGS.len()],
    streams: AtomicI64,
    events: AtomicU64,
    responses: [AtomicU64; 6],
    /// True once the store has taken no write of a run, until it takes one again.
    unwritten: AtomicBool,
}

const ENDINGS: [&str; 7] = [
    "finished",
    "parked",
    "failed",
    "cancelled",
    "handed_over",
    "refused",
    "other",
];

impl Metrics {
    pub(crate) fn begun(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ended(&self, end: &Result<RunRest, RunError>) {
        self.active.fetch_sub(1, Ordering::Relaxed);
        match end {
            Ok(_) => self.unwritten.store(false, Ordering::Relaxed),
            Err(error) => {
                use StoreErrorKind::{Full, Unavailable};
                if matches!(error.kind, RunErrorKind::Store(Full | Unavailable)) {
                    self.unwritten.store(true, Ordering::Relaxed);
                }
            }
        }
        let ending = ending(end);
        let counters = ENDINGS.iter().zip(&self.ended);
        for (_, counter) in counters.filter(|(name, _)| **name == ending) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn events(&self, events: usize) {
        self.events.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// Counts a stream as open until the returned guard is dropped.
    pub(crate) fn stream(self: &Arc<Self>) -> OpenStream {
        self.streams.fetch_add(1, Ordering::Relaxed);
        OpenStream(self.clone())
    }

    pub(crate) fn responded(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100);
        if let Some(counter) = self.responses.get(class) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counters in Prometheus's text format.
    fn text(&self) -> String {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let name = "fugato_runs_begun_total";
        head(&mut out, name, "counter", "Runs that were asked for.");
        let _ = writeln!(out, "{name} {}", count(&self.begun));
        let name = "fugato_runs_ended_total";
        head(&mut out, name, "counter", "Runs that came to rest, by how.");
        for (ending, counter) in ENDINGS.iter().zip(&self.ended) {
            let _ = writeln!(out, "{name}{{end=\"{ending}\"}} {}", count(counter));
        }
        let name = "fugato_events_sent_total";
        head(
            &mut out,
            name,
            "counter",
            "Events that were sent to readers.",
        );
        let _ = writeln!(out, "{name} {}", count(&self.events));
        let name = "fugato_responses_total";
        head(
            &mut out,
            name,
            "counter",
            "Answers to requests, by their class.",
        );
        for (class, counter) in self.responses.iter().enumerate().skip(1) {
            let _ = writeln!(out, "{name}{{class=\"{class}xx\"}} {}", count(counter));
        }
        for (name, help, gauge) in [
            ("fugato_runs_active", "Runs under way.", &self.active),
            (
                "fugato_streams_open",
                "Streams and sockets that are open.",
                &self.streams,
            ),
        ] {
            head(&mut out, name, "gauge", help);
            let _ = writeln!(out, "{name} {}", gauge.load(Ordering::Relaxed));
        }
        out
    }
}

/// The guard of an open stream.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<Metrics>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the label of a run's end in the metrics.
fn ending(end: &Result<RunRest, RunError>) -> &'static str {
    use RunErrorKind as Kind;
    match end {
        Ok(RunRest::Finished(_)) => "finished",
        Ok(RunRest::Interrupted(_)) => "parked",
        Ok(RunRest::Other) => "other",
        Err(error) => match &error.kind {
            Kind::Cancelled { .. } => "cancelled",
            Kind::HandedOver => "handed_over",
            Kind::Answer(_)
            | Kind::Busy { .. }
            | Kind::Waiting { .. }
            | Kind::Unfinished
            | Kind::NothingToDo
            | Kind::GraphChanged { .. }
            | Kind::RequestChanged { .. }
            | Kind::FailedBefore { .. } => "refused",
            _ => "failed",
        },
    }
}

/// The milliseconds that a lease is held which tries whether the store takes a write.
const TRIAL: i64 = 1000;

/// Reads the store. Only while it has taken no write of a run does this write to it: a lease, which is
/// given back.
async fn store_works(log: &dyn ThreadLog, metrics: &Metrics) -> Result<(), StoreError> {
    let thread = ThreadId::new("health").expect("a short word is a name");
    log.head(&thread).await?;
    if !metrics.unwritten.load(Ordering::Relaxed) {
        return Ok(());
    }
    let (owner, ttl) = ("health".to_owned(), TRIAL);
    let trial = LeaseRequest::Acquire { thread, owner, ttl };
    if let LeaseOutcome::Granted(leases) = log.lease(trial).await? {
        for lease in leases {
            let (thread, fence) = (lease.thread, lease.fence);
            log.lease(LeaseRequest::Release { thread, fence }).await?;
        }
    }
    metrics.unwritten.store(false, Ordering::Relaxed);
    Ok(())
}

/// `GET /health`: 200 `ok`, or 503 with `closing` or `store_unavailable`.
pub(crate) async fn health(State(app_state): State<Arc<AppState>>) -> ApiResult {
    let store = store_works(app_state.agent.log(), &app_state.metrics).await;
    let (status, word) = match store {
        Err(error) => {
            tracing::error!(%error, "store is unhealthy");
            (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable")
        }
        Ok(()) if app_state.is_closing() => (StatusCode::SERVICE_UNAVAILABLE, "closing"),
        Ok(()) => (StatusCode::OK, "ok"),
    };
    Ok((status, Json(json!({ "status": word }))).into_response())
}

/// `GET /metrics`, for operators: the counters are those of all callers.
pub(crate) async fn metrics(State(app_state): State<Arc<AppState>>, caller: Caller) -> ApiResult {
    if !caller.is_operator() {
        return Err(BadInput::forbidden(say!(
            "the metrics are for the operator of the agent",
            "指标只给助手的运维人员看"
        ))
        .into());
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((kind, app_state.metrics.text()).into_response())
}
