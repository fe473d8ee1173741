use std::{error::Error, fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use fugato_state::{EffectClass, ToolCall};
use futures::FutureExt as _;
use tracing::{Instrument as _, field::Empty};

use crate::{
    ConfirmCard, ToolContext, ToolFailure, ToolResult, ToolSpec, dynamic::Prepared,
    preview::preview, registry::Entry,
};

/// A call that may be executed: the tool is visible and the arguments fit.
pub struct Admitted<S = (), U = ()> {
    pub(crate) entry: Arc<Entry<S, U>>,
    pub(crate) call: ToolCall,
    pub(crate) prepared: Box<dyn Prepared<S, U>>,
}

impl<S, U> Admitted<S, U> {
    /// What is known about the tool.
    pub fn spec(&self) -> &ToolSpec {
        &self.entry.spec
    }

    /// The call with its canonical name and normalised arguments: what to store, to show, and to
    /// take a digest of.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// A short line for people: at most two arguments that may be shown.
    pub fn preview(&self) -> String {
        preview(self.spec(), &self.call.arguments)
    }

    /// The card, with what would come of this call.
    pub(crate) fn on(&self, mut card: ConfirmCard) -> ConfirmCard {
        if card.consequence.is_empty() {
            card.consequence = self.prepared.consequence().unwrap_or_default();
        }
        card
    }

    /// Executes the call. What went wrong is a result, too: the model reads it.
    pub async fn run(self, cx: ToolContext<'_, S>) -> ToolResult<U>
    where
        S: Sync,
    {
        self.act(cx).await.unwrap_or_else(ToolResult::from)
    }

    /// Executes the call as an effect of the outside world: an error says that nobody knows whether
    /// a tool of class [`EffectClass::Once`] did what it does, so that no receipt may be written.
    /// Any other class may be repeated, and what went wrong is a result, unless the failure is
    /// [`unsettled`](ToolFailure::unsettled).
    pub async fn act(self, cx: ToolContext<'_, S>) -> Result<ToolResult<U>, InDoubt>
    where
        S: Sync,
    {
        let Self {
            entry,
            call,
            prepared,
        } = self;
        let spec = &entry.spec;
        if spec.requires_state && !cx.has_state() {
            return Ok(ToolFailure::no_state().into());
        }
        // A panic is the failure of one call, not of its siblings. The call is gone with it, so
        // nothing half changed is seen again.
        let span = tracing::info_span!(
            target: "fugato.tool",
            "execute_tool",
            otel.name = format!("execute_tool {}", spec.name),
            otel.status_code = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = spec.name,
            gen_ai.tool.call.id = call.id,
        );
        let ended = prepared.run(cx.call(&call.id)).instrument(span.clone());
        let ended = AssertUnwindSafe(ended).catch_unwind();
        let ended = match spec.timeout {
            Some(limit) => tokio::time::timeout(limit, ended)
                .await
                .unwrap_or_else(|_| Ok(Err(overdue(&spec.name, limit)))),
            None => ended.await,
        };
        let failure = match ended {
            Ok(Ok(output)) => return Ok(output.into()),
            Ok(Err(failure)) => failure,
            Err(panic) => ToolFailure::internal(Panicked(text_of(&*panic))),
        };
        span.record("otel.status_code", "ERROR");
        tracing::warn!(tool = %spec.name, call = %call.id, error = %Chain(&failure), "{}", crate::log_key::TOOL_FAILED);
        if failure.unsettled || failure.in_doubt && spec.effect == EffectClass::Once {
            let tool = spec.name.clone();
            return Err(InDoubt { tool, failure });
        }
        Ok(failure.into())
    }
}

fn overdue(tool: &str, limit: Duration) -> ToolFailure {
    let text = format!("`{tool}` took longer than {limit:?} and was stopped; ask for less at once");
    ToolFailure::failed(text).in_doubt()
}

/// Nobody knows whether a tool that must not act twice has acted: it took too long, it panicked, or
/// it said so itself.
#[derive(Debug, thiserror::Error)]
#[error("whether the tool {tool:?} has acted is not known")]
pub struct InDoubt {
    /// The tool.
    pub tool: String,
    /// What it ended with.
    #[source]
    pub failure: ToolFailure,
}

impl<U> From<InDoubt> for ToolResult<U> {
    fn from(doubt: InDoubt) -> Self {
        let tool = doubt.tool;
        let text =
            format!("whether `{tool}` was carried out is not known; look before you call it again");
        ToolFailure::failed(text).into()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("it panicked: {0}")]
struct Panicked(String);

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a text".to_owned())
}

/// An error with its sources, for the operator.
struct Chain<'a>(&'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl<S, U> fmt::Debug for Admitted<S, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
