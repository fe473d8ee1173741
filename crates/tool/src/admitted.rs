use std::{error::Error, fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use fugato_state::{EffectClass, ToolCall, say};
use futures::FutureExt as _;
use tracing::{Instrument as _, field::Empty};

use crate::{
    ConfirmCard, GatePolicy, GatedCall, ToolContext, ToolFailure, ToolResult, ToolSpec, Verdict,
    dynamic::PreparedCall, preview::preview, registry::Entry,
};

/// A checked call that may be executed: the tool is visible and the arguments fit.
#[derive(derive_more::Debug)]
#[debug("AdmittedCall {{ call: {call:?}, .. }}")]
pub struct AdmittedCall<S = (), U = ()> {
    pub(crate) entry: Arc<Entry<S, U>>,
    pub(crate) call: ToolCall,
    pub(crate) prepared: Box<dyn PreparedCall<S, U>>,
    /// The version that a person has agreed to.
    pub(crate) agreed: Option<String>,
    /// True if it has begun before, as a person has agreed to it.
    pub(crate) repeat: bool,
}

impl<S, U> AdmittedCall<S, U> {
    /// Returns the spec of the tool.
    pub fn spec(&self) -> &ToolSpec {
        &self.entry.spec
    }

    /// Returns the call with its canonical name and normalised arguments: the form to store, to
    /// show and to digest.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns a short line for people with at most two arguments that may be shown.
    pub fn preview(&self) -> String {
        preview(self.spec(), &self.call.arguments)
    }

    /// Returns the verdict of a gate on this call. A card gets the consequence of the call, and what
    /// people call its values; there is none for a call that the tool refuses in any case, and none for
    /// one that has begun with the agreement of a person: by its own work it may say something else.
    pub fn judged<G>(&self, gates: &impl GatePolicy<G>, state: &G) -> Verdict {
        let call = GatedCall {
            spec: self.spec(),
            call: self.call(),
        };
        match gates.judge(&call, state) {
            Verdict::NeedConfirm(_) if self.repeat => Verdict::Allow,
            Verdict::NeedConfirm(card) => self
                .prepared
                .refusal()
                .map_or_else(|| Verdict::NeedConfirm(self.on(card)), Verdict::Block),
            other => other,
        }
    }

    /// Returns the call as a person has agreed to it by this card.
    #[must_use]
    pub fn agreed(mut self, card: &ConfirmCard) -> Self {
        self.agreed = Some(card.version.clone()).filter(|version| !version.is_empty());
        self
    }

    /// Returns the version of what the call acts on that a person has agreed to: see
    /// [`ToolContext::agreed_version`].
    pub fn agreed_version(&self) -> Option<&str> {
        self.agreed.as_deref()
    }

    pub(crate) fn resumed(mut self, agreed: Option<String>) -> Self {
        (self.agreed, self.repeat) = (agreed, true);
        self
    }

    /// Returns the card with the consequence, the version and the labels of this call that it does not
    /// have yet.
    fn on(&self, mut card: ConfirmCard) -> ConfirmCard {
        if card.consequence.is_empty() {
            card.consequence = self.prepared.consequence().unwrap_or_default();
        }
        if card.version.is_empty() {
            card.version = self.prepared.version().unwrap_or_default();
        }
        for (argument, label) in self.prepared.labels() {
            card.labels.entry(argument).or_insert(label);
        }
        card
    }

    /// Executes the call. A failure is a result too, which the model reads.
    pub async fn run(self, cx: ToolContext<'_, S>) -> ToolResult<U>
    where
        S: Sync,
    {
        self.act(cx).await.unwrap_or_else(ToolResult::from)
    }

    /// Executes the call as an effect of the outside world.
    ///
    /// The error [`UnknownOutcome`] says that it is unknown whether a tool of class [`EffectClass::Once`]
    /// has acted, so that no receipt may be written. A call of any other class may be repeated, and
    /// its failure is a result, unless the failure is [`unsettled`](ToolFailure::unsettled).
    pub async fn act(self, cx: ToolContext<'_, S>) -> Result<ToolResult<U>, UnknownOutcome>
    where
        S: Sync,
    {
        let Self {
            entry,
            call,
            prepared,
            agreed,
            repeat,
        } = self;
        let spec = &entry.spec;
        if spec.requires_state && !cx.has_state() {
            return Ok(ToolFailure::no_state().into());
        }
        // A panic is the failure of one call, not of its siblings. The call is consumed, so no
        // half-changed value is used again.
        let span = tracing::info_span!(
            target: "fugato.tool",
            "execute_tool",
            otel.name = format!("execute_tool {}", spec.name),
            otel.status_code = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = spec.name,
            gen_ai.tool.call.id = call.id,
        );
        let cx = cx.call(&call.id).agreed(agreed.as_deref()).repeat(repeat);
        let ended = prepared.run(cx).instrument(span.clone());
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
            Err(panic) => ToolFailure::internal(ToolPanic(text_of(&*panic))),
        };
        span.record("otel.status_code", "ERROR");
        tracing::warn!(tool = %spec.name, call = %call.id, error = %Chain(&failure), "tool failed");
        if failure.unsettled || failure.in_doubt && spec.effect == EffectClass::Once {
            let tool = spec.name.clone();
            return Err(UnknownOutcome { tool, failure });
        }
        Ok(failure.into())
    }
}

fn overdue(tool: &str, limit: Duration) -> ToolFailure {
    let text = say!(
        "`{tool}` took longer than {limit:?} and was stopped",
        "`{tool}` 超过了 {limit:?}，已停止"
    );
    let advice = say!("ask for less at once", "请一次少要一些");
    ToolFailure::failed(text).advice(advice).in_doubt()
}

/// The error if it is unknown whether a tool has acted: it timed out, it panicked, or it reported
/// the doubt itself.
#[derive(Debug, thiserror::Error)]
#[error("{}", say!("whether the tool {tool:?} has acted is not known", "不知道工具 {tool:?} 是否已执行"))]
pub struct UnknownOutcome {
    /// The name of the tool.
    pub tool: String,
    /// The failure of the call.
    #[source]
    pub failure: ToolFailure,
}

impl<U> From<UnknownOutcome> for ToolResult<U> {
    fn from(doubt: UnknownOutcome) -> Self {
        let tool = doubt.tool;
        let text = say!(
            "whether `{tool}` was carried out is not known",
            "不知道 `{tool}` 是否已执行"
        );
        let advice = say!("look before you call it again", "再次调用前请先查看");
        ToolFailure::failed(text).advice(advice).into()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("it panicked: {0}")]
struct ToolPanic(String);

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a text".to_owned())
}

/// The text of an error and its sources, for the operator.
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
