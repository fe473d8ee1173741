//! Runs the conformance tests of an index on a file, and compares it with the one in memory.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fugato_memory::{
    Fusion, HashedNgrams, HybridSearch, IndexEntry, IndexUpdate, IndexedDocs, MemoryIndex,
    SearchHit, SearchIndex, SearchQuery,
};
use fugato_sqlite::{SqliteDocs, SqliteLog, SqliteSearch};
use fugato_store::{DocKey, DocQuery, DocStore, DocStoreExt as _, Namespace, StoreErrorKind};
use futures::executor::block_on;
use proptest::prelude::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn ids(hits: &[SearchHit]) -> BTreeSet<String> {
    hits.iter().map(|hit| hit.id.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(fugato_testkit::share_of(48)))]

    #[test]
    fn l15_fts5_finds_a_pair_of_characters_wherever_a_substring_is(
        texts in prop::collection::vec("[复习报销单a 1。，Ａー々⼀\"*]{0,12}", 0..20),
        queries in prop::collection::vec("[复习报销单々⼀]{2}", 1..6),
    ) {
        let folder = fugato_testkit::tempdir()?;
        let index = SqliteSearch::open(folder.path().join("index.db"))?;
        let entry = |(n, text): (usize, &String)| IndexEntry::new(format!("{n:03}"), text.clone());
        block_on(index.update(IndexUpdate::put(texts.iter().enumerate().map(entry))))?;
        for query in queries {
            let found = block_on(index.search(&SearchQuery::new(&query).limit(100)))?;
            let holding = texts.iter().enumerate().filter(|(_, text)| text.contains(&query));
            let expected: BTreeSet<_> = holding.map(|(n, _)| format!("{n:03}")).collect();
            prop_assert_eq!(ids(&found), expected);
        }
    }

    #[test]
    fn l15_fts5_does_not_remember_how_entries_came(
        steps in prop::collection::vec((0..9u8, prop::option::of("[复习报销a b]{0,6}")), 0..30),
        query in "[复习报销ab]{1,3}",
    ) {
        let ngrams = HashedNgrams::new(16);
        let folder = fugato_testkit::tempdir()?;
        let changed = SqliteSearch::open(folder.path().join("changed.db"))?;
        let mut latest = BTreeMap::new();
        for (n, text) in &steps {
            let id = format!("{n}");
            let update = if let Some(text) = text {
                let entry = IndexEntry::new(&id, text).vector(ngrams.vector(text));
                latest.insert(id, entry.clone());
                IndexUpdate::put([entry])
            } else {
                latest.remove(&id);
                IndexUpdate::remove([id])
            };
            block_on(changed.update(update))?;
        }
        let built = SqliteSearch::open(folder.path().join("built.db"))?;
        let memory = MemoryIndex::default();
        block_on(built.update(IndexUpdate::put(latest.clone().into_values())))?;
        block_on(memory.update(IndexUpdate::put(latest.into_values())))?;
        for fusion in [Fusion::default(), Fusion::WEIGHTS] {
            let query = SearchQuery::new(&query).near(ngrams.vector(&query)).limit(5).fused_by(fusion);
            prop_assert_eq!(block_on(changed.search(&query))?, block_on(built.search(&query))?);
        }
        prop_assert_eq!(block_on(changed.digests(""))?, block_on(memory.digests(""))?);
        let text = SearchQuery::new(&query).limit(100);
        let found = ids(&block_on(changed.search(&text))?);
        prop_assert_eq!(found, ids(&block_on(memory.search(&text))?));
    }

    #[test]
    fn l15_fts5_scores_texts_as_the_index_in_memory_does(
        texts in prop::collection::vec("[复习报销a b]{0,24}", 0..12),
        query in "[复习报销]{2,4}( [ab]{1,2})?",
    ) {
        let folder = fugato_testkit::tempdir()?;
        let (file, memory) = (SqliteSearch::open(folder.path().join("index.db"))?, MemoryIndex::default());
        for (n, text) in texts.iter().enumerate() {
            let put = IndexUpdate::put([IndexEntry::new(format!("{n:03}"), text.clone())]);
            block_on(file.update(put.clone()))?;
            block_on(memory.update(put))?;
            let query = SearchQuery::new(&query);
            prop_assert_eq!(block_on(file.search(&query))?, block_on(memory.search(&query))?);
        }
    }
}

#[test]
fn another_connection_sees_what_was_written_vectors_included() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("index.db");
    let (one, other) = (SqliteSearch::open(&path)?, SqliteSearch::open(&path)?);
    let near = SearchQuery::new("").near(vec![1.0, 0.0]);
    for (n, id) in ["a", "b"].into_iter().enumerate() {
        let entry = IndexEntry::new(id, "").vector(vec![1.0, 0.0]);
        block_on(one.update(IndexUpdate::put([entry])))?;
        assert_eq!(block_on(other.search(&near))?.len(), n + 1);
    }
    block_on(other.update(IndexUpdate::remove(["a"])))?;
    drop(other);
    drop(one);
    let again = SqliteSearch::open(&path)?;
    assert_eq!(
        ids(&block_on(again.search(&near))?),
        BTreeSet::from(["b".to_owned()])
    );
    let wrong = IndexEntry::new("c", "").vector(vec![1.0]);
    let refused = block_on(again.update(IndexUpdate::put([wrong]))).map_err(|error| error.kind);
    let what = "a vector has 1 dimensions where the others have 2".to_owned();
    assert_eq!(refused, Err(StoreErrorKind::Invalid(what)));
    assert_eq!(block_on(again.digests(""))?.len(), 1);
    Ok(())
}

#[test]
fn what_is_no_index_is_refused_and_left_alone() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("desk.db");
    drop(SqliteLog::open(&path)?);
    let before = std::fs::read(&path)?;
    let refused = SqliteSearch::open(&path)
        .map(drop)
        .map_err(|error| error.kind);
    assert!(
        matches!(refused, Err(StoreErrorKind::Corrupt(_))),
        "{refused:?}"
    );
    assert_eq!(std::fs::read(&path)?, before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_in_a_file_are_searched() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let index = SqliteSearch::open(folder.path().join("index.db"))?;
    let docs = SqliteDocs::open(folder.path().join("desk.db"))?;
    let docs = IndexedDocs::new(docs, HybridSearch::new(Arc::new(index)));
    let (space, key) = (Namespace::new(["user"])?, DocKey::new("trip")?);
    docs.put(&space, &key, "去北京出差").await?;
    let docs: &dyn DocStore = &docs;
    let hits = docs.search(&space, &DocQuery::new("出差")).await?;
    assert_eq!(hits.len(), 1);
    docs.delete(&space, &key).await?;
    assert_eq!(docs.search(&space, &DocQuery::new("出差")).await?, []);
    Ok(())
}
