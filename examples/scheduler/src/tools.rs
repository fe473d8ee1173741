//! The tools of the agent, and their domains and packs.
mod arrange;
mod class;
mod deep;
mod preferences;
mod queue;
mod search;
mod web;
mod words;

use std::sync::Arc;

use fugato::{
    state::ToolCall,
    tool::{
        Domain, Domains, EffectClass, Registry, RegistryBuilder, RegistryError, ToolContext,
        ToolFailure, ToolOutput, ToolSpec,
    },
    web::Web,
};
use serde_json::json;

use crate::{
    agent::{AgentState, FreeTime, Health, Update},
    calendar::{Sections, follow_language},
    reason,
    schedule::{
        Change, Point, Queue, ScheduleState, WriteOptions, WriteRefusal,
        health::{AnalyzeHealthArgs, Envelope, analyze_health},
        tools::{
            BatchMoveArgs, FindFreeArgs, GetOverviewArgs, GetTaskInfoArgs, ListTasksArgs, MoveArgs,
            PlaceArgs, QueryRangeArgs, ReadResult, SwapArgs, UnplaceArgs, WritePreview, batch_move,
            find_free, get_overview, get_task_info, list_tasks, move_task, place, query_range,
            swap, unplace,
        },
    },
    scope::day_scope,
};

pub use arrange::{ARRANGE, EXPLAIN_PLACE, ExplainArgs, MARK_TASK};
pub(crate) use class::class_edited;
pub use class::{
    EDIT_TASK_CLASS, EditClassArgs, RestoredItem, TermsEdit, UPSERT_TASK_CLASS, class_refused,
    class_stored, class_wanted,
};
pub use preferences::{
    KEEP_FREE, KeepFreeArgs, Liking, PreferenceArgs, SET_PREFERENCES, TimeLiking,
};
pub use queue::QUEUE_APPLY_HEAD_MOVE;
pub use words::WORDS;

/// The input of the tools: the schedule, and the current permissions.
#[derive(Debug, Clone)]
pub struct ToolView {
    /// The schedule.
    pub schedule: Arc<ScheduleState>,
    /// The permissions of write tools.
    pub options: WriteOptions,
    /// The tasks that the request is about.
    pub queue: Queue,
    /// True if the order of tasks may change.
    pub allow_reorder: bool,
    /// The times that the person wants kept free.
    pub free_times: Vec<FreeTime>,
}

/// The tools available during the optimisation, which chooses among candidates and does not search.
pub const OPTIMIZE_ONLY: [&str; 5] = [
    "analyze_health",
    "context_tools_add",
    "context_tools_remove",
    "move",
    "swap",
];

/// The number of moves in one call while the schedule is optimised.
const OPTIMIZE_BATCH: usize = 2;

impl ToolView {
    /// Returns the view of the agent with its current permissions; none while no schedule is
    /// loaded.
    pub fn of(agent: &AgentState, existing_may_move: bool, sections: &Sections) -> Option<Self> {
        let schedule = agent.schedule.clone()?;
        let mut options = WriteOptions::default();
        if agent.run.optimize_only {
            // The optimisation moves only suggested items: the person has not seen them yet.
            options = options.batch_limit(OPTIMIZE_BATCH);
        } else if let Some(step) = agent.plan.current_step() {
            options = options.scope(day_scope(&step.content, &schedule.window, agent.today()));
        }
        let mut options = options
            .existing_may_move(existing_may_move && !agent.run.optimize_only)
            .earliest(agent.earliest(sections))
            .returns(returns(agent));
        // What the person does by hand, or rules plan because they name it, may go there.
        if !agent.run.by_hand && agent.run.planned.is_none() {
            options = options.closed(FreeTime::slots(&agent.free_times, &schedule));
        }
        Some(Self {
            schedule,
            options,
            queue: agent.run.queue.clone(),
            allow_reorder: agent.run.allow_reorder,
            free_times: agent.free_times.clone(),
        })
    }
}

/// Returns where tasks lay in the state to which the planned calls lead back.
fn returns(agent: &AgentState) -> Vec<(u32, Point)> {
    let target = agent.destination();
    let tasks = target.iter().flat_map(|target| &target.tasks);
    let starts = tasks.filter_map(|task| Some((task.state_id, task.start()?)));
    starts.collect()
}

/// Returns the domains and packs.
fn domains() -> Domains {
    let schedule = Domain::new("core")
        .packs([
            "mutation",
            "analyze",
            "detail_read",
            "deep_analyze",
            "queue",
            "arrange",
            "web",
        ])
        .default_packs(["mutation", "analyze"]);
    Domains::new()
        .with("schedule", schedule)
        .with("taskclass", Domain::new("core").packs(["edit"]))
}

/// Returns all tools; those that use the web are switched off.
pub fn registry() -> Result<Registry<ToolView, Update>, RegistryError> {
    registry_with(None)
}

