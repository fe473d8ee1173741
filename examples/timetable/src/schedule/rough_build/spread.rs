//! One class after another, each by its strategy.
use super::demand::{Item, Job};
use super::grid::{Block, Grid};
use crate::schedule::Strategy;
use crate::schedule::lookup::Point;

/// Places the jobs in their order; none if one of them does not fit into the rest that the earlier
/// ones left.
pub(super) fn one_after_another<'j, 'a: 'j>(
    jobs: impl Iterator<Item = &'j Job<'a>>,
    base: &Grid,
) -> Option<Vec<(u32, Block)>> {
    let mut base = base.clone();
    let mut placed = Vec::new();
    for job in jobs {
        let mut grid = base.open_to(job.class);
        if grid.coordinates().len() < 2 * job.items.len() {
            return None;
        }
        let chosen = match job.class.strategy {
            Strategy::Rapid => rapid(job, &mut grid)?,
            Strategy::Steady => steady(job, &mut grid)?,
        };
        for block in &chosen {
            base.take(*block);
        }
        placed.extend(hand_out(&job.items, chosen));
    }
    Some(placed)
}

/// Gives the blocks chosen for items to the items of the same segment in the order of time, so that
/// the class keeps its order. Blocks can be exchanged within a segment, because all its items may
/// take the same ones.
pub(super) fn hand_out(items: &[Item], chosen: Vec<Block>) -> Vec<(u32, Block)> {
    let mut placed: Vec<(u32, Block)> = Vec::with_capacity(items.len());
    let mut blocks: Vec<(Item, Block)> = items.iter().copied().zip(chosen).collect();
    blocks.sort_by_key(|(_, block)| block.slot().start());
    for item in items {
        let first = blocks
            .iter()
            .position(|(other, _)| other.bounds == item.bounds);
        placed.extend(first.map(|index| (item.id, blocks.remove(index).1)));
    }
    placed
}

pub(super) fn admits(item: &Item, block: &Block) -> bool {
    let slot = block.slot();
    item.bounds.admit(slot.start(), slot.end())
}

/// A point of discomfort weighs as much as so many points of the score of a candidate.
pub(super) const DISCOMFORT: i64 = 10;

/// Places the items with a cursor that goes through the blocks from the first one on. With
/// preferences, a block that is a little later may be better.
fn rapid(job: &Job<'_>, grid: &mut Grid) -> Option<Vec<Block>> {
    let mut chosen = Vec::with_capacity(job.items.len());
    for item in &job.items {
        let open = grid.blocks();
        let open = open.into_iter().filter(|block| admits(item, block));
        let late = |(nth, block): &(i64, Block)| 2 * nth + grid.discomfort(*block);
        let (_, block) = (0..).zip(open).min_by_key(late)?;
        grid.take(block);
        chosen.push(block);
    }
    Some(chosen)
}

/// Places each item in the block with the lowest score.
fn steady(job: &Job<'_>, grid: &mut Grid) -> Option<Vec<Block>> {
    let coordinates = grid.coordinates();
    let mut days = job.days.clone();
    let mut chosen = Vec::with_capacity(job.items.len());
    for (nth, item) in job.items.iter().enumerate() {
        let target = target(nth, job.items.len(), coordinates.len());
        let candidate = |block: &Block| {
            let (occupied, open) = grid.load(block.day);
            let index = index_of(&coordinates, (block.day, block.start));
            Candidate {
                index,
                target,
                occupied,
                remaining: open - 2,
                day: block.day,
            }
            .score(&days)
                + grid.discomfort(*block) * DISCOMFORT
        };
        let open = grid
            .blocks()
            .into_iter()
            .filter(|block| admits(item, block));
        let best = open.min_by_key(candidate)?;
        grid.take(best);
        days.push(best.day);
        chosen.push(best);
    }
    Some(chosen)
}

/// Returns the index of the `nth` of `items` if they were spread evenly over `total` sections.
pub(super) fn target(nth: usize, items: usize, total: usize) -> usize {
    (nth + 1) * total / (items + 1)
}

/// Returns the position of a section among the open ones. Blocks are open, so they are found; the
/// fallback is the next open section.
pub(super) fn index_of(coordinates: &[Point], point: Point) -> usize {
    coordinates
        .binary_search(&point)
        .unwrap_or_else(|next| next)
}

/// The inputs for the score of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) index: usize,
    pub(super) target: usize,
    /// Sections of its day that are occupied.
    pub(super) occupied: i64,
    /// Open sections that its day would have left.
    pub(super) remaining: i64,
    pub(super) day: u16,
}

impl Candidate {
    /// Returns the score, of which lower is better: near the target, on an empty day that keeps
    /// some room, away from days that hold an item of the class, and early.
    pub(super) fn score(&self, held: &[u16]) -> i64 {
        let distance = i64::try_from(self.index.abs_diff(self.target)).unwrap_or(i64::MAX / 20);
        let buffer = if self.remaining < 2 { 80 } else { 0 };
        let near = |distance| {
            held.iter()
                .any(|day| self.day.checked_add_signed(distance) == Some(*day))
        };
        let same = if near(0) { 180 } else { 0 };
        let adjacent = [-1, 1]
            .into_iter()
            .filter(|distance| near(*distance))
            .count();
        let adjacent = if adjacent == 2 {
            120
        } else {
            60 * i64::from(adjacent == 1)
        };
        let index = i64::try_from(self.index).unwrap_or(i64::MAX / 20);
        distance * 10 + self.occupied * 25 + buffer + same + adjacent + index
    }
}
