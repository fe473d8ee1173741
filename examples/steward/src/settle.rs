//! The result of an action, merged into the plan.
use fugato::{
    BoxError, Context,
    agent::{
        reply::show,
        sequence::{ActionEnd, Actions},
    },
    state::State as _,
};
use serde_json::{Value, json};

use crate::{
    action::{PRECHECK, sequence},
    reply,
    state::{ActionResult, GraphOutput, RequestKind, Steward, Update, WorkStatus},
};

/// Returns the end of an action in the form that clients get; none before the end.
pub(crate) fn result_of(actions: &Actions) -> Option<ActionResult> {
    let (end, last) = (actions.end.as_ref()?, actions.done.last());
    let data = last.map_or(Value::Null, |done| done.data.clone());
    let said = last.map_or_else(String::new, |done| done.text.clone());
    let asked = actions.request.as_ref().map(|request| &request.action);
    let name = last.map(|done| &done.action).or(asked);
    let name = name.cloned().unwrap_or_default();
    let (action, outcome, message) = match end {
        // What speaks against it was found as it should be, and blocks all the same.
        ActionEnd::Done if name == PRECHECK && data.get("passed") == Some(&json!(false)) => {
            (name, "blocked", said)
        }
        ActionEnd::Done => (name, "succeeded", said),
        ActionEnd::Rejected { why } => (name, "rejected", why.clone()),
        ActionEnd::Blocked { at, why } => (at.clone(), "blocked", why.clone()),
        ActionEnd::Failed { at, why } => (at.clone(), "failed", why.clone()),
        _ => return None,
    };
    Some(ActionResult {
        action,
        outcome: outcome.to_owned(),
        message,
        data,
    })
}

/// Merges the result of an action into the plan, and tells it where another task follows: the card of
/// that one tells nothing of it.
pub(crate) async fn keep(cx: Context<Steward>) -> Result<Vec<Update>, BoxError> {
    let mut updates = merged(cx.state());
    let mut state = cx.state().clone();
    updates.iter().cloned().for_each(|it| state.apply(it));
    if let Some(came) = reply::came(&state).filter(|_| state.has_next()) {
        show(&cx, &came);
        updates.push(Update::Told(came));
    }
    Ok(updates)
}

/// Returns the changes that merge the result of an action into the plan, in the same record as its
/// receipt.
fn merged(state: &Steward) -> Vec<Update> {
    if let Some(result) = &state.action_result {
        return settled(state, result).into_iter().collect();
    }
    let Some(result) = result_of(&state.actions) else {
        return vec![];
    };
    let task = settled(state, &result);
    let returned = GraphOutput::of(state, Some(result));
    [returned].into_iter().chain(task).collect()
}

/// Returns the change of the current task, if the action was about it.
fn settled(state: &Steward, result: &ActionResult) -> Option<Update> {
    let status = match result.outcome.as_str() {
        "succeeded" => WorkStatus::Done,
        "cancelled" => WorkStatus::Closed,
        _ => return None,
    };
    let task = state.steward_state.current()?;
    let request = state.actions.request.as_ref()?;
    let about_it = match state.kind() {
        Some(RequestKind::Chat) => request.id.ends_with(&format!("/{}", task.task_id)),
        // A step that a page requests on its own ends the task that it is the last step of.
        Some(RequestKind::Execute { action, .. }) => {
            let is_last = sequence(task.form, task.goal).last() == Some(&action.as_str());
            let same = request.arguments.as_object() == Some(&task.fields);
            is_last && same && status == WorkStatus::Done
        }
        _ => false,
    };
    let document = result.data.get("document").and_then(Value::as_str);
    about_it.then(|| Update::Settled {
        task_id: task.task_id.clone(),
        status,
        document: document.map(str::to_owned),
    })
}