/// Returns all tools, with access to this web.
pub fn registry_with(
    web: Option<Arc<dyn Web>>,
) -> Result<Registry<ToolView, Update>, RegistryError> {
    follow_language();
    let builder = arrange::register(queue::register(search::register(writing(reading()))));
    let builder = preferences::register(builder);
    let builder = class::register(builder);
    web::register(deep::register(builder), web).build()
}

/// Returns the tools that read.
fn reading() -> RegistryBuilder<ToolView, Update> {
    Registry::builder()
        .domains_to_choose(domains())
        .function(
            read(
                "core",
                "get_overview",
                "Days, loads, tasks placed and pending, classes and their rules.",
            )
            .chinese("日子、负荷、已安排和待安排的任务、类别及其规则。"),
            |cx: Cx<'_>, _: GetOverviewArgs| seen(Ok(get_overview(&cx.state()?.schedule))),
        )
        .function(
            read(
                "core",
                "find_free",
                "Free ranges of sections, and courses that a task may lie inside.",
            )
            .chinese("空闲的节次，以及可以嵌入任务的课程。")
            .preview(["duration", "day"]),
            |cx: Cx<'_>, args: FindFreeArgs| seen(find_free(&cx.state()?.schedule, &args)),
        )
        .function(
            read("core", "list_tasks", "Tasks by category and status.")
                .chinese("按类别和状态列出任务。")
                .preview(["category", "status"]),
            |cx: Cx<'_>, args: ListTasksArgs| seen(Ok(list_tasks(&cx.state()?.schedule, &args))),
        )
        .function(
            read(
                "detail_read",
                "query_range",
                "What lies on a day, section by section.",
            )
            .chinese("某一天每一节有什么。")
            .preview(["day"]),
            |cx: Cx<'_>, args: QueryRangeArgs| seen(query_range(&cx.state()?.schedule, &args)),
        )
        .function(
            read("detail_read", "get_task_info", "Everything about one task.")
                .chinese("一个任务的全部信息。")
                .preview(["task_id"]),
            |cx: Cx<'_>, args: GetTaskInfoArgs| seen(get_task_info(&cx.state()?.schedule, &args)),
        )
        .function(
            read(
                "analyze",
                "analyze_health",
                "Diagnoses the schedule and offers changes that are known to help.",
            )
            .chinese("诊断日程，给出确知有帮助的改动。"),
            |cx: Cx<'_>, args: AnalyzeHealthArgs| diagnose(cx, &args),
        )
}

/// Adds the tools that write.
fn writing(builder: RegistryBuilder<ToolView, Update>) -> RegistryBuilder<ToolView, Update> {
    builder
        .function(
            write("mutation", "place", "Places a pending task.")
                .chinese("安排一个 pending 任务。")
                .preview(["task_id", "day"]),
            |cx: Cx<'_>, args: PlaceArgs| {
                written(cx, |view| place(&view.schedule, &args, &view.options))
            },
        )
        .function(
            write("mutation", "move", "Moves a placed task.")
                .chinese("移动一个已安排的任务。")
                .also_called("move_task")
                .preview(["task_id", "new_day"]),
            |cx: Cx<'_>, args: MoveArgs| {
                written(cx, |view| move_task(&view.schedule, &args, &view.options))
            },
        )
        .function(
            write(
                "mutation",
                "swap",
                "Lets two placed tasks of equal length change places.",
            )
            .chinese("让两个长度相同的已安排任务互换位置。")
            .preview(["task_a", "task_b"]),
            |cx: Cx<'_>, args: SwapArgs| {
                written(cx, |view| swap(&view.schedule, &args, &view.options))
            },
        )
        .function(
            write(
                "mutation",
                "batch_move",
                "Moves several tasks, all of them or none.",
            )
            .chinese("移动多个任务，全部成功或全部不动。"),
            |cx: Cx<'_>, args: BatchMoveArgs| {
                written(cx, |view| batch_move(&view.schedule, &args, &view.options))
            },
        )
        .function(
            write("mutation", "unplace", "Takes a task out of the schedule.")
                .chinese("把任务取出日程。")
                .preview(["task_id"]),
            |cx: Cx<'_>, args: UnplaceArgs| {
                written(cx, |view| unplace(&view.schedule, &args, &view.options))
            },
        )
}

/// Returns the changes that a call by hand would make; none if it is not possible.
pub(crate) fn by_hand(call: &ToolCall, view: &ToolView) -> Option<Vec<Change>> {
    fn read<T: serde::de::DeserializeOwned>(call: &ToolCall) -> Option<T> {
        serde_json::from_value(call.arguments.clone()).ok()
    }
    let (schedule, options) = (&view.schedule, &view.options);
    let preview = match call.name.as_str() {
        "place" => place(schedule, &read(call)?, options),
        "move" => move_task(schedule, &read(call)?, options),
        "swap" => swap(schedule, &read(call)?, options),
        "unplace" => unplace(schedule, &read(call)?, options),
        _ => return None,
    };
    Some(preview.ok()?.changes)
}

