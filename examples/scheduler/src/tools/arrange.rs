//! Tools that change several tasks in one call, and marks.
use fugato::tool::{EffectClass, RegistryBuilder, ToolSpec};

use super::{Cx, ToolView, written};
use crate::{
    agent::Update,
    schedule::tools::{ArrangeArgs, MarkArgs, arrange, mark},
};

/// The tool that gives several tasks their places, or takes them out.
pub const ARRANGE: &str = "arrange";

/// The tool that marks tasks as done, and sets their deadlines.
pub const MARK_TASK: &str = "mark_task";

pub(super) fn register(
    builder: RegistryBuilder<ToolView, Update>,
) -> RegistryBuilder<ToolView, Update> {
    let write = |name: &str, text: &str| {
        ToolSpec::write(name, text)
            .effect(EffectClass::Pure)
            .domain("schedule")
            .pack("arrange")
            .requires_state()
    };
    builder
        .function(
            write(
                ARRANGE,
                "Gives several tasks their places and takes others out, all of it or nothing.",
            ),
            |cx: Cx<'_>, args: ArrangeArgs| {
                written(cx, |view| arrange(&view.schedule, &args, &view.options))
            },
        )
        .function(
            write(
                MARK_TASK,
                "Marks tasks as done or not done, or sets the last date on which they may lie.",
            )
            .preview(["task_ids", "done", "deadline"]),
            |cx: Cx<'_>, args: MarkArgs| written(cx, |view| mark(&view.schedule, &args)),
        )
}
