//! Tools that change several tasks in one call, and marks.
use fugato::tool::{RegistryBuilder, ToolFailure, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cx, ToolView, read, refused, write, written};
use crate::{
    agent::Update,
    calendar::Lang,
    schedule::{
        WriteRefusal, explain,
        tools::{ArrangeArgs, MarkArgs, arrange, mark},
    },
    understand::Words,
};

/// The tool that gives several tasks their places, or takes them out.
pub const ARRANGE: &str = "arrange";

/// The tool that marks tasks as done, and sets their deadlines.
pub const MARK_TASK: &str = "mark_task";

/// The tool that explains the place of a task.
pub const EXPLAIN_PLACE: &str = "explain_place";

/// Explains the place of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainArgs {
    /// The id of a task that has a place.
    #[schemars(extend("x-zh" = "已有位置的任务的编号。"))]
    pub task_id: u32,
}

fn explained(view: &ToolView, args: &ExplainArgs) -> Result<ToolOutput<Update>, ToolFailure> {
    let task = args.task_id;
    if view.schedule.task(task).is_none() {
        return Err(refused(&WriteRefusal::UnknownTask(task)));
    }
    let reason = explain(&view.schedule, task, &view.options)
        .ok_or_else(|| refused(&WriteRefusal::NotPlaced(task)))?;
    let words = Words {
        schedule: &view.schedule,
        sections: None,
        lang: Lang::current(),
    };
    let text = words.place_reason(&reason);
    let data = serde_json::to_value(&reason).map_err(ToolFailure::internal)?;
    Ok(ToolOutput::new(format!("{text}\n{data}"))
        .summary(text)
        .data(data))
}

pub(super) fn register(
    builder: RegistryBuilder<ToolView, Update>,
) -> RegistryBuilder<ToolView, Update> {
    builder
        .function(
            write(
                "arrange",
                ARRANGE,
                "Gives several tasks their places and takes others out, all of it or nothing.",
            )
            .chinese("安排多个任务并取出其他任务，全部成功或全部不动。"),
            |cx: Cx<'_>, args: ArrangeArgs| {
                written(cx, |view| arrange(&view.schedule, &args, &view.options))
            },
        )
        .function(
            write(
                "arrange",
                MARK_TASK,
                "Marks tasks as done or not done, or sets the last date on which they may lie.",
            )
            .chinese("把任务标记为完成或未完成，或设定最晚日期。")
            .preview(["task_ids", "done", "deadline"]),
            |cx: Cx<'_>, args: MarkArgs| written(cx, |view| mark(&view.schedule, &args)),
        )
        .function(
            read(
                "arrange",
                EXPLAIN_PLACE,
                "Says what the place of an item costs, what other places would cost, and what \
                 closes the cheaper ones.",
            )
            .chinese("说明一项的位置有什么代价、别的位置要多少代价，以及更好的位置为什么不行。")
            .preview(["task_id"]),
            |cx: Cx<'_>, args: ExplainArgs| explained(cx.state()?, &args),
        )
}
