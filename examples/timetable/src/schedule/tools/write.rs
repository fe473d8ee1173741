//! Tools that change the places of tasks: they check everything, then return the changes.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WritePreview;
use crate::lang::Lang;
use crate::schedule::relocate::Target;
use crate::schedule::text::{joined, named, range_text};
use crate::schedule::{Board, Change, PlacementStatus, ScheduleState, WriteOptions, WriteRefusal};

/// Gives a pending task its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceArgs {
    /// The id of a pending task.
    #[schemars(extend("x-zh" = "一个 pending 任务的编号。"))]
    pub task_id: u32,
    /// The day, from 1.
    #[schemars(extend("x-zh" = "第几天，从 1 起。"))]
    pub day: u16,
    /// The first section, 1 to 12. If a course that can hold a task lies there, the task goes
    /// inside it.
    #[schemars(extend("x-zh" = "首节，1 到 12。若那里有可嵌入任务的课程，任务就嵌在其中。"))]
    pub slot_start: u8,
}

/// Gives a placed task another place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveArgs {
    /// The id of a task that has a place.
    #[schemars(extend("x-zh" = "已有位置的任务的编号。"))]
    pub task_id: u32,
    /// The new day, from 1.
    #[schemars(extend("x-zh" = "新的一天，从 1 起。"))]
    pub new_day: u16,
    /// The new first section, 1 to 12.
    #[schemars(extend("x-zh" = "新的首节，1 到 12。"))]
    pub new_slot_start: u8,
}

/// Lets two tasks change places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwapArgs {
    /// The id of a task that has a place.
    #[schemars(extend("x-zh" = "已有位置的任务的编号。"))]
    pub task_a: u32,
    /// The id of another one that takes as many sections.
    #[schemars(extend("x-zh" = "另一个节数相同的任务的编号。"))]
    pub task_b: u32,
}

/// Gives several placed tasks other places, all of them or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchMoveArgs {
    /// The moves. They may use the places that the other moved tasks leave.
    #[schemars(extend("x-zh" = "各个移动。可以用其他被移动的任务让出的位置。"))]
    pub moves: Vec<MoveArgs>,
}

/// Takes a task out of the schedule; it wants a place again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnplaceArgs {
    /// The id of a task that has a place.
    #[schemars(extend("x-zh" = "已有位置的任务的编号。"))]
    pub task_id: u32,
}

/// Gives a pending task its place. Inside a course that can hold a task it becomes a guest.
///
/// # Errors
/// The reason why nothing changes.
pub fn place(
    state: &ScheduleState,
    args: &PlaceArgs,
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    let mut board = Board::new(state);
    let task = board.known(args.task_id)?;
    if task.status != PlacementStatus::Pending || task.is_placed() {
        return Err(WriteRefusal::NotPending(args.task_id));
    }
    let target = Target {
        task: args.task_id,
        day: args.day,
        start: args.slot_start,
    };
    let applied = board.relocate(&[target], options)?;
    let inside = match applied.changes.first() {
        Some(Change::Place {
            host: Some(host), ..
        }) => say!(", inside task {host}", "，嵌在任务 {host} 中"),
        _ => String::new(),
    };
    let summary = say!(
        "placed {}{inside}",
        "已安排{}{inside}",
        lies(&board, args.task_id)
    );
    Ok(WritePreview::new(
        &board,
        summary,
        applied.changes,
        vec![args.day],
    ))
}

/// Gives a placed task another place.
///
/// # Errors
/// The reason why nothing changes.
pub fn move_task(
    state: &ScheduleState,
    args: &MoveArgs,
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    let mut board = Board::new(state);
    let from = board.check_movable(args.task_id, options)?;
    let changes = board.try_move(args.target(), options)?.changes;
    let summary = say!(
        "moved {} (was {})",
        "已移动{}（原在{}）",
        lies(&board, args.task_id),
        range_text(from)
    );
    Ok(WritePreview::new(
        &board,
        summary,
        changes,
        vec![from.day, args.new_day],
    ))
}

