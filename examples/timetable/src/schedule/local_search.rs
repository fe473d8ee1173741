//! The local search: a schedule of lower cost near a given one.
//!
//! A few items are taken out and put back at the lowest cost, again and again; a result that is not
//! worse is kept. Only unconfirmed items move, unless the options let confirmed ones move too, only to places that
//! have not begun and that the rules of their class allow,
//! and of two equally good places the one nearer to the old one wins. The search is deterministic:
//! the same schedule always gets the same changes.
mod table;

use self::table::Table;
use super::{Change, Quality, ScheduleState, WriteOptions};

/// The number of places that are tried, over all rounds. It bounds the time; `quality` prints it.
const TRIALS: usize = 1_000_000;
/// The number of items that are taken out at once.
const AT_ONCE: usize = 4;

/// Returns the changes to the best schedule found; empty if nothing better is found.
pub fn local_search(state: &ScheduleState, options: &WriteOptions) -> Vec<Change> {
    search_within(state, options, TRIALS)
}

fn search_within(state: &ScheduleState, options: &WriteOptions, trials: usize) -> Vec<Change> {
    let Some(mut table) = Table::of(state, options) else {
        return vec![];
    };
    let before = Quality::of(state).score();
    let mut dice = SeededRng(0x9E37_79B9_7F4A_7C15);
    let mut round = 0;
    while table.score() > table.least() && table.trials() < trials {
        // First every item alone, then several at once.
        let out = if round < table.pieces() {
            vec![round]
        } else {
            table.chosen(1 + dice.below(AT_ONCE), |n| dice.below(n))
        };
        table.replace(&out);
        round += 1;
    }
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