/// Returns the schedule after a call that a card asks about; none if it is not possible, or if it
/// changes something else.
pub(crate) fn after_call(call: &ToolCall, view: &ToolView) -> Option<ScheduleState> {
    fn read<T: serde::de::DeserializeOwned>(call: &ToolCall) -> Option<T> {
        serde_json::from_value(call.arguments.clone()).ok()
    }
    let mut after = (*view.schedule).clone();
    let changes = match call.name.as_str() {
        ARRANGE => {
            let made = crate::schedule::tools::arrange(&after, &read(call)?, &view.options);
            made.ok()?.changes
        }
        MARK_TASK => {
            crate::schedule::tools::mark(&after, &read(call)?)
                .ok()?
                .changes
        }
        EDIT_TASK_CLASS => {
            let written = class_edited(&after, &read(call)?)
                .ok()?
                .resolve(&after)
                .ok()?;
            after.put_class(&written);
            vec![]
        }
        SET_PREFERENCES => {
            let args: PreferenceArgs = read(call)?;
            after.preferences = args.applied(&after).ok()?;
            vec![]
        }
        _ => by_hand(call, view)?,
    };
    for change in &changes {
        after.apply(change);
    }
    Some(after)
}

/// Returns the description of a tool of a pack that reads the schedule.
fn read(pack: &str, name: &str, text: &str) -> ToolSpec {
    let spec = ToolSpec::read(name, text);
    spec.domain("schedule").pack(pack).requires_state()
}

/// Returns the description of a tool of a pack that changes the schedule. The node that executes it
/// stores the change.
fn write(pack: &str, name: &str, text: &str) -> ToolSpec {
    let spec = ToolSpec::write(name, text).effect(EffectClass::Pure);
    spec.domain("schedule").pack(pack).requires_state()
}

type Cx<'a> = ToolContext<'a, ToolView>;

fn seen(reply: Result<ReadResult, WriteRefusal>) -> Result<ToolOutput<Update>, ToolFailure> {
    let ReadResult { text, summary } = reply.map_err(|why| refused(&why))?;
    Ok(ToolOutput::new(text).summary(summary))
}

fn written(
    cx: Cx<'_>,
    write: impl FnOnce(&ToolView) -> Result<WritePreview, WriteRefusal>,
) -> Result<ToolOutput<Update>, ToolFailure> {
    let view = cx.state()?;
    let WritePreview {
        text,
        summary,
        changes,
    } = write(view).map_err(|why| refused(&why).data(reason::data(&why, &view.schedule)))?;
    let output = ToolOutput::new(text).summary(summary);
    Ok(output
        .data(json!(changes))
        .update(Update::Scheduled(changes)))
}

fn refused(why: &WriteRefusal) -> ToolFailure {
    if why.is_rule() {
        ToolFailure::blocked(why.to_string())
    } else {
        ToolFailure::failed(why.to_string())
    }
}

fn diagnose(cx: Cx<'_>, args: &AnalyzeHealthArgs) -> Result<ToolOutput<Update>, ToolFailure> {
    let view = cx.state()?;
    let envelope = analyze_health(&view.schedule, args, &view.options);
    let data = serde_json::to_value(&envelope).map_err(ToolFailure::internal)?;
    let summary = format!("{:?}", envelope.decision.recommended_operation).to_lowercase();
    let output = ToolOutput::new(data.to_string())
        .summary(summary)
        .data(data);
    Ok(output.update(Update::Diagnosed(health(&envelope))))
}

/// Converts a diagnosis into the form that the agent keeps.
pub fn health(envelope: &Envelope) -> Health {
    let word = |value: serde_json::Result<serde_json::Value>| {
        value
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default()
    };
    let decision = &envelope.decision;
    let candidate = decision
        .candidates
        .iter()
        .find(|candidate| candidate.tool != "close");
    Health {
        checked: true,
        is_feasible: envelope.feasibility.is_feasible,
        capacity_gap: i64::from(envelope.feasibility.capacity_gap),
        reason_code: word(serde_json::to_value(envelope.feasibility.reason_code)),
        should_continue: decision.should_continue_optimize,
        tightness: envelope
            .metrics
            .tightness
            .as_ref()
            .map_or_else(String::new, |tightness| {
                word(serde_json::to_value(tightness.tightness_level))
            }),
        primary_problem: decision.primary_problem.clone(),
        operation: word(serde_json::to_value(decision.recommended_operation)),
        forced: decision.is_forced_imperfection,
        signal: decision.improvement_signal.clone(),
        stagnation: 0,
        candidate: candidate.map(|best| (best.tool.clone(), best.arguments.clone())),
    }
}

#[cfg(test)]
mod tests;
