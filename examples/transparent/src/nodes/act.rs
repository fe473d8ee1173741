use std::ops::ControlFlow;

use async_trait::async_trait;
use fugato::{
    BoxError, Context, EventKind, Node, Outcome, agent::toolbox::finished, command::NOTIFY,
    state::ToolStatus,
};
use serde_json::json;

use crate::{
    agent::{AgentState, PendingCall, Update},
    deps::Deps,
    reminders::Reminder,
};

/// The name of the card for a notification.
pub(super) const NOTIFICATION: &str = "notification";

/// The node that carries out the call that is due, with a confirmation if it needs one.
#[derive(Debug)]
pub struct Act(pub Deps);

#[async_trait]
impl Node<AgentState> for Act {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let (deps, agent) = (&self.0, cx.state());
        let wanted = agent.turn.wanted.as_ref().ok_or("no call is wanted")?;
        let calls = [wanted.call.clone()];
        let asks = deps.toolbox.round(&calls, agent).cards().next().is_some();
        let called = match deps.toolbox.execute(&cx, &calls).await? {
            ControlFlow::Continue(mut called) => called.pop().ok_or("a call has a result")?,
            ControlFlow::Break(asks) => return Ok(asks),
        };
        let told = finished(&called);
        let result = called.result;
        // A call that the person declined is not repaired.
        let refused = asks && result.status == ToolStatus::Blocked;
        let repairable = !refused && result.status != ToolStatus::Ok && has_attempts(deps, wanted);
        let notified = wanted.call.name == NOTIFY && result.is_ok();
        if let Some(job) = agent.turn.request.job.as_ref().filter(|_| notified) {
            deps.reminders.tell(Reminder {
                job: job.clone(),
                place: agent.thread.clone(),
                at: agent.turn.began_at,
                text: result.summary.clone(),
            });
        }
        let shown = notified.then(|| EventKind::Card {
            card: NOTIFICATION.to_owned(),
            data: json!({ "text": result.summary, "job": agent.turn.request.job }),
        });
        let done = Update::Called {
            status: result.status,
            text: result.text,
            told: result.told,
            data: result.data,
            repairable,
        };
        let updates = std::iter::once(done).chain(result.updates);
        let outcome = Outcome::done(updates).note(told);
        Ok(shown.into_iter().fold(outcome, Outcome::note))
    }
}

fn has_attempts(deps: &Deps, wanted: &PendingCall) -> bool {
    wanted.attempt < deps.limits.attempts
}
