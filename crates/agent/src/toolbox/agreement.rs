//! The record of an agreement whose call has begun.
use std::future::ready;

use fugato_graph::{BoxError, Context, Effect, EffectError, digest};
use fugato_state::{State, ToolCall};
use fugato_tool::Round;

use super::{Toolbox, question_key};

impl<S: State> Toolbox<S> {
    /// Records that a call begins to which a person has agreed, before it does.
    ///
    /// If the process dies before the receipt of the call is stored, a call that may be repeated
    /// leaves no other trace in the log. What its own work has changed would then look like the work
    /// of somebody else, for which the person has to be asked anew.
    pub(super) async fn record_agreement(
        &self,
        cx: &Context<S>,
        call: &ToolCall,
        version: Option<String>,
    ) -> Result<(), BoxError> {
        if is_agreed(cx, call)? {
            // Its receipt is stored before the next effect begins: that of the call.
            self.agreement(cx, call, Ok(version)).await?;
        }
        Ok(())
    }

    /// Returns the round with the calls marked that have begun in an earlier attempt, as a person has
    /// agreed to them.
    pub(super) async fn resumed(
        &self,
        cx: &Context<S>,
        mut round: Round<S, S::Update>,
    ) -> Result<Round<S, S::Update>, BoxError> {
        let calls: Vec<ToolCall> = round.calls().cloned().collect();
        for call in calls {
            if !is_agreed(cx, &call)? {
                continue;
            }
            let unknown = Err(EffectError::not_executed("the call has not begun"));
            match self.agreement(cx, &call, unknown).await {
                Ok(version) => _ = round.resume(&call.id, version),
                // Older programs have stored no agreement, and a call leaves no other trace of the
                // version: whatever is there now is not it.
                Err(EffectError::Failed { .. })
                    if cx.performed_effects().await.contains(&call.id) =>
                {
                    round.resume(&call.id, Some(String::new()));
                }
                Err(EffectError::Failed { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
        Ok(round)
    }

    /// Returns the version of a card that is stored for a call, or else stores this one.
    async fn agreement(
        &self,
        cx: &Context<S>,
        call: &ToolCall,
        version: Result<Option<String>, EffectError>,
    ) -> Result<Option<String>, EffectError> {
        // An operator may have edited the state from which the call is made.
        let asked = digest(format!("{}{}", call.name, call.arguments).as_bytes());
        let key = format!("agreed/{}/{asked}", call.id);
        let (key, effect) = match self.key {
            None => (key, Effect::idempotent()),
            // It belongs where the effect of the call does, and to one task's agreement.
            Some(_) => (
                format!("{}/{}/{key}", cx.run().0, cx.task()),
                Effect::idempotent().whole_thread(),
            ),
        };
        cx.effect(key, effect, &(), move |_| ready(version)).await
    }
}

/// Returns true if a person has agreed to a call with this id in this task.
fn is_agreed<S: State>(cx: &Context<S>, call: &ToolCall) -> Result<bool, serde_json::Error> {
    Ok(cx.answer::<bool>(&question_key(&call.id))? == Some(true))
}
