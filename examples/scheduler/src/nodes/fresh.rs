//! The calendar as it is when a request comes: others may have changed it since the last one.
use std::{collections::BTreeSet, sync::Arc};

use fugato::{
    graph::{BoxError, Context},
    state::say,
};

use super::said;
use crate::{
    agent::{AgentState, Update},
    deps::{Deps, ScheduleProvider as _},
    llm_config::show,
    schedule::{ScheduleState, differences, told::listed},
};

/// Returns the updates that take over what others changed in the calendar, and what the person is
/// told of it; none if nothing changed, or if a draft is built on what was there.
pub(super) async fn fresh(
    deps: &Deps,
    cx: &Context<AgentState>,
) -> Result<Option<Vec<Update>>, BoxError> {
    let agent = cx.state();
    let known = agent.stored.as_ref().or(agent.original.as_ref());
    let (Some(calendars), Some(known)) = (&deps.calendars, known) else {
        return Ok(None);
    };
    if agent.run.reread || agent.run.unsaved || agent.agreed {
        return Ok(None);
    }
    let now = calendars.load(cx.thread()).await?;
    if same(known, &now) {
        return Ok(None);
    }
    let text = words(known, &now);
    show(cx, &text);
    Ok(Some(vec![Update::Reread(Arc::new(now)), said(text)]))
}

/// Returns true if both have the same days, classes and tasks, in the same places.
fn same(known: &ScheduleState, now: &ScheduleState) -> bool {
    let tasks = |state: &ScheduleState| -> BTreeSet<(u32, String, String)> {
        let tasks = state.tasks.iter();
        tasks
            .map(|task| (task.state_id, task.source_id.clone(), task.name.clone()))
            .collect()
    };
    known.window == now.window
        && known.task_classes == now.task_classes
        && tasks(known) == tasks(now)
        && differences(known, now).is_empty()
}

fn words(known: &ScheduleState, now: &ScheduleState) -> String {
    let begin = say!(
        "The calendar was changed since your last request; I go by what it is now.",
        "上次请求之后日历有变动；以下以现在的日历为准。"
    );
    let replaced = known.tasks.len() != now.tasks.len() || known.window != now.window;
    let changes = differences(known, now);
    if replaced || changes.is_empty() {
        return begin;
    }
    format!("{begin}\n{}", listed(now, &changes))
}
