//! A thread as a virtual object.
use std::{sync::Arc, time::Duration};

use fugato_graph::{Drive, Next};
use fugato_state::ThreadId;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

/// The threads of the agents, each a virtual object under its name.
///
/// The object keeps one number, the time for which it has ordered its next drive, so that many words
/// for a thread that sleeps lead to one. All else is in the thread's own log.
pub(crate) struct FugatoThread {
    agents: Vec<Arc<dyn Drive>>,
    limit: Duration,
}

/// The end of a drive, as the engine keeps it.
#[derive(Debug, Serialize, Deserialize)]
enum Step {
    /// Nothing goes on by itself.
    Rests,
    /// It goes on at this time of the store's clock, after this many milliseconds.
    Later { until: i64, after: u64 },
}

/// The key of the time for which the next drive is ordered.
const ORDERED: &str = "ordered";

impl FugatoThread {
    pub(crate) fn new(agents: Vec<Arc<dyn Drive>>, limit: Duration) -> Self {
        Self { agents, limit }
    }

    async fn step(agent: Arc<dyn Drive>, thread: ThreadId, limit: Duration) -> HandlerResult<Step> {
        Ok(match agent.drive(&thread, limit).await? {
            Next::WakeAt(wait) | Next::Retry(wait) => Step::Later {
                until: wait.until,
                after: u64::try_from(wait.after.as_millis()).unwrap_or(u64::MAX),
            },
            Next::Yield => Step::Later { until: 0, after: 0 },
            _ => Step::Rests,
        })
    }
}

#[restate_sdk::object(
    name = "FugatoThread",
    // A drive ends in time by itself; a step may take as long as its node allows.
    inactivity_timeout = "10m",
    abort_timeout = "1h",
    // Nothing is read of a drive that has ended.
    journal_retention = "0s",
    // What cannot be driven now, for instance while the store is away, is tried for ever.
    invocation_retry_policy(initial_interval = "200ms", factor = 2.0, max_interval = "10s")
)]
impl FugatoThread {
    /// Lets the thread go on, and orders the next drive. `came` is the time for which this one was
    /// ordered; 0 for a word from outside.
    #[handler]
    async fn drive(&self, ctx: ObjectContext<'_>, came: i64) -> Result<(), HandlerError> {
        let name = ctx.key().to_owned();
        let wrong = |why: String| HandlerError::from(TerminalError::new_with_code(400, why));
        let thread = ThreadId::new(name.clone()).map_err(|error| wrong(error.to_string()))?;
        let mut agents = self.agents.iter();
        let agent = agents.find(|agent| name.starts_with(agent.prefix()));
        let Some(agent) = agent.cloned() else {
            return Err(wrong(format!(
                "no agent of this program has the thread {name:?}"
            )));
        };
        let limit = self.limit;
        let driven = ctx
            .run(|| async move { Self::step(agent, thread, limit).await.map(Json) })
            .name("drive");
        let Json(step) = driven.await?;
        // An order that has come is none any more, also if the engine's clock was ahead.
        let ordered = ctx.get::<i64>(ORDERED).await?;
        let open = ordered.filter(|time| *time != came);
        let Step::Later { until, after } = step else {
            if ordered.is_some() {
                ctx.clear(ORDERED);
            }
            return Ok(());
        };
        if until > 0 {
            if open == Some(until) {
                return Ok(());
            }
            ctx.set(ORDERED, until);
        }
        let again = ctx
            .object_client::<FugatoThreadClient>(ctx.key())
            .drive(until);
        again.send_after(Duration::from_millis(after));
        Ok(())
    }
}
