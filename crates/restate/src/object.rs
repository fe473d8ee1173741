//! A thread as a virtual object.
use std::{sync::Arc, time::Duration};

use fugato_graph::{Drive, Next};
use fugato_state::ThreadId;
use restate_sdk::{
    context::RequestTarget,
    discovery::ServiceName,
    endpoint::{self, ContextInternal},
    prelude::*,
    service::{Discoverable, Service, ServiceDefinition, macro_support},
};
use serde::{Deserialize, Serialize};

use crate::RestateError;

/// The threads of the agents, each a virtual object under its name.
///
/// The object keeps one number, the time for which it has ordered its next drive, so that many words
/// for a thread that sleeps lead to one. All else is in the thread's own log.
pub(crate) struct FugatoThread {
    agents: Vec<Arc<dyn Drive>>,
    limit: Duration,
    service: String,
}

/// The end of a drive, as the engine keeps it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Step {
    /// Nothing goes on by itself.
    Rests,
    /// It goes on at this time of the store's clock, after this many milliseconds.
    Later { until: i64, after: u64 },
}

/// The key of the time for which the next drive is ordered.
const ORDERED: &str = "ordered";

impl FugatoThread {
    pub(crate) fn new(agents: Vec<Arc<dyn Drive>>, limit: Duration, service: String) -> Self {
        Self {
            agents,
            limit,
            service,
        }
    }

    /// Returns the object under the name of its service. The SDK's own way fixes the name when it is
    /// compiled, and two programs of one server would take each other's threads.
    pub(crate) fn named(self) -> Result<ServiceDefinition, RestateError> {
        let mut discovery = Self::discover();
        discovery.name = allowed(&self.service)?;
        let threads = NamedThreads(Arc::new(self));
        Ok(macro_support::service_definition(threads, discovery))
    }

    async fn step(agent: Arc<dyn Drive>, thread: ThreadId, limit: Duration) -> HandlerResult<Step> {
        Ok(match agent.drive(&thread, limit).await? {
            Next::WakeAt { until, after } | Next::Retry { until, after } => Step::Later {
                until,
                after: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            },
            Next::Yield => Step::Later { until: 0, after: 0 },
            _ => Step::Rests,
        })
    }
}

/// Returns a name, if a service may have it.
pub(crate) fn allowed(name: &str) -> Result<ServiceName, RestateError> {
    let name = name.to_owned();
    ServiceName::try_from(name.clone()).map_err(|_| RestateError::Service { name })
}

/// The object under a name of its own.
struct NamedThreads(Arc<FugatoThread>);

impl Service for NamedThreads {
    type Future = macro_support::ServiceBoxFuture;

    fn handle(&self, ctx: ContextInternal) -> Self::Future {
        let threads = self.0.clone();
        Box::pin(async move {
            if ctx.handler_name() != DRIVE {
                let (service, handler) = (ctx.service_name(), ctx.handler_name());
                return Err(endpoint::Error::unknown_handler(service, handler));
            }
            let (came, metadata) = ctx.input().await;
            let driven = threads.drive((&ctx, metadata).into(), came).await;
            ctx.handle_handler_result(driven);
            ctx.end();
            Ok(())
        })
    }
}

/// The name of the handler.
const DRIVE: &str = "drive";

#[restate_sdk::object(
    name = "FugatoThread",
    // A drive ends in time by itself; a step may take as long as its node allows.
    inactivity_timeout = "10m",
    abort_timeout = "1h",
    // Nothing is read of a drive that has ended.
    journal_retention = "0s",
    // What cannot be driven now, for instance while the store is away, is tried for ever.
    invocation_retry_policy(initial_interval = "100ms", factor = 2.0, max_interval = "1s")
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
        // The engine is told of the drive and of its end in one message, and so stores them at once.
        // A drive is repeated if the service dies before that, and does nothing that was done; what
        // follows keeps to the end that was stored first.
        let step = Self::step(agent, thread, self.limit).await?;
        let ended = ctx.run(|| async move { Ok(Json(step)) }).name("drive");
        let Json(step) = ended.await?;
        match step {
            Step::Later { until, .. } if until > 0 => {
                let ordered = ctx.get::<i64>(ORDERED).await?;
                // An order that has come is none any more, also if the engine's clock was ahead.
                if ordered == Some(until) && until != came {
                    return Ok(());
                }
                ctx.set(ORDERED, until);
            }
            // What was ordered for a later time is still to come after a word from outside.
            _ if came == 0 => {}
            _ => ctx.clear(ORDERED),
        }
        let Step::Later { until, after } = step else {
            return Ok(());
        };
        let thread = RequestTarget::object(&self.service, ctx.key(), DRIVE);
        ctx.request::<_, ()>(thread, until)
            .send_after(Duration::from_millis(after));
        Ok(())
    }
}
