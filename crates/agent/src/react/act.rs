use std::ops::ControlFlow;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_state::Message;
use fugato_tool::{Access, AnsweredCall, Handoff, NextStep};

use super::{StopReason, receipts::last_said};
use crate::{
    Embeds, React, ReactUpdate, Toolbox,
    reply::{RunReport, show},
    toolbox::{ToolUse, finished},
};

/// The node that carries out the calls of the last answer.
pub(super) struct Act<S: Embeds<React>> {
    pub(super) toolbox: Toolbox<S>,
    pub(super) speaks: bool,
}

#[async_trait]
impl<S: Embeds<React>> Node<S> for Act<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let last = cx.state().part().conversation.history.last();
        let calls = last.map_or(vec![], |message| message.tool_calls.clone());
        let called = match self.toolbox.execute(&cx, &calls).await? {
            ControlFlow::Continue(called) => called,
            ControlFlow::Break(asks) => return Ok(asks),
        };
        let expired = self.expired(cx.state(), &called);
        let end = self.end(&cx, &called);
        Ok(outcome::<S>(called, expired, end))
    }
}

impl<S: Embeds<React>> Act<S> {
    /// Returns the ids of earlier reads whose results may no longer be true.
    fn expired(&self, state: &S, called: &[AnsweredCall<S::Update>]) -> Vec<String> {
        let writes = |called: &AnsweredCall<S::Update>| called.access != Some(Access::Read);
        if !self.toolbox.has_live_reads() || !called.iter().any(writes) {
            return vec![];
        }
        let calls = state.part().conversation.history.iter();
        let calls = calls.flat_map(|message| &message.tool_calls);
        let before = calls.filter(|call| called.iter().all(|now| now.call.id != call.id));
        let is_read = |name: &str| self.toolbox.access(name, state) == Some(Access::Read);
        let reads = before.filter(|call| is_read(&call.name));
        reads.map(|call| call.id.clone()).collect()
    }

    /// Returns the updates of the first call that ends the run; none if the model is asked again.
    fn end(&self, cx: &Context<S>, called: &[AnsweredCall<S::Update>]) -> Vec<ReactUpdate> {
        let ends = |called: &&AnsweredCall<S::Update>| called.result.next != NextStep::RunAgain;
        let Some(last) = called.iter().find(ends) else {
            return vec![];
        };
        let text = last.result.text.clone();
        if let NextStep::Handoff(to) = &last.result.next {
            let to = to.clone();
            return vec![ReactUpdate::HandedOff(Handoff { to, text })];
        }
        let reply = self.reported(cx.state(), called, last);
        if self.speaks {
            show(cx, &reply);
        }
        let said = ReactUpdate::said(Message::assistant(reply));
        vec![said, ReactUpdate::Stopped(StopReason::FinalOutput)]
    }

    /// Returns the result of the last call, after the report of what else the run wrote.
    fn reported(
        &self,
        state: &S,
        called: &[AnsweredCall<S::Update>],
        last: &AnsweredCall<S::Update>,
    ) -> String {
        let text = last.result.for_people();
        if !self.speaks {
            return text.to_owned();
        }
        let others = called.iter().filter(|other| other.call.id != last.call.id);
        let others: Vec<ToolUse> = others.map(used).collect();
        let uses = state.part().run.uses.iter().chain(&others);
        let is_write = |name: &str| self.toolbox.access(name, state) == Some(Access::Write);
        let report = RunReport::of(uses.filter(|used| is_write(&used.name)));
        let report = report.titled(|tool| self.toolbox.title(tool));
        let lines = report.lines(last_said(state.part()));
        if lines.is_empty() {
            text.to_owned()
        } else {
            format!("{lines}\n\n{text}")
        }
    }
}

fn used<U>(called: &AnsweredCall<U>) -> ToolUse {
    let AnsweredCall { call, result, .. } = called;
    let used = ToolUse::new(&call.name, call.arguments.clone(), &result.text);
    used.status(result.status).told(result.told.clone())
}

fn outcome<S: Embeds<React>>(
    called: Vec<AnsweredCall<S::Update>>,
    expired: Vec<String>,
    end: Vec<ReactUpdate>,
) -> Outcome<S::Update> {
    let notes: Vec<_> = called.iter().map(finished).collect();
    let mut updates = vec![];
    if !expired.is_empty() {
        updates.push(S::embed(ReactUpdate::Expired { calls: expired }));
    }
    for one in called {
        let (call, tool) = (one.call.id.clone(), used(&one));
        updates.push(S::embed(ReactUpdate::Used { call, tool }));
        updates.extend(one.result.updates);
    }
    updates.push(S::embed(ReactUpdate::RoundEnded));
    updates.extend(end.into_iter().map(S::embed));
    let done = Outcome::done(updates);
    notes.into_iter().fold(done, Outcome::note)
}