/// Exchanges the places of two placed tasks of the same length.
///
/// # Errors
/// The reason why nothing changes.
pub fn swap(
    state: &ScheduleState,
    args: &SwapArgs,
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    let mut board = Board::new(state);
    let changes = board.try_swap(args.task_a, args.task_b, options)?.changes;
    let places = changes
        .iter()
        .filter_map(|change| board.state().task(change.task())?.start());
    let days = places.map(|(day, _)| day).collect();
    let summary = say!(
        "swapped {} and {}",
        "已互换{}和{}",
        lies(&board, args.task_a),
        lies(&board, args.task_b)
    );
    Ok(WritePreview::new(&board, summary, changes, days))
}

/// Gives several placed tasks other places, all of them or none.
///
/// # Errors
/// The reason why nothing changes.
pub fn batch_move(
    state: &ScheduleState,
    args: &BatchMoveArgs,
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    let given = args.moves.len();
    if given == 0 {
        return Err(WriteRefusal::argument(
            "moves",
            say!("name at least one move", "请至少写一个移动"),
        ));
    }
    if let Some(limit) = options.batch_limit.filter(|limit| given > *limit) {
        return Err(WriteRefusal::TooManyMoves { given, limit });
    }
    let mut board = Board::new(state);
    let (mut days, mut targets) = (Vec::new(), Vec::<Target>::new());
    for step in &args.moves {
        if targets.iter().any(|target| target.task == step.task_id) {
            return Err(WriteRefusal::Repeated(step.task_id));
        }
        days.extend([
            board.check_movable(step.task_id, options)?.day,
            step.new_day,
        ]);
        targets.push(step.target());
    }
    let applied = board.relocate(&targets, options)?;
    let moved: Vec<String> = targets
        .iter()
        .map(|target| lies(&board, target.task))
        .collect();
    let summary = say!("moved {}", "已移动{}", joined(&moved));
    Ok(WritePreview::new(&board, summary, applied.changes, days))
}

/// Takes a task out of the schedule. A guest inside it becomes pending as well.
///
/// # Errors
/// The reason why nothing changes.
pub fn unplace(
    state: &ScheduleState,
    args: &UnplaceArgs,
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    let mut board = Board::new(state);
    let task = board.check_mobile(args.task_id, options)?;
    if let Some(scope) = &options.scope {
        task.slots
            .iter()
            .try_for_each(|slot| scope.check_target(slot.day))?;
    }
    let days = task.slots.iter().map(|slot| slot.day).collect();
    let mut summary = say!("unplaced {}", "已取出{}", named(task.state_id, &task.name));
    let mut changes = Vec::new();
    if let Some(guest) = task.embedded_by.and_then(|guest| board.state().task(guest)) {
        let also = say!(
            " and {}, which lay inside it",
            "和嵌在其中的{}",
            named(guest.state_id, &guest.name)
        );
        summary.push_str(&also);
        changes.push(Change::Unplace {
            task: guest.state_id,
        });
    }
    changes.push(Change::Unplace { task: args.task_id });
    for change in &changes {
        board.apply(change);
    }
    Ok(WritePreview::new(&board, summary, changes, days))
}

impl MoveArgs {
    const fn target(&self) -> Target {
        Target {
            task: self.task_id,
            day: self.new_day,
            start: self.new_slot_start,
        }
    }
}

/// Returns `task 4 "Algebra 3" at day 3, sections 5-6`.
fn lies(board: &Board<'_>, id: u32) -> String {
    let Some(task) = board.state().task(id) else {
        return say!("task {id}", "任务 {id}");
    };
    let places: Vec<String> = task.slots.iter().copied().map(range_text).collect();
    say!(
        "{} at {}",
        "{}在{}",
        named(id, &task.name),
        places.join(Lang::current().pick(" and ", "和"))
    )
}
