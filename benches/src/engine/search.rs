//! Searches among short documents in a file.
use std::{collections::BTreeSet, hint::black_box};

use fugato_memory::{HashedNgrams, IndexEntry, IndexUpdate, SearchIndex as _, SearchQuery};
use fugato_sqlite::SqliteSearch;
use futures::executor::block_on;

use crate::{
    BoxError,
    measure::{Measurement, Setting, each_unit},
    subject::corpus,
    workload::SEARCHES,
};

/// How many documents are put at once.
const BATCH: usize = 5_000;
/// How many queries are compared with a scan of all documents.
const COMPARED: usize = 40;

struct Library {
    index: SqliteSearch,
    documents: Vec<String>,
    ngrams: HashedNgrams,
    _folder: tempfile::TempDir,
}

impl Library {
    fn fill(size: u64, vectors: bool, setting: &Setting) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir_in(&setting.folder)?;
        let index = SqliteSearch::open(folder.path().join("index.db"))?;
        let (ngrams, documents) = (HashedNgrams::default(), corpus::documents(size));
        for (batch, texts) in documents.chunks(BATCH).enumerate() {
            let entries = (batch * BATCH..).zip(texts).map(|(number, text)| {
                let entry = IndexEntry::new(name(number), text);
                if vectors {
                    entry.vector(ngrams.vector(text))
                } else {
                    entry
                }
            });
            block_on(index.update(IndexUpdate::put(entries)))?;
        }
        Ok(Self {
            index,
            documents,
            ngrams,
            _folder: folder,
        })
    }
}

fn name(number: usize) -> String {
    format!("{number:06}")
}

/// By text alone: two characters, and longer questions.
pub(super) fn by_text(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let library = Library::fill(size, false, setting)?;
    check_recall(&library)?;
    let queries: Vec<_> = corpus::questions(&library.documents)
        .into_iter()
        .map(SearchQuery::new)
        .collect();
    search(&library, &queries)
}

/// By vectors alone.
pub(super) fn by_vectors(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let library = Library::fill(size, true, setting)?;
    let queries: Vec<_> = corpus::questions(&library.documents)
        .iter()
        .map(|text| SearchQuery::new("").near(library.ngrams.vector(text)))
        .collect();
    search(&library, &queries)
}

fn search(library: &Library, queries: &[SearchQuery]) -> Result<Measurement, BoxError> {
    let mut queries = queries.iter().cycle();
    // The first search for a vector reads all of them.
    let mut next = || -> Result<(), BoxError> {
        let query = queries.next().ok_or("there are queries")?;
        black_box(block_on(library.index.search(query))?);
        Ok(())
    };
    next()?;
    each_unit(|_| next(), SEARCHES)
}

/// Whether two characters are found wherever a scan of all documents finds them.
fn check_recall(library: &Library) -> Result<(), BoxError> {
    for pair in corpus::pairs(&library.documents, COMPARED) {
        let query = SearchQuery::new(pair.as_str()).limit(library.documents.len());
        let hits = block_on(library.index.search(&query))?;
        let found: BTreeSet<String> = hits.into_iter().map(|hit| hit.id).collect();
        let documents = library.documents.iter().enumerate();
        let there = documents.filter(|(_, text)| text.contains(&pair));
        let missed = there
            .filter(|(number, _)| !found.contains(&name(*number)))
            .count();
        if missed > 0 {
            return Err(format!("{missed} documents with {pair} are not found").into());
        }
    }
    Ok(())
}
