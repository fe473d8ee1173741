//! An inverted index from terms to texts.
use std::collections::BTreeMap;

use super::Bm25;
use crate::term::{QueryTerm, sought, terms};

/// An inverted index, scored by BM25. Each text has a slot.
#[derive(Debug, Default)]
pub(super) struct TextIndex {
    postings: BTreeMap<Box<str>, Vec<Posting>>,
    lengths: Vec<u32>,
    texts: u32,
    total: u64,
}

/// An occurrence of a term in a text, with the number of times. Lists of them are sorted by slot.
#[derive(Debug, Clone, Copy)]
struct Posting {
    slot: u32,
    count: u32,
}

impl TextIndex {
    /// Puts a text into an empty slot.
    pub(super) fn put(&mut self, slot: u32, text: &str) {
        let counts = counted(text);
        let length: u32 = counts.values().sum();
        for (term, count) in counts {
            let posting = Posting { slot, count };
            let postings = self.postings.entry(term).or_default();
            match postings.last() {
                Some(last) if last.slot >= slot => {
                    let at = postings.partition_point(|other| other.slot < slot);
                    postings.insert(at, posting);
                }
                _ => postings.push(posting),
            }
        }
        let at = slot as usize;
        if self.lengths.len() <= at {
            self.lengths.resize(at + 1, 0);
        }
        if let Some(there) = self.lengths.get_mut(at) {
            *there = length;
        }
        self.texts += 1;
        self.total += u64::from(length);
    }

    /// Removes the text that was put into a slot.
    pub(super) fn remove(&mut self, slot: u32, text: &str) {
        for term in counted(text).into_keys() {
            let Some(postings) = self.postings.get_mut(&term) else {
                continue;
            };
            if let Ok(at) = postings.binary_search_by_key(&slot, |posting| posting.slot) {
                postings.remove(at);
            }
            if postings.is_empty() {
                self.postings.remove(&term);
            }
        }
        if let Some(length) = self.lengths.get_mut(slot as usize) {
            self.total -= u64::from(*length);
            self.texts -= 1;
            *length = 0;
        }
    }

    /// Returns the slots of all texts that contain a term of the query, with their scores.
    pub(super) fn scores(&self, query: &str) -> Vec<(u32, f64)> {
        let mut scores = Scores {
            by_slot: vec![0.0; self.lengths.len()],
            touched: vec![],
        };
        for sought in sought(query) {
            match sought {
                QueryTerm::Term(term) => {
                    if let Some(postings) = self.postings.get(term.as_str()) {
                        self.add(postings, &mut scores);
                    }
                }
                QueryTerm::Beginning(c) => self.add(&self.beginning(c), &mut scores),
            }
        }
        let score = |slot: u32| Some((slot, *scores.by_slot.get(slot as usize)?));
        scores.touched.into_iter().filter_map(score).collect()
    }

    /// Returns the postings of all terms that begin with `c`, merged as if they were one term.
    fn beginning(&self, c: char) -> Vec<Posting> {
        let first = c.to_string();
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for (term, postings) in self.postings.range(first.clone().into_boxed_str()..) {
            if !term.starts_with(&first) {
                break;
            }
            for posting in postings {
                *counts.entry(posting.slot).or_default() += posting.count;
            }
        }
        let posting = |(slot, count)| Posting { slot, count };
        counts.into_iter().map(posting).collect()
    }

    fn add(&self, postings: &[Posting], scores: &mut Scores) {
        let bm25 = Bm25::new(self.texts, self.total);
        let rarity = bm25.rarity(postings.len());
        for &Posting { slot, count } in postings {
            let at = slot as usize;
            let (Some(length), Some(score)) = (self.lengths.get(at), scores.by_slot.get_mut(at))
            else {
                continue;
            };
            if *score == 0.0 {
                scores.touched.push(slot);
            }
            *score += bm25.score(rarity, count, *length);
        }
    }
}

#[derive(Debug)]
struct Scores {
    by_slot: Vec<f64>,
    touched: Vec<u32>,
}

fn counted(text: &str) -> BTreeMap<Box<str>, u32> {
    let mut counts = BTreeMap::new();
    for term in terms(text) {
        *counts.entry(term.into_boxed_str()).or_default() += 1;
    }
    counts
}
