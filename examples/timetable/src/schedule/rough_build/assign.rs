//! Blocks for all items at once, if there is a way at all.
//!
//! This is a bipartite matching between items and places, where a place is a free block or a
//! course that can hold one guest, in any of its blocks. An item and a place are joined if the
//! rules of the class admit one of its blocks and that block lies within the bounds of the item.
//!
//! A matching of all items exists if and only if a placement does:
//! - A placement is a matching: items lie in different places, and each within its bounds,
//!   because its nearest placed siblings are the same before and after.
//! - A matching becomes a placement. Items of a class between the same two placed siblings (a
//!   segment) are joined to exactly the same blocks, so their blocks can be handed out again in
//!   the order of time. Blocks do not overlap, so each item then ends strictly before the next
//!   one begins. Items of different segments are kept apart by the placed sibling between them.
//!
//! Augmenting paths find a largest matching. If one item stays without a place, the items that
//! its search reached outnumber by one all the places that any of them could take: they are the
//! reason that the error names.
use std::collections::BTreeMap;

use super::RoughBuildError;
use super::demand::{Item, Job};
use super::grid::{Block, Grid};
use super::spread::{admits, hand_out, index_of, target};
use crate::schedule::Strategy;
use crate::schedule::order::Bounds;

pub(super) fn exactly(jobs: &[Job<'_>], base: &Grid) -> Result<Vec<(u32, Block)>, RoughBuildError> {
    let mut matching = Matching::new(jobs, base);
    for seeker in 0..matching.seekers.len() {
        let mut reached = vec![false; matching.holders.len()];
        if !matching.augment(seeker, &mut reached) {
            return Err(matching.shortage(jobs, seeker, &reached));
        }
    }
    Ok(matching.hand_out(jobs))
}

/// Returns for each job the number of its items in each segment that find no place, if as many
/// items as possible are to have one. Every class gives up its last items first.
pub(super) fn without_place(jobs: &[Job<'_>], base: &Grid) -> Vec<Vec<(Bounds, usize)>> {
    let mut matching = Matching::new(jobs, base);
    let mut turns: Vec<(usize, usize, usize, Bounds)> = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        for (nth, item) in job.items.iter().enumerate() {
            let share = (nth + 1) * 1_000_000 / job.items.len().max(1);
            turns.push((share, turns.len(), index, item.bounds));
        }
    }
    turns.sort_by_key(|(share, seeker, ..)| (*share, *seeker));
    let mut left: Vec<Vec<(Bounds, usize)>> = vec![vec![]; jobs.len()];
    for (_, seeker, job, bounds) in turns {
        let mut reached = vec![false; matching.holders.len()];
        if matching.augment(seeker, &mut reached) {
            continue;
        }
        let Some(segments) = left.get_mut(job) else {
            continue;
        };
        match segments.iter_mut().find(|(known, _)| *known == bounds) {
            Some((_, count)) => *count += 1,
            None => segments.push((bounds, 1)),
        }
    }
    left
}

/// An item of a job with the blocks it may take, the ones it would like best first.
struct Seeker {
    job: usize,
    choices: Vec<(usize, Block)>,
}

struct Matching {
    seekers: Vec<Seeker>,
    /// The seeker that holds each place, with its block there.
    holders: Vec<Option<(usize, Block)>>,
}

impl Matching {
    fn new(jobs: &[Job<'_>], base: &Grid) -> Self {
        let mut places: BTreeMap<Block, usize> = BTreeMap::new();
        for block in base.blocks() {
            let next = places.len();
            places.entry(place_of(block)).or_insert(next);
        }
        let mut seekers = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            let grid = base.open_to(job.class);
            let (blocks, coordinates) = (grid.blocks(), grid.coordinates());
            for (nth, item) in job.items.iter().enumerate() {
                let wish = match job.class.strategy {
                    Strategy::Rapid => 0,
                    Strategy::Steady => target(nth, job.items.len(), coordinates.len()),
                };
                let mut open: Vec<Block> = blocks
                    .iter()
                    .copied()
                    .filter(|block| admits(item, block))
                    .collect();
                open.sort_by_key(|block| {
                    index_of(&coordinates, (block.day, block.start)).abs_diff(wish)
                });
                let choices = open
                    .into_iter()
                    .filter_map(|block| Some((*places.get(&place_of(block))?, block)));
                seekers.push(Seeker {
                    job: index,
                    choices: choices.collect(),
                });
            }
        }
        Self {
            seekers,
            holders: vec![None; places.len()],
        }
    }

    /// Finds a place for a seeker, for which others may have to take another one.
    fn augment(&mut self, seeker: usize, reached: &mut [bool]) -> bool {
        let choices = self
            .seekers
            .get(seeker)
            .map_or(0, |seeker| seeker.choices.len());
        for choice in 0..choices {
            let known = self
                .seekers
                .get(seeker)
                .and_then(|seeker| seeker.choices.get(choice));
            let Some(&(place, block)) = known else {
                continue;
            };
            let Some(seen) = reached.get_mut(place).filter(|seen| !**seen) else {
                continue;
            };
            *seen = true;
            let holder = self.holders.get(place).copied().flatten();
            if holder.is_none_or(|(other, _)| self.augment(other, reached)) {
                if let Some(place) = self.holders.get_mut(place) {
                    *place = Some((seeker, block));
                }
                return true;
            }
        }
        false
    }

    /// Returns the error for a class that does not fit, with the classes that compete for its
    /// blocks.
    fn shortage(&self, jobs: &[Job<'_>], seeker: usize, reached: &[bool]) -> RoughBuildError {
        let held = self
            .holders
            .iter()
            .zip(reached)
            .filter(|(_, reached)| **reached);
        let rivals: Vec<usize> = held
            .filter_map(|(holder, _)| holder.map(|(seeker, _)| seeker))
            .collect();
        let job = |seeker: usize| jobs.get(self.seekers.get(seeker)?.job);
        let class = job(seeker).map(|job| job.class);
        let mut names: Vec<String> = rivals
            .iter()
            .filter_map(|rival| job(*rival))
            .filter(|job| class.is_none_or(|class| class.id != job.class.id))
            .map(|job| format!("\"{}\"", job.class.name))
            .collect();
        names.sort_unstable();
        names.dedup();
        RoughBuildError::TimeNotEnough {
            class: class.map_or(0, |class| class.id),
            name: class.map(|class| class.name.clone()).unwrap_or_default(),
            needed: rivals.len() + 1,
            open: rivals.len(),
            rivals: names,
        }
    }

    fn hand_out(&self, jobs: &[Job<'_>]) -> Vec<(u32, Block)> {
        let mut blocks: Vec<(usize, Block)> = self.holders.iter().copied().flatten().collect();
        blocks.sort_unstable_by_key(|(seeker, _)| *seeker);
        // Seekers are the items of the jobs in their order, and each of them has a place.
        let mut blocks = blocks.into_iter().map(|(_, block)| block);
        let of_job = |job: &Job<'_>| {
            let items: &[Item] = &job.items;
            hand_out(items, blocks.by_ref().take(items.len()).collect())
        };
        jobs.iter().flat_map(of_job).collect()
    }
}

/// Returns the place that a block belongs to: itself, or the course that contains it.
fn place_of(block: Block) -> Block {
    let inside = |host| Block {
        day: 0,
        start: 0,
        host: Some(host),
    };
    block.host.map_or(block, inside)
}
