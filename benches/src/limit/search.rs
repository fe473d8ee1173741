//! Scans of everything: each document for the words of a question, each vector for its product with
//! that of the question.
use std::hint::black_box;

use fugato_memory::HashedNgrams;

use crate::{
    BoxError,
    measure::{Measurement, each_unit},
    subject::corpus,
    workload::SEARCHES,
};

/// How many of the best are kept.
const BEST: usize = 10;

pub(super) fn by_text(size: u64) -> Result<Measurement, BoxError> {
    let documents = corpus::documents(size);
    let questions = corpus::questions(&documents);
    let mut questions = questions.iter().cycle();
    let next = |_| {
        let question = questions.next().ok_or("there are questions")?;
        let words: Vec<&str> = question.split(' ').collect();
        let held = |text: &String| {
            let held = words.iter().filter(|word| text.contains(**word));
            held.map(|_| 1.0_f32).sum()
        };
        best(documents.iter().map(held));
        Ok(())
    };
    each_unit(next, SEARCHES)
}

pub(super) fn by_vectors(size: u64) -> Result<Measurement, BoxError> {
    let (ngrams, documents) = (HashedNgrams::default(), corpus::documents(size));
    let vectors: Vec<f32> = documents
        .iter()
        .flat_map(|text| ngrams.vector(text))
        .collect();
    let questions = corpus::questions(&documents);
    let mut questions = questions.iter().map(|text| ngrams.vector(text)).cycle();
    let next = |_| {
        let question = questions.next().ok_or("there are questions")?;
        let rows = vectors.chunks_exact(question.len());
        best(rows.map(|row| dot(row, &question)));
        Ok(())
    };
    each_unit(next, SEARCHES)
}

/// In lanes, so that the compiler can add several at once.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum()
}

fn best(scores: impl Iterator<Item = f32>) {
    let mut best: Vec<f32> = vec![];
    for score in scores {
        if best.len() < BEST || best.last().is_some_and(|least| score > *least) {
            let at = best.partition_point(|better| *better >= score);
            best.insert(at, score);
            best.truncate(BEST);
        }
    }
    black_box(best);
}
