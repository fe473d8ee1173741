use std::collections::BTreeSet;

use async_trait::async_trait;
use fugato::{
    EffectClass,
    graph::{BoxError, Context, Node, Outcome},
    state::say,
    stream::EventKind,
    tool::{ToolFailure, ToolResult},
};

use super::announce;
use crate::{
    agent::{AgentState, TerminalOutcome, Update},
    deps::{Deps, ScheduleProvider as _},
    llm_config::{status, status_note},
    reason,
    schedule::{Change, PlaceChange, ScheduleState, differences},
    store::{Calendar, Calendars, Conflict, ScheduleStoreError, StoreReceipt, StoreWrite, decided},
    tools::{EDIT_TASK_CLASS, UPSERT_TASK_CLASS, class_refused, class_stored, class_wanted},
};

/// The node that stores all changes that the person agreed to. No model is asked.
#[derive(Debug)]
pub struct PersistNode(pub Deps);

#[async_trait]
impl Node<AgentState> for PersistNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let mut updates = announce(&cx);
        let stored = agent.stored.as_ref().or(agent.original.as_ref());
        let (Some(calendars), Some(stored), Some(schedule)) =
            (&self.0.calendars, stored, &agent.schedule)
        else {
            return Ok(Outcome::done(updates));
        };
        let changes = decided(stored, schedule);
        if changes.is_empty() {
            updates.push(Update::Stored(changes));
            return Ok(Outcome::done(updates));
        }
        let lang = agent.lang;
        let write = StoreWrite::Changes {
            changes: changes.clone(),
        };
        match commit(calendars, &cx, write).await? {
            StoreReceipt::Conflict(conflict) => {
                updates.extend(overtaken(calendars, &cx).await?);
                let difference = reason::conflict(&conflict, schedule);
                let told = lang.pick(
                    format!("Nothing was stored, because the calendar changed meanwhile. I have loaded it anew; ask me again.\n{difference}"),
                    format!("日程在此期间有变动，因此没有保存。我已重新载入，请再说一次。\n{difference}"),
                );
                let why = conflict.to_string();
                let ended = TerminalOutcome::aborted("keep", "schedule_conflict", &told, &why);
                updates.push(Update::Ended(ended));
            }
            receipt => {
                stored_or_else(receipt)?;
                let text = lang.pick("the calendar is stored", "日程已保存");
                updates.push(Update::Stored(changes));
                return Ok(Outcome::done(updates).note(status_note("schedule_stored", text)));
            }
        }
        Ok(Outcome::done(updates))
    }
}

/// Carries out a write exactly once, however often it is tried: the store recognises the key of a
/// write whose result was lost in a crash.
pub(super) async fn commit(
    calendars: &Calendars,
    cx: &Context<AgentState>,
    write: StoreWrite,
) -> Result<StoreReceipt, BoxError> {
    let (store, calendar) = (calendars.store().clone(), calendars.name(cx.thread()));
    let asked = (calendar.clone(), write.clone());
    let act = move |key: String| async move { store.write(&calendar, &key, &write).await };
    let receipt = cx.effect("store", EffectClass::Keyed, &asked, act).await?;
    tracing::info!(task = cx.task(), ?receipt, "persist schedule changes");
    Ok(receipt)
}

/// Stores the changes of a tool before the call counts as made: the person agreed to them, or has
/// consented in advance. Suggestions of the optimisation are not stored yet.
pub(super) async fn settle(
    deps: &Deps,
    cx: &Context<AgentState>,
    tool: &str,
    mut result: ToolResult<Update>,
) -> Result<ToolResult<Update>, BoxError> {
    if matches!(tool, UPSERT_TASK_CLASS | EDIT_TASK_CLASS) && result.is_ok() {
        return class(deps, cx, &result).await;
    }
    let agent = cx.state();
    if let Some(calendars) = &deps.calendars {
        for update in &result.updates {
            if let Update::Preferred(wishes) = update {
                let wishes = wishes.clone();
                let write = StoreWrite::Preferences { wishes };
                match commit(calendars, cx, over_known(agent, write)).await? {
                    StoreReceipt::Conflict(conflict) => {
                        return overtaken_call(calendars, cx, &conflict).await;
                    }
                    receipt => stored_or_else(receipt)?,
                }
            }
        }
    }
    let (Some(schedule), Some(original)) = (&agent.schedule, &agent.original) else {
        return Ok(result);
    };
    let changes = changes_of(&result.updates);
    if changes.is_empty() {
        return Ok(result);
    }
    let mut after = (**schedule).clone();
    for change in &changes {
        after.apply(change);
    }
    let calendars = deps.calendars.as_ref().filter(|_| !agent.run.optimize_only);
    if let Some(calendars) = calendars {
        let touched = differences(schedule, &after);
        let touched: BTreeSet<u32> = touched.iter().map(|difference| difference.task).collect();
        // A mark on a draft keeps nothing of the draft.
        let only_marked = |task: &&u32| {
            let place = |state: &ScheduleState| state.task(**task).map(|task| task.slots.clone());
            place(schedule) != place(&after)
        };
        let confirmed = touched.iter().filter(only_marked);
        let confirmed: Vec<_> = confirmed
            .map(|task| Change::Confirm { task: *task })
            .collect();
        for change in &confirmed {
            after.apply(change);
        }
        let mut changes = differences(agent.stored.as_ref().unwrap_or(original), &after);
        changes.retain(|difference| touched.contains(&difference.task));
        for change in &mut changes {
            let marked = !confirmed
                .iter()
                .any(|confirm| confirm.task() == change.task);
            if let PlaceChange::Mark { from, to, .. } = &mut change.step
                && marked
            {
                to.clone_from(from);
            }
        }
        let write = StoreWrite::Changes {
            changes: changes.clone(),
        };
        match commit(calendars, cx, write).await? {
            StoreReceipt::Conflict(conflict) => {
                return overtaken_call(calendars, cx, &conflict).await;
            }
            receipt => stored_or_else(receipt)?,
        }
        result.updates.push(Update::Scheduled(confirmed));
        result.updates.push(Update::Stored(changes));
    }
    preview(cx, original, &after);
    Ok(result)
}

