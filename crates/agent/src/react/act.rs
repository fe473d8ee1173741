use std::ops::ControlFlow;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_tool::{Access, AnsweredCall};

use crate::{
    Embeds, React, ReactUpdate, Toolbox,
    toolbox::{ToolUse, finished},
};

/// The node that carries out the calls of the last answer.
pub(super) struct Act<S: Embeds<React>>(pub(super) Toolbox<S>);

#[async_trait]
impl<S: Embeds<React>> Node<S> for Act<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let last = cx.state().part().conversation.history.last();
        let calls = last.map_or(vec![], |message| message.tool_calls.clone());
        let called = match self.0.execute(&cx, &calls).await? {
            ControlFlow::Continue(called) => called,
            ControlFlow::Break(asks) => return Ok(asks),
        };
        let expired = self.expired(cx.state(), &called);
        Ok(outcome::<S>(called, expired))
    }
}

impl<S: Embeds<React>> Act<S> {
    /// Returns the ids of earlier reads whose results may no longer be true.
    fn expired(&self, state: &S, called: &[AnsweredCall<S::Update>]) -> Vec<String> {
        let writes = |called: &AnsweredCall<S::Update>| called.access != Some(Access::Read);
        if !self.0.has_live_reads() || !called.iter().any(writes) {
            return vec![];
        }
        let calls = state.part().conversation.history.iter();
        let calls = calls.flat_map(|message| &message.tool_calls);
        let before = calls.filter(|call| called.iter().all(|now| now.call.id != call.id));
        let reads = before.filter(|call| self.0.access(&call.name, state) == Some(Access::Read));
        reads.map(|call| call.id.clone()).collect()
    }
}

fn outcome<S: Embeds<React>>(
    called: Vec<AnsweredCall<S::Update>>,
    expired: Vec<String>,
) -> Outcome<S::Update> {
    let notes: Vec<_> = called.iter().map(finished).collect();
    let mut updates = vec![];
    if !expired.is_empty() {
        updates.push(S::embed(ReactUpdate::Expired { calls: expired }));
    }
    for AnsweredCall { call, result, .. } in called {
        let (id, status) = (call.id, result.status);
        let tool = ToolUse::new(call.name, call.arguments, result.text).status(status);
        updates.push(S::embed(ReactUpdate::Used { call: id, tool }));
        updates.extend(result.updates);
    }
    updates.push(S::embed(ReactUpdate::RoundEnded));
    let done = Outcome::done(updates);
    notes.into_iter().fold(done, Outcome::note)
}
