//! Planners that move several suggested tasks at once, by rule.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WritePreview;
use crate::schedule::board::mask;
use crate::schedule::{
    Board, Change, PlacementStatus, ScheduleState, ScheduleTask, Slot, WriteOptions, WriteRefusal,
    relocate::Target, text::tasks,
};

/// Which tasks a planner moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompoundArgs {
    /// The ids of at least two suggested tasks, each in one range of sections.
    #[schemars(extend("x-zh" = "至少两个 suggested 任务的编号，每个占一段连续的节次。"))]
    pub task_ids: Vec<u32>,
}

/// The weight of one more section on a day, higher than the index of any place in the window.
const LOAD: usize = 10_000;

/// A task that a planner moves.
struct Mover {
    task: u32,
    slot: Slot,
    category: String,
}

/// Spreads tasks over the days: each takes the place whose day is emptiest, the earliest of those.
/// Tasks of the same length keep their order of time.
///
/// # Errors
/// The reason why nothing changes.
pub fn spread_even(
    state: &ScheduleState,
    args: &CompoundArgs,
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    let movers = movers(state, args, options)?;
    let mut lifted = Board::new(state);
    for mover in &movers {
        lifted.apply(&Change::Unplace { task: mover.task });
    }
    let days = state.window.days.iter().map(|day| day.day_index);
    let days: Vec<u16> = days.collect();
    let mut free: Vec<(u16, u64)> = days.iter().map(|day| (*day, lifted.taken(*day))).collect();
    let mut targets = Vec::new();
    for group in by_length(movers) {
        let mut slots = Vec::new();
        for mover in &group {
            let slot = emptiest(&free, mover.slot.sections(), state.window.sections.count())
                .ok_or_else(|| {
                    let task = mover.task;
                    let allowed = say!(
                        "there is no free place left for task {task}",
                        "没有留给任务 {task} 的空位"
                    );
                    WriteRefusal::argument("task_ids", allowed)
                })?;
            for (day, taken) in &mut free {
                if *day == slot.day {
                    *taken |= mask(slot);
                }
            }
            slots.push(slot);
        }
        slots.sort_unstable();
        targets.extend(assigned(&group, &slots));
    }
    carried_out(state, &targets, options)
}

/// Exchanges tasks so that those of one category follow each other, the largest category first.
/// Because this changes the order of the person's tasks, it has to be allowed.
///
/// # Errors
/// The reason why nothing changes.
pub fn min_context_switch(
    state: &ScheduleState,
    args: &CompoundArgs,
    options: &WriteOptions,
    allow_reorder: bool,
) -> Result<WritePreview, WriteRefusal> {
    if !allow_reorder {
        return Err(WriteRefusal::ReorderForbidden);
    }
    let mut targets = Vec::new();
    for mut group in by_length(movers(state, args, options)?) {
        let slots: Vec<Slot> = group.iter().map(|mover| mover.slot).collect();
        let first = |category: &str| slots_of(&group, category).min();
        let size = |category: &str| slots_of(&group, category).count();
        let mut ranks: Vec<(String, usize, Option<Slot>)> = Vec::new();
        for mover in &group {
            if !ranks.iter().any(|(known, ..)| *known == mover.category) {
                let category = mover.category.clone();
                let (size, first) = (size(&category), first(&category));
                ranks.push((category, size, first));
            }
        }
        ranks.sort_by(|a, b| b.1.cmp(&a.1).then(a.2.cmp(&b.2)));
        let rank = |mover: &Mover| {
            ranks
                .iter()
                .position(|(known, ..)| *known == mover.category)
        };
        group.sort_by_key(|mover| (rank(mover), mover.slot));
        targets.extend(assigned(&group, &slots));
    }
    carried_out(state, &targets, options)
}

fn slots_of<'a>(group: &'a [Mover], category: &'a str) -> impl Iterator<Item = Slot> + 'a {
    let same = group.iter().filter(move |mover| mover.category == category);
    same.map(|mover| mover.slot)
}

/// Returns the tasks, from the earliest on.
fn movers(
    state: &ScheduleState,
    args: &CompoundArgs,
    options: &WriteOptions,
) -> Result<Vec<Mover>, WriteRefusal> {
    let board = Board::new(state);
    let mut movers: Vec<Mover> = Vec::new();
    for id in &args.task_ids {
        if movers.iter().any(|mover| mover.task == *id) {
            return Err(WriteRefusal::Repeated(*id));
        }
        let slot = board.check_movable(*id, options)?;
        let task = board.known(*id)?;
        if task.status != PlacementStatus::Suggested {
            let (task, name) = (*id, task.name.clone());
            return Err(WriteRefusal::Existing { task, name });
        }
        let category = task.category.clone();
        movers.push(Mover {
            task: *id,
            slot,
            category,
        });
    }
    if movers.len() < 2 {
        return Err(WriteRefusal::argument(
            "task_ids",
            say!(
                "name at least two suggested tasks",
                "请至少写两个状态为 suggested 的任务"
            ),
        ));
    }
    movers.sort_by_key(|mover| mover.slot);
    Ok(movers)
}

/// Groups tasks by length, because only tasks of the same length can exchange places.
fn by_length(movers: Vec<Mover>) -> Vec<Vec<Mover>> {
    let mut groups: Vec<Vec<Mover>> = Vec::new();
    for mover in movers {
        let same = |group: &&mut Vec<Mover>| {
            group
                .first()
                .is_some_and(|first| first.slot.sections() == mover.slot.sections())
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(mover),
            None => groups.push(vec![mover]),
        }
    }
    groups
}

