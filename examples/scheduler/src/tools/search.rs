//! Tools that look for places and for tasks.
use fugato::tool::RegistryBuilder;

use super::{Cx, ToolView, read, refused, seen};
use crate::{
    agent::Update,
    schedule::{
        QueueUpdate,
        tools::{
            QueryAvailableSlotsArgs, QueryTargetTasksArgs, query_available_slots,
            query_target_tasks, target_tasks,
        },
    },
};

pub(super) fn register(
    builder: RegistryBuilder<ToolView, Update>,
) -> RegistryBuilder<ToolView, Update> {
    builder
        .function(
            read("core", "query_available_slots", "Places of a length under conditions on days and sections: free ones first, then inside courses.").chinese("在日子和节次的条件下，某一长度的位置：先列空闲的，再列课程内的。")
            .preview(["span", "day"]),
            |cx: Cx<'_>, args: QueryAvailableSlotsArgs| {
                seen(query_available_slots(&cx.state()?.schedule, &args))
            },
        )
        .function(
            read("core", "query_target_tasks", "The tasks that a step is about, by status, category and day; puts them into the queue.").chinese("按状态、类别和日子列出步骤涉及的任务，并放入队列。")
            .preview(["status", "category"]),
            |cx: Cx<'_>, args: QueryTargetTasksArgs| {
                let schedule = &cx.state()?.schedule;
                let output = seen(query_target_tasks(schedule, &args))?;
                if !args.enqueue && !args.reset_queue {
                    return Ok(output);
                }
                let mut tasks = target_tasks(schedule, &args).map_err(|why| refused(&why))?;
                tasks.truncate(if args.enqueue { args.limit } else { 0 });
                let reset = args.reset_queue;
                Ok(output.update(Update::Queued(QueueUpdate::Filled { tasks, reset })))
            },
        )
}
