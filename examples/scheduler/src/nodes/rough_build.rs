use async_trait::async_trait;
use fugato::{
    graph::{BoxError, Context, Node, Outcome},
    state::say,
};

use super::{announce, keep::preview, said};
use crate::{
    agent::{AgentState, FreeTime, Mode, TerminalOutcome, Update},
    deps::Deps,
    llm_config::{show, status, status_note},
    rules,
    schedule::{
        ScheduleState, WriteOptions, local_search,
        rough_build::{PartialBuild, RoughBuildError, build_what_fits},
        told,
    },
};

/// The node that places everything pending of the wanted classes by rule, and searches for better
/// places near them. No model is asked.
#[derive(Debug)]
pub struct RoughBuildNode(pub Deps);

#[async_trait]
impl Node<AgentState> for RoughBuildNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let mut updates = announce(&cx);
        status(
            &cx,
            "rough_building",
            say!("placing everything pending", "正在粗排"),
        );
        let Some(provider) = &self.0.provider else {
            return Err("a rough build needs a schedule, and no provider was injected".into());
        };
        // The agent's own schedule has the placements confirmed since; a first build loads one.
        let schedule = if let Some(schedule) = &agent.schedule {
            schedule.clone()
        } else {
            let loaded = std::sync::Arc::new(provider.load(cx.thread()).await?);
            updates.push(Update::Loaded(loaded.clone()));
            loaded
        };
        // Nothing is placed where it would have begun already.
        let earliest = agent.earliest_in(&schedule, &self.0.sections);
        let free = FreeTime::slots(&agent.free_times, &schedule);
        let options = WriteOptions::default().earliest(earliest).closed(free);
        // A whole rearrangement places nothing new.
        let whole = agent.run.mode == Mode::GlobalReopt;
        let classes: &[u32] = if whole { &[] } else { &agent.task_class_ids };
        let came = match build_what_fits(&schedule, classes, &options) {
            Ok(fits) if fits.built.placements.is_empty() && !fits.left.is_empty() => {
                let why = told::left_out(&fits.left);
                let code = "rough_build_pending_remaining";
                updates.push(Update::Ended(not_placed(code, &why, &why)));
                status_note("rough_build_failed", why)
            }
            Ok(fits) => {
                let placed = fits.built.changes.len();
                let (code, more) = placed_updates(&cx, &schedule, fits, &options);
                updates.extend(more);
                let text = if whole {
                    say!("everything was weighed anew", "已整体重新衡量")
                } else {
                    say!("{placed} items placed", "已安排 {placed} 项")
                };
                status_note(code, text)
            }
            Err(error) => {
                updates.push(Update::Ended(failure(&error)));
                status_note("rough_build_failed", told::unplaced(&error))
            }
        };
        Ok(Outcome::done(updates).note(came))
    }
}

/// Returns the status of a placement, and the updates that carry it out. A placement that is to
/// be refined is searched first, so that the diagnosis judges the result; a draft that is wanted as
/// it is stays as it is.
fn placed_updates(
    cx: &Context<AgentState>,
    schedule: &ScheduleState,
    fits: PartialBuild,
    options: &WriteOptions,
) -> (&'static str, Vec<Update>) {
    let agent = cx.state();
    let refine = agent.run.needs_refine || agent.has_step();
    let mut after = schedule.clone();
    let mut changes = fits.built.changes;
    let placed = changes.len();
    for change in &changes {
        after.apply(change);
    }
    if refine {
        // A whole rearrangement may move what was kept; the card shows each of them.
        let whole = agent.run.mode == Mode::GlobalReopt;
        let better = local_search(&after, &options.clone().existing_may_move(whole));
        for change in &better {
            after.apply(change);
        }
        changes.extend(better);
    }
    preview(cx, schedule, &after);
    let mut updates = vec![Update::Scheduled(changes)];
    for issue in &fits.built.issues {
        let issue = told::mismatch(issue);
        let text = say!("Note: {issue}", "提示：{issue}");
        show(cx, &text);
        updates.push(said(text));
    }
    let left =
        (!fits.left.is_empty()).then(|| told::account(&fits.left, placed, &rules::choices()));
    let code = match (&left, refine) {
        (Some(_), _) => "rough_build_partial",
        (None, true) => "rough_build_done",
        (None, false) => "rough_build_done_no_refine",
    };
    updates.push(Update::RoughBuilt { refine, left });
    (code, updates)
}

fn failure(error: &RoughBuildError) -> TerminalOutcome {
    let code = match error {
        RoughBuildError::WindowMissing => "rough_build_window_missing",
        _ => "rough_build_pending_remaining",
    };
    not_placed(code, &told::unplaced(error), &error.to_string())
}

/// Returns the end of a run that could place nothing.
fn not_placed(code: &str, why: &str, internal: &str) -> TerminalOutcome {
    let told = say!("It cannot be placed: {why}.", "无法排下：{why}。");
    TerminalOutcome::aborted("rough_build", code, &told, internal)
}