fn assigned(group: &[Mover], slots: &[Slot]) -> Vec<Target> {
    let pairs = group.iter().zip(slots);
    let target = |(mover, slot): (&Mover, &Slot)| Target {
        task: mover.task,
        day: slot.day,
        start: slot.slot_start,
    };
    pairs.map(target).collect()
}

/// Returns the free place of this length with the lowest load of its day and the lowest index.
fn emptiest(days: &[(u16, u64)], sections: u8, of: u8) -> Option<Slot> {
    let mut best: Option<(usize, Slot)> = None;
    let mut index = 0;
    for (day, taken) in days {
        for start in 1..=(of + 1).saturating_sub(sections) {
            let slot = Slot::starting_at(*day, start, sections);
            if taken & mask(slot) == 0 {
                let load = taken.count_ones() as usize + usize::from(sections);
                let score = load * LOAD + index;
                if best.is_none_or(|(least, _)| score < least) {
                    best = Some((score, slot));
                }
            }
            index += 1;
        }
    }
    best.map(|(_, slot)| slot)
}

fn carried_out(
    state: &ScheduleState,
    targets: &[Target],
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    let mut board = Board::new(state);
    let moved = targets.iter().filter(|target| {
        let task = state.task(target.task);
        task.and_then(ScheduleTask::start) != Some((target.day, target.start))
    });
    let moved: Vec<Target> = moved.copied().collect();
    if moved.is_empty() {
        return Err(WriteRefusal::argument(
            "task_ids",
            say!(
                "these tasks lie as well as they can already",
                "这些任务已经在最合适的位置"
            ),
        ));
    }
    let mut days: Vec<u16> = moved.iter().map(|target| target.day).collect();
    for target in &moved {
        let slots = state.task(target.task).map(|task| task.slots.as_slice());
        days.extend(slots.unwrap_or_default().iter().map(|slot| slot.day));
    }
    let changes = board.relocate(&moved, options)?.changes;
    let summary = say!("moved {}", "已移动 {}", tasks(changes.len()));
    Ok(WritePreview::new(&board, summary, changes, days))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::fixture::{course, state, suggested};

    fn args(ids: &[u32]) -> CompoundArgs {
        CompoundArgs {
            task_ids: ids.into(),
        }
    }

    fn lie(state: &ScheduleState, written: &WritePreview, ids: &[u32]) -> Vec<Slot> {
        let mut after = state.clone();
        for change in &written.changes {
            after.apply(change);
        }
        let slots = ids.iter().filter_map(|id| after.task(*id));
        slots.flat_map(|task| task.slots.clone()).collect()
    }

    #[test]
    fn sch_85_tasks_are_spread_over_the_emptiest_days_in_their_order() {
        let now = state(
            4,
            vec![
                course(1, "Physics", 1, 9, 12),
                suggested(2, 1, 1, Slot::new(1, 1, 2)),
                suggested(3, 1, 2, Slot::new(1, 3, 4)),
                suggested(4, 2, 0, Slot::new(1, 5, 6)),
            ],
        );
        let written = spread_even(&now, &args(&[4, 2, 3]), &WriteOptions::default()).unwrap();
        assert_eq!(
            lie(&now, &written, &[2, 3, 4]),
            [Slot::new(2, 1, 2), Slot::new(3, 1, 2), Slot::new(4, 1, 2)]
        );
        assert_eq!(written.summary, "moved 3 tasks");
    }

    #[test]
    fn sch_85_categories_follow_each_other_the_largest_first() {
        let now = state(
            2,
            vec![
                suggested(1, 1, 0, Slot::new(1, 1, 2)),
                suggested(2, 2, 1, Slot::new(1, 3, 4)),
                suggested(3, 1, 0, Slot::new(1, 5, 6)),
                suggested(4, 2, 2, Slot::new(1, 7, 8)),
                suggested(5, 2, 3, Slot::new(2, 1, 2)),
            ],
        );
        let ids = [1, 2, 3, 4, 5];
        let options = WriteOptions::default();
        let written = min_context_switch(&now, &args(&ids), &options, true).unwrap();
        assert_eq!(
            lie(&now, &written, &[2, 4, 5, 1, 3]),
            [
                Slot::new(1, 1, 2),
                Slot::new(1, 3, 4),
                Slot::new(1, 5, 6),
                Slot::new(1, 7, 8),
                Slot::new(2, 1, 2)
            ]
        );
    }

    #[test]
    fn sch_53_the_order_changes_only_if_the_person_allowed_it() {
        let tasks = vec![
            suggested(1, 1, 0, Slot::new(1, 1, 2)),
            suggested(2, 2, 0, Slot::new(1, 3, 4)),
        ];
        let now = state(1, tasks);
        let options = WriteOptions::default();
        let refused = min_context_switch(&now, &args(&[1, 2]), &options, false).unwrap_err();
        assert!(refused.is_rule(), "{refused}");
        assert!(refused.to_string().contains("ask the user"), "{refused}");
    }

    #[test]
    fn sch_85_fewer_than_two_fixed_or_pending_tasks_are_refused() {
        let now = state(
            1,
            vec![
                suggested(1, 1, 0, Slot::new(1, 1, 2)),
                course(2, "Physics", 1, 9, 12),
            ],
        );
        let options = WriteOptions::default();
        for (ids, why) in [
            (&[1][..], "at least two"),
            (&[1, 1], "twice"),
            (&[1, 2], "fixed"),
            (&[1, 9], "no task 9"),
        ] {
            let refused = spread_even(&now, &args(ids), &options)
                .unwrap_err()
                .to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
