//! What came of an action, merged into the plan.
use fugato::{
    Context,
    agent::{ActionEnd, Actions},
};
use serde_json::{Value, json};

use crate::{
    action::{PRECHECK, sequence},
    state::{ActionResult, RequestKind, Returned, Steward, TaskStatus, Update},
};

/// The end of an action as clients know it; none while there is none.
pub(crate) fn result_of(actions: &Actions) -> Option<ActionResult> {
    let (end, last) = (actions.end.as_ref()?, actions.done.last());
    let data = last.map_or(Value::Null, |done| done.data.clone());
    let name = last.map(|done| done.action.clone());
    let asked = actions
        .request
        .as_ref()
        .map(|request| request.action.clone());
    let action = name.or(asked).unwrap_or_default();
    let result = |action: String, outcome: &str, message: String| ActionResult {
        action,
        outcome: outcome.to_owned(),
        message,
        data: data.clone(),
    };
    Some(match end {
        // What speaks against it was found as it should be, and blocks all the same.
        ActionEnd::Done if action == PRECHECK && data.get("passed") == Some(&json!(false)) => {
            result(
                action,
                "blocked",
                last.map_or_else(String::new, |done| done.text.clone()),
            )
        }
        ActionEnd::Done => result(
            action,
            "succeeded",
            last.map_or_else(String::new, |done| done.text.clone()),
        ),
        ActionEnd::Rejected { why } => result(action, "rejected", why.clone()),
        ActionEnd::Blocked { at, why } => result(at.clone(), "blocked", why.clone()),
        ActionEnd::Failed { at, why } => result(at.clone(), "failed", why.clone()),
        _ => return None,
    })
}

/// The plan after an action: what is done is done, in the same record as its receipt.
pub(crate) async fn persist(cx: Context<Steward>) -> Vec<Update> {
    let state = cx.state();
    let result = state.action_result.clone();
    let ended = || result_of(&state.actions);
    let (result, returned) = match result {
        Some(result) => (Some(result), None),
        None => (
            ended(),
            ended().map(|result| Returned::of(state, Some(result))),
        ),
    };
    let task = result.as_ref().and_then(|result| settled(state, result));
    returned.into_iter().chain(task).collect()
}

/// What becomes of the current task, if the action was about it.
fn settled(state: &Steward, result: &ActionResult) -> Option<Update> {
    let status = match result.outcome.as_str() {
        "succeeded" => TaskStatus::Done,
        "cancelled" => TaskStatus::Closed,
        _ => return None,
    };
    let (task, request) = (
        state.steward_state.current()?,
        state.actions.request.as_ref()?,
    );
    let about_it = match state.kind() {
        Some(RequestKind::Chat) => request.id.ends_with(&format!("/{}", task.task_id)),
        // A step that a page requests on its own ends the task that it is the last step of.
        Some(RequestKind::Execute { action, .. }) => {
            let is_last = sequence(task.form, task.goal).last() == Some(&action.as_str());
            is_last
                && status == TaskStatus::Done
                && request.arguments.as_object() == Some(&task.fields)
        }
        _ => false,
    };
    about_it.then(|| Update::Settled {
        task_id: task.task_id.clone(),
        status,
        document: result
            .data
            .get("document")
            .and_then(Value::as_str)
            .map(str::to_owned),
    })
}
