//! The local search: a schedule of lower cost near a given one.
//!
//! A few items are taken out and put back at the lowest cost, again and again. At first a result
//! may be a little worse, so that the search leaves a place where only several moves together
//! help; the best result is kept. Only unconfirmed items move, unless the options let confirmed
//! ones move too, only to places that have not begun and that the rules of their class allow, and
//! of two equally good places the one nearer to the old one wins. The search is deterministic:
//! the same schedule always gets the same changes.
mod table;

use self::table::Table;
use super::{Change, Quality, ScheduleState, WriteOptions};

/// The least number of places that are tried, over all rounds, unless nothing helps any more. It
/// bounds the time; `quality` prints it.
const TRIALS: usize = 3_000_000;
/// The number of places that are tried for each item, if there are many.
const TRIALS_PER_ITEM: usize = 36_000;
/// The number of items that are taken out at once.
const AT_ONCE: usize = 5;
/// The number of points by which a result may be worse at first.
const SLACK: usize = 24;
/// The number of rounds for each item without anything better that end the search.
const IDLE_PER_ITEM: usize = 40;

/// Returns the changes to the best schedule found; empty if nothing better is found.
pub fn local_search(state: &ScheduleState, options: &WriteOptions) -> Vec<Change> {
    search_within(state, options, TRIALS)
}

fn search_within(state: &ScheduleState, options: &WriteOptions, trials: usize) -> Vec<Change> {
    let Some(mut table) = Table::of(state, options) else {
        return vec![];
    };
    let before = Quality::of(state).score();
    let trials = trials.max(TRIALS_PER_ITEM * table.pieces() * trials / TRIALS);
    let mut dice = SeededRng(0x9E37_79B9_7F4A_7C15);
    for piece in 0..table.pieces() {
        table.replace(&[piece], 0);
    }
    let mut best = (table.weight(), table.places());
    let (mut idle, patience) = (0, 500 + IDLE_PER_ITEM * table.pieces());
    while best.0.0 > table.least() && table.trials() < trials && idle < patience {
        let left = patience.min(trials.saturating_sub(table.trials()));
        let slack = SLACK * left / trials.max(1) * (patience - idle) / patience;
        let out = table.chosen(1 + dice.below(AT_ONCE), |n| dice.below(n));
        table.replace(&out, u32::try_from(dice.below(slack + 1)).unwrap_or(0));
        idle += 1;
        if table.weight() < best.0 {
            if table.weight().0 < best.0.0 {
                idle = 0;
            }
            best = (table.weight(), table.places());
        }
    }
    table.restore(&best.1);
    if table.score() < before {
        table.changes(state)
    } else {
        vec![]
    }
}

/// A deterministic sequence of pseudo-random numbers.
struct SeededRng(u64);

impl SeededRng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let n = u64::try_from(n).unwrap_or(u64::MAX).max(1);
        usize::try_from((self.0 >> 11) % n).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
