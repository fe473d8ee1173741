//! Tools over the queue of tasks that a request is about.
use fugato::tool::{NoArguments, RegistryBuilder};

use super::{Cx, ToolView, read, seen, write, written};
use crate::{
    agent::Update,
    schedule::{
        QueueUpdate,
        tools::{
            QueueApplyHeadMoveArgs, QueueSkipHeadArgs, queue_apply_head_move, queue_pop_head,
            queue_skip_head, queue_status,
        },
    },
};

/// The tool whose failures the queue counts.
pub const QUEUE_APPLY_HEAD_MOVE: &str = "queue_apply_head_move";

pub(super) fn register(
    builder: RegistryBuilder<ToolView, Update>,
) -> RegistryBuilder<ToolView, Update> {
    builder
        .function(
            read(
                "queue",
                "queue_pop_head",
                "The next task of the queue, which is worked on from now on.",
            )
            .chinese("队列的下一个任务，从现在起处理它。"),
            |cx: Cx<'_>, _: NoArguments| {
                let ToolView {
                    schedule, queue, ..
                } = cx.state()?;
                let output = seen(queue_pop_head(schedule, queue))?;
                Ok(output.update(Update::Queued(QueueUpdate::Popped)))
            },
        )
        .function(
            write(
                "queue",
                QUEUE_APPLY_HEAD_MOVE,
                "Places or moves the task of the queue that is worked on.",
            )
            .chinese("安排或移动队列中正在处理的任务。")
            .preview(["new_day", "new_slot_start"]),
            |cx: Cx<'_>, args: QueueApplyHeadMoveArgs| {
                let output = written(cx, |view| {
                    queue_apply_head_move(&view.schedule, &view.queue, &args, &view.options)
                })?;
                Ok(output.update(Update::Queued(QueueUpdate::Completed)))
            },
        )
        .function(
            read(
                "queue",
                "queue_skip_head",
                "Leaves the task of the queue that is worked on where it is.",
            )
            .chinese("让队列中正在处理的任务留在原位。")
            .preview(["reason"]),
            |cx: Cx<'_>, args: QueueSkipHeadArgs| {
                let ToolView {
                    schedule, queue, ..
                } = cx.state()?;
                let output = seen(queue_skip_head(schedule, queue, &args))?;
                Ok(output.update(Update::Queued(QueueUpdate::Skipped)))
            },
        )
        .function(
            read(
                "queue",
                "queue_status",
                "How far the queue is, and which tasks come next.",
            )
            .chinese("队列的进度，以及接下来的任务。"),
            |cx: Cx<'_>, _: NoArguments| {
                let view = cx.state()?;
                seen(Ok(queue_status(&view.schedule, &view.queue)))
            },
        )
}
