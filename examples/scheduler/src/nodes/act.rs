use std::{ops::ControlFlow, slice};

use async_trait::async_trait;
use fugato::{
    agent::toolbox::finished,
    graph::{BoxError, Context, Node, Outcome},
    state::ConversationUpdate,
    tool::{AnsweredCall, StepEvidence, WantedCall},
};

use super::keep::settle;
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    reason,
    schedule::QueueUpdate,
    tools::{EDIT_TASK_CLASS, QUEUE_APPLY_HEAD_MOVE, UPSERT_TASK_CLASS},
};

/// The node that executes the wanted call, and nothing else. No model is asked.
#[derive(Debug)]
pub struct Act(pub Deps);

#[async_trait]
impl Node<AgentState> for Act {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let wanted = agent.wanted.as_ref().filter(|wanted| wanted.accepted);
        let wanted = wanted.ok_or("there is no accepted call to execute")?;
        let calls = slice::from_ref(&wanted.call);
        let called = match self.0.toolbox.execute(&cx, calls).await? {
            ControlFlow::Continue(called) => called,
            ControlFlow::Break(asks) => return Ok(asks),
        };
        let (mut notes, mut done) = (vec![], vec![]);
        for mut called in called {
            called.result = settle(&self.0, &cx, &called.call.name, called.result).await?;
            // The line is for the person; what the model reads stays as the tool says it.
            if let Some(told) = reason::told(agent, &called.call.name, &called.result) {
                called.result.summary = told;
            }
            notes.push(finished(&called));
            done.extend(updates(agent, wanted, called));
        }
        Ok(notes.into_iter().fold(Outcome::done(done), Outcome::note))
    }
}

fn updates(agent: &AgentState, wanted: &WantedCall, called: AnsweredCall<Update>) -> Vec<Update> {
    let said = |message| Update::Talked(ConversationUpdate::Said(message));
    let mut updates: Vec<_> = wanted.answered(&called).map(said).into();
    // A call by hand is no evidence for a plan that was not agreed to.
    let evidence = StepEvidence::of_call(agent.plan.current, &called);
    let evidence = evidence.filter(|_| !agent.run.asks_again);
    let AnsweredCall { call, result, .. } = called;
    let success = result.is_ok();
    updates.extend(result.updates);
    updates.extend(evidence.map(Update::Evidence));
    if !success && call.name == QUEUE_APPLY_HEAD_MOVE {
        let why = result.text;
        updates.push(Update::Queued(QueueUpdate::Failed { why }));
    }
    if !success && matches!(&*call.name, UPSERT_TASK_CLASS | EDIT_TASK_CLASS) {
        updates.push(Update::ClassRefused(result.issues));
    }
    updates.push(Update::WantedDone);
    // A call by hand is the whole run, but for what it took the place of.
    if agent.run.aside.is_empty() {
        updates.extend(agent.run.by_hand.then_some(Update::Done));
        updates.extend(agent.run.asks_again.then_some(Update::AskedAgain));
    }
    updates
}
