//! The repair of a class whose items may not all stay where they are: as few of them as possible
//! move, and nothing else does.
use std::collections::BTreeMap;

use super::rough_build::grid::{Block, Grid};
use super::{Board, Change, Point, ScheduleState, ScheduleTask, Slot, WriteOptions};

/// The cost of a day of distance, and of a point of discomfort, for an item that has to move.
const DAY: i64 = 1;
const DISCOMFORT: i64 = 4;

/// Returns changes after which every placed item of a class lies where `admits` allows it to, in
/// the order of the class, with as few moves as there can be while everything else stays. An item
/// that is done, fixed, or began before [`WriteOptions::earliest`] stays. The items that move take
/// free blocks of two sections near their old places.
///
/// Returns none if there is no way, or if an item that may move is not two sections long.
pub fn fewest_moves(
    state: &ScheduleState,
    class: u32,
    admits: impl Fn(u32, &Slot) -> bool,
    options: &WriteOptions,
) -> Option<Vec<Change>> {
    let row = Row::of(state, class, &admits, options)?;
    let kept = row.kept(&admits)?;
    let mut changes = vec![];
    for pair in kept.windows(2) {
        let [from, to] = pair else { continue };
        changes.extend(row.fill(*from, *to, &admits)?);
    }
    let up = changes.iter().map(|change: &Change| Change::Unplace {
        task: change.task(),
    });
    let up: Vec<Change> = up.collect();
    Some(up.into_iter().chain(changes).collect())
}

/// The items of a class in their order, and the blocks that those which move can take.
struct Row<'s> {
    items: Vec<RowItem<'s>>,
    blocks: Vec<(Block, i64)>,
}

struct RowItem<'s> {
    task: &'s ScheduleTask,
    slot: Slot,
    /// True if it may stay.
    may_stay: bool,
    /// True if it must.
    is_fixed: bool,
}

impl<'s> Row<'s> {
    fn of(
        state: &'s ScheduleState,
        class: u32,
        admits: &impl Fn(u32, &Slot) -> bool,
        options: &WriteOptions,
    ) -> Option<Self> {
        let rules = state.class(class)?;
        let board = Board::new(state);
        let mut items: Vec<RowItem<'_>> = vec![];
        for task in board.siblings(class).filter(|task| task.is_placed()) {
            let task = state.task(task.state_id)?;
            let (Some(slot), 1) = (task.slots.first().copied(), task.slots.len()) else {
                return None;
            };
            let is_fixed = task.marks.done || task.locked || !options.is_ahead(slot.start());
            if !is_fixed && slot.sections() != 2 {
                return None;
            }
            let embedded = task.embed_host.is_some();
            let allowed = board.check_class(task, slot, embedded).is_ok();
            items.push(RowItem {
                task,
                slot,
                may_stay: is_fixed || allowed && admits(task.state_id, &slot),
                is_fixed,
            });
        }
        items.sort_by_key(|item| (item.task.task_order, item.slot));
        let mut bare = state.clone();
        for item in items.iter().filter(|item| !item.is_fixed) {
            bare.apply(&Change::Unplace {
                task: item.task.state_id,
            });
        }
        let grid = Grid::ahead(&bare, options).open_to(rules);
        let blocks = grid
            .blocks()
            .into_iter()
            .filter(|block| block.host.is_none());
        let blocks = blocks.map(|block| (block, grid.discomfort(block)));
        Some(Self {
            blocks: blocks.collect(),
            items,
        })
    }

    /// Returns the end of an item, and the start of the next one that stays. Item 0 is the begin of
    /// time, and the one after the last is its end.
    fn end(&self, item: usize) -> Point {
        let before = item.checked_sub(1);
        let item = before.and_then(|index| self.items.get(index));
        item.map_or((0, 0), |item| item.slot.end())
    }

    fn start(&self, item: usize) -> Point {
        let before = item.checked_sub(1);
        let item = before.and_then(|index| self.items.get(index));
        item.map_or((u16::MAX, u8::MAX), |item| item.slot.start())
    }

    /// Returns the blocks strictly between two items.
    fn between(&self, from: usize, to: usize) -> &[(Block, i64)] {
        let first = self
            .blocks
            .partition_point(|(block, _)| block.slot().start() <= self.end(from));
        let last = self
            .blocks
            .partition_point(|(block, _)| block.slot().end() < self.start(to));
        self.blocks.get(first..last).unwrap_or_default()
    }

    /// Returns true if the items between two that stay find places there, each the first one after
    /// that of the item before it.
    fn fits(&self, from: usize, to: usize, admits: &impl Fn(u32, &Slot) -> bool) -> bool {
        let mut items = self.items.get(from..to - 1).unwrap_or_default().iter();
        let mut next = items.next();
        for (block, _) in self.between(from, to) {
            let Some(item) = next else { break };
            if admits(item.task.state_id, &block.slot()) {
                next = items.next();
            }
        }
        next.is_none() && self.end(from) < self.start(to)
    }

