//! The readings of the texts that were read last.
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::civil::Date;

use super::Clause;

/// The most texts whose clauses are remembered: a turn reads its words, and parts of them.
const MOST: usize = 16;

/// The clauses of the texts that were read last. They depend on the text and the day alone.
#[derive(Debug, Default)]
pub(crate) struct LastRead(Mutex<VecDeque<Reading>>);

type Reading = (String, Date, Arc<[Clause]>);

impl LastRead {
    /// Returns the clauses of a text, which is read if it was not before.
    pub(crate) fn clauses(
        &self,
        text: &str,
        base: Date,
        read: impl FnOnce() -> Vec<Clause>,
    ) -> Arc<[Clause]> {
        let locked = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(said, day, _): &&Reading| said == text && *day == base;
        if let Some((_, _, known)) = locked().iter().find(is_same) {
            return known.clone();
        }
        // Others read their texts meanwhile.
        let clauses: Arc<[Clause]> = read().into();
        let mut last = locked();
        last.truncate(MOST - 1);
        last.push_front((text.to_owned(), base, clauses.clone()));
        clauses
    }
}
