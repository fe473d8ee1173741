use async_trait::async_trait;
use fugato::{
    graph::{BoxError, Context, Node, Outcome},
    state::ConversationUpdate,
    stream::EventKind,
    tool::{Access, ToolContext, ToolResult, call_pair},
};

use super::keep::settle;
use crate::{
    agent::{AgentState, EvidenceSource, PendingWrite, StepEvidence, Update},
    deps::Deps,
    schedule::QueueUpdate,
    tools::{QUEUE_APPLY_HEAD_MOVE, ToolView, UPSERT_TASK_CLASS},
};

/// The node that executes the wanted call, and nothing else. No model is asked.
#[derive(Debug)]
pub struct Act(pub Deps);

#[async_trait]
impl Node<AgentState> for Act {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let Some(wanted) = agent.wanted.as_ref().filter(|wanted| wanted.accepted) else {
            return Err("there is no accepted call to execute".into());
        };
        let name = wanted.call.name.clone();
        let (call, preview) = (wanted.call.id.clone(), wanted.summary.clone());
        cx.emit(EventKind::ToolStarted {
            call: call.clone(),
            name: name.clone(),
            preview,
        });
        let tools = agent.active_tools();
        let view = ToolView::of(agent, self.0.existing_may_move);
        let context = match &view {
            Some(view) => ToolContext::new(view),
            None => ToolContext::without_state(),
        };
        let result = self
            .0
            .registry
            .call(&wanted.call, context.visibility(&tools))
            .await;
        drop(view);
        let result = settle(&self.0, &cx, &name, result).await?;
        let access = self
            .0
            .registry
            .spec(&name)
            .map_or(Access::Read, |spec| spec.access);
        let finished = EventKind::ToolFinished {
            call,
            name,
            status: result.status,
            summary: result.summary.clone(),
            result: None,
        };
        let updates = updates(agent, wanted, access, result);
        Ok(Outcome::done(updates).note(finished))
    }
}

fn updates(
    agent: &AgentState,
    wanted: &PendingWrite,
    access: Access,
    result: ToolResult<Update>,
) -> Vec<Update> {
    let success = result.is_ok();
    let pair = call_pair(
        wanted.call.clone(),
        wanted.speak.clone(),
        result.text.clone(),
    );
    let mut updates: Vec<_> = pair
        .into_iter()
        .map(|m| Update::Talked(ConversationUpdate::Said(m)))
        .collect();
    updates.extend(result.updates);
    let source = match access {
        Access::Write => EvidenceSource::WriteReceipt,
        _ => EvidenceSource::ToolObservation,
    };
    // A call by hand is no evidence for a plan that was not agreed to.
    if access != Access::Context && !agent.run.asks_again {
        updates.push(Update::Evidence(StepEvidence {
            step_index: agent.plan.current,
            source,
            name: wanted.call.name.clone(),
            arguments_digest: wanted.call.arguments.to_string(),
            success,
            summary: result.summary.clone(),
        }));
    }
    if !success && wanted.call.name == QUEUE_APPLY_HEAD_MOVE {
        let why = result.text.clone();
        updates.push(Update::Queued(QueueUpdate::Failed { why }));
    }
    if !success && wanted.call.name == UPSERT_TASK_CLASS {
        updates.push(Update::ClassRefused(result.issues));
    }
    updates.push(Update::WantedDone);
    // A call by hand is the whole run.
    updates.extend(agent.run.by_hand.then_some(Update::Done));
    updates.extend(agent.run.asks_again.then_some(Update::AskedAgain));
    updates
}