    /// Returns the items that stay, as many as possible, between the begin and the end of time.
    fn kept(&self, admits: &impl Fn(u32, &Slot) -> bool) -> Option<Vec<usize>> {
        let last = self.items.len() + 1;
        // For each item the number of items kept up to it, and the one kept before it.
        let mut best: BTreeMap<usize, (usize, usize)> = BTreeMap::from([(0, (0, 0))]);
        for to in 1..=last {
            let item = self.items.get(to - 1);
            if item.is_some_and(|item| !item.may_stay) {
                continue;
            }
            for from in (0..to).rev() {
                let known = best.get(&to).map_or(0, |(known, _)| *known);
                if let Some((kept, _)) = best.get(&from).copied()
                    && kept + 1 > known
                    && self.fits(from, to, admits)
                {
                    best.insert(to, (kept + 1, from));
                }
                let crossed = from.checked_sub(1).and_then(|index| self.items.get(index));
                if crossed.is_some_and(|item| item.is_fixed) {
                    break;
                }
            }
        }
        let mut kept = vec![last];
        let mut at = last;
        while at > 0 {
            at = best.get(&at)?.1;
            kept.push(at);
        }
        kept.reverse();
        Some(kept)
    }

    /// Gives the items between two that stay the best blocks between them, in their order.
    fn fill(
        &self,
        from: usize,
        to: usize,
        admits: &impl Fn(u32, &Slot) -> bool,
    ) -> Option<Vec<Change>> {
        let items = self.items.get(from..to - 1)?;
        let blocks = self.between(from, to);
        // The cost of the first items in the first blocks, and whether the last item takes the last
        // block.
        let mut table = vec![vec![(0i64, false); blocks.len() + 1]];
        for (nth, item) in items.iter().enumerate() {
            let mut row = vec![(i64::MAX, false)];
            for (index, (block, discomfort)) in blocks.iter().enumerate() {
                let before = table.get(nth)?.get(index)?.0;
                let far = i64::from(block.day.abs_diff(item.slot.day));
                let cost = far * DAY + discomfort * DISCOMFORT;
                let allowed = admits(item.task.state_id, &block.slot());
                let takes = (allowed && before < i64::MAX).then_some(before.saturating_add(cost));
                let skips = row.get(index)?.0;
                row.push(match takes {
                    Some(takes) if takes < skips => (takes, true),
                    _ => (skips, false),
                });
            }
            table.push(row);
        }
        let mut changes = vec![];
        let mut index = blocks.len();
        for (nth, item) in items.iter().enumerate().rev() {
            loop {
                let (cost, takes) = *table.get(nth + 1)?.get(index)?;
                if cost == i64::MAX {
                    return None;
                }
                index = index.checked_sub(1)?;
                if takes {
                    break;
                }
            }
            let (block, _) = blocks.get(index)?;
            changes.push(Change::Place {
                task: item.task.state_id,
                slots: vec![block.slot()],
                host: None,
                status: item.task.status,
            });
        }
        changes.reverse();
        Some(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{course, state, suggested};
    use super::*;

    fn moved(state: &ScheduleState, last: u16) -> Option<Vec<(u32, Slot)>> {
        let by = |_: u32, slot: &Slot| slot.day <= last;
        let changes = fewest_moves(state, 1, by, &WriteOptions::default())?;
        let places = changes.iter().filter_map(|change| match change {
            Change::Place { task, slots, .. } => Some((*task, *slots.first()?)),
            _ => None,
        });
        Some(places.collect())
    }

    #[test]
    fn only_what_is_too_late_moves_if_there_is_room_after_the_others() {
        let now = state(
            9,
            vec![
                suggested(1, 1, 1, Slot::new(1, 1, 2)),
                suggested(2, 1, 2, Slot::new(3, 1, 2)),
                suggested(3, 1, 3, Slot::new(9, 1, 2)),
            ],
        );
        assert_eq!(moved(&now, 5), Some(vec![(3, Slot::new(5, 1, 2))]));
        assert_eq!(moved(&now, 9), Some(vec![]));
    }

    #[test]
    fn as_few_others_as_possible_make_room() {
        // Days 4 and 5 are full, so the second item makes room for the third on its own day.
        let full = |id, day| course(id, "Lecture", day, 1, 12);
        let mut now = state(
            9,
            vec![
                suggested(1, 1, 1, Slot::new(1, 1, 2)),
                suggested(2, 1, 2, Slot::new(3, 11, 12)),
                suggested(3, 1, 3, Slot::new(9, 1, 2)),
                full(4, 4),
                full(5, 5),
            ],
        );
        let expected = vec![(2, Slot::new(3, 1, 2)), (3, Slot::new(3, 3, 4))];
        assert_eq!(moved(&now, 5), Some(expected));
        // What is done stays, and then there is no way.
        now.tasks[1].marks.done = true;
        assert_eq!(moved(&now, 5), None);
    }
}
