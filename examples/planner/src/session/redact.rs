//! What was looked at is told once, in the snapshots, where it is kept up to date. In steps and
//! observations it would be believed when it is no longer true.
use fugato::{
    Message,
    agent::{
        React,
        plan::{StepKind, StepStatus, Work},
    },
};

use crate::tools;

/// What stands for the output of a tool that reads.
const LOOKED: &str = "it was looked up; what holds now is among the facts";
/// What stands for what the loop has read before a person was waited for.
const AGAIN: &str = "somebody was waited for since; call the tool again";
/// What stands for why something was refused before a person was waited for.
const REFUSED: &str = "it was refused then; things may have changed since";

/// Leaves out what a step read.
pub(super) fn look(work: &mut Work, id: &str) {
    let step = work.steps.iter_mut().find(|step| step.id == id);
    let Some(step) = step.filter(|step| tools::is_read(&step.draft.tool_name)) else {
        return;
    };
    if step.draft.kind == StepKind::Tool && step.status == StepStatus::Completed {
        LOOKED.clone_into(&mut step.output_summary);
        replace(work, id, LOOKED);
    }
}

/// Leaves out what the loop has read before a person was asked about a write.
pub(super) fn reads(rescue: &mut React) {
    let history = &mut rescue.conversation.history;
    let calls = history.iter().flat_map(|message| &message.tool_calls);
    let calls = calls.filter(|call| tools::is_read(&call.name));
    let ids: Vec<String> = calls.map(|call| call.id.clone()).collect();
    let is_read = |message: &&mut Message| {
        let id = message.tool_call_id.as_ref();
        id.is_some_and(|id| ids.contains(id))
    };
    for message in history.iter_mut().filter(is_read) {
        AGAIN.clone_into(&mut message.content);
    }
}

/// Leaves out why steps were refused, and what older observations came to.
pub(super) fn refusals(work: &mut Work) {
    let failed = work
        .steps
        .iter_mut()
        .filter(|step| step.status == StepStatus::Failed);
    let ids: Vec<String> = failed
        .map(|step| {
            REFUSED.clone_into(&mut step.error);
            step.output_summary.clear();
            step.id.clone()
        })
        .collect();
    for id in &ids {
        replace(work, id, REFUSED);
    }
    work.execution
        .notes
        .retain(|note| !note.starts_with("tool: "));
}

fn replace(work: &mut Work, id: &str, told: &str) {
    let observed = work.execution.observed.iter_mut();
    for observation in observed.filter(|observation| observation.step == *id) {
        told.clone_into(&mut observation.summary);
    }
}