/// Returns a write over the calendar that the conversation knows, which its card was about.
fn over_known(agent: &AgentState, write: StoreWrite) -> StoreWrite {
    let Some(known) = agent.stored.as_ref().or(agent.original.as_ref()) else {
        return write;
    };
    write.over(&Calendar {
        schedule: (**known).clone(),
        ..Calendar::default()
    })
}

/// Returns the result of a call that others overtook: nothing is written, and the calendar is loaded
/// anew.
async fn overtaken_call(
    calendars: &Calendars,
    cx: &Context<AgentState>,
    conflict: &Conflict,
) -> Result<ToolResult<Update>, BoxError> {
    let text = say!(
        "nothing was written, because the calendar changed meanwhile: {conflict}; it was loaded anew, look at it again",
        "什么都没有写入，因为日历在此期间有变动：{conflict}；已重新加载，请再看一次"
    );
    let mut failed: ToolResult<Update> = ToolFailure::failed(text).into();
    failed.updates = overtaken(calendars, cx).await?;
    let schedule = cx.state().schedule.clone().unwrap_or_default();
    failed.data = reason::conflict_data(conflict, &schedule);
    Ok(failed)
}

/// Stores a checked class, and puts the outcome into the result.
async fn class(
    deps: &Deps,
    cx: &Context<AgentState>,
    checked: &ToolResult<Update>,
) -> Result<ToolResult<Update>, BoxError> {
    let refused = |code: &str, issues: &[String]| class_refused(code, issues).into();
    let Some(calendars) = &deps.calendars else {
        let issue = say!(
            "there is no store for classes, so none can be made or changed",
            "没有类别的存储，无法新建或修改"
        );
        return Ok(refused("dependency_missing", &[issue]));
    };
    let Some(wanted) = class_wanted(&checked.data) else {
        let issue = say!(
            "the checked class could not be read",
            "无法读取检查过的类别"
        );
        return Ok(refused("invalid_args", &[issue]));
    };
    Ok(
        match commit(
            calendars,
            cx,
            over_known(cx.state(), StoreWrite::Class(wanted)),
        )
        .await
        {
            Ok(StoreReceipt::Conflict(conflict)) => {
                return overtaken_call(calendars, cx, &conflict).await;
            }
            Ok(StoreReceipt::Class(written)) => class_stored(&written).into(),
            Ok(StoreReceipt::Refused { issues }) => refused("validation_failed", &issues),
            Ok(other) => refused("invalid_persist_result", &[format!("{other:?}")]),
            // The outcome is certain: it was not stored, and trying again would not help.
            Err(error) if is_final(&error) => refused("persist_failed", &[explained(&error)]),
            Err(error) => return Err(error),
        },
    )
}

fn is_final(error: &BoxError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&**error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref() {
            return !matches!(error, ScheduleStoreError::Unavailable { .. });
        }
        cause = error.source();
    }
    false
}

fn explained(error: &BoxError) -> String {
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn changes_of(updates: &[Update]) -> Vec<Change> {
    let changes = updates.iter().filter_map(|update| match update {
        Update::Scheduled(changes) => Some(changes.clone()),
        _ => None,
    });
    changes.flatten().collect()
}

/// Shows the difference between the original schedule and the current one. The preview is optional
/// and nothing waits for it.
pub(super) fn preview(cx: &Context<AgentState>, original: &ScheduleState, now: &ScheduleState) {
    match serde_json::to_value(differences(original, now)) {
        Ok(changes) => cx.emit(EventKind::Custom {
            name: "schedule_preview".into(),
            data: serde_json::json!({ "thread": cx.thread().as_str(), "changes": changes }),
        }),
        Err(error) => tracing::warn!(task = cx.task(), %error, "no preview"),
    }
}

/// Replaces the schedule by the current calendar, and says so.
async fn overtaken(
    calendars: &Calendars,
    cx: &Context<AgentState>,
) -> Result<Vec<Update>, BoxError> {
    let told = cx
        .state()
        .lang
        .pick("the calendar changed meanwhile", "日程在此期间有变动");
    status(cx, "schedule_conflict", told);
    let schedule = calendars.load(cx.thread()).await?;
    Ok(vec![Update::Overtaken(schedule.into())])
}

fn stored_or_else(receipt: StoreReceipt) -> Result<(), BoxError> {
    match receipt {
        StoreReceipt::Stored => Ok(()),
        other => Err(format!("the store answered changes with {other:?}").into()),
    }
}
