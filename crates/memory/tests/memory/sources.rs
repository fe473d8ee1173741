//! Tests with Markdown and documents as the source of an index.
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use fugato_memory::{
    EmbedError, Embedder, Embeddings, HashedNgrams, HybridSearch, IndexUpdate, IndexedDocs,
    MemoryIndex, NoteFile, Notebook, NotebookError, SearchHit, SearchIndex, SearchQuery,
    SyncReport,
};
use fugato_store::{
    DocKey, DocQuery, DocStore, DocStoreExt as _, MemoryDocs, Namespace, StoreError, StoreErrorKind,
};
use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::json;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// An embedder that counts its requests, and fails on demand.
#[derive(Debug, Default)]
struct CountingEmbedder {
    ngrams: HashedNgrams,
    asked: AtomicUsize,
    fails: AtomicBool,
}

#[async_trait]
impl Embedder for CountingEmbedder {
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, EmbedError> {
        self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        if self.fails.load(Ordering::Relaxed) {
            return Err(EmbedError::new(self.name(), "no connection"));
        }
        self.ngrams.embed(texts).await
    }

    fn name(&self) -> &str {
        self.ngrams.name()
    }
}

fn fresh() -> (HybridSearch, Arc<CountingEmbedder>) {
    let watched = Arc::new(CountingEmbedder::default());
    let search = HybridSearch::new(Arc::new(MemoryIndex::default()));
    (search.embedded_by(watched.clone()), watched)
}

fn file(path: &str, text: &str) -> NoteFile {
    NoteFile {
        path: path.into(),
        text: text.into(),
    }
}

fn counts(synced: &SyncReport) -> (usize, usize, usize) {
    (synced.put, synced.removed, synced.unchanged)
}

fn ids(hits: &[SearchHit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.id.as_str()).collect()
}

#[test]
fn trn_w6_only_what_changed_is_indexed_again() -> Outcome {
    let (search, watched) = fresh();
    let memory = file(
        "MEMORY.md",
        "# Trips\nThe plan for 北京 is ready.\n# Food\nNo peanuts.\n",
    );
    let day = file("memory/2026-11-22.md", "# 2026-11-22\n- 报销 was sent\n");
    let synced = block_on(search.sync(&[memory, day.clone()]))?;
    assert_eq!(counts(&synced), (3, 0, 0));
    let memory = file(
        "MEMORY.md",
        "# Food\nNo peanuts, no fish.\n# Trips\nThe plan for 北京 is ready.\n",
    );
    let synced = block_on(search.sync(&[memory.clone(), day]))?;
    assert_eq!(counts(&synced), (1, 0, 2));
    assert_eq!(watched.asked.load(Ordering::Relaxed), 4);
    let found = block_on(search.search(SearchQuery::new("北京").limit(1)))?;
    assert_eq!(ids(&found.hits), ["md:MEMORY.md#Trips~1"]);
    let synced = block_on(search.sync(&[memory]))?;
    assert_eq!(counts(&synced), (0, 1, 2));
    Ok(())
}

#[test]
fn trn_t5_an_embedder_that_fails_costs_the_meaning_and_not_the_search() -> Outcome {
    let (search, watched) = fresh();
    let files = [file("MEMORY.md", "# Food\nNo peanuts.\n")];
    watched.fails.store(true, Ordering::Relaxed);
    let synced = block_on(search.sync(&files))?;
    assert_eq!(
        (counts(&synced), synced.text_alone.is_some()),
        ((1, 0, 0), true)
    );
    let found = block_on(search.search(search.query("peanuts")))?;
    assert_eq!(
        (ids(&found.hits), found.text_alone.is_some()),
        (vec!["md:MEMORY.md#Food~1"], true)
    );
    watched.fails.store(false, Ordering::Relaxed);
    let synced = block_on(search.sync(&files))?;
    assert_eq!(
        (counts(&synced), synced.text_alone.is_some()),
        ((1, 0, 0), false)
    );
    let found = block_on(search.search(search.query("peanut")))?;
    assert!(found.hits.iter().all(|hit| hit.vector_score.is_some()));
    Ok(())
}

#[test]
fn another_embedder_means_other_vectors() -> Outcome {
    let index = Arc::new(MemoryIndex::default());
    let search =
        |size| HybridSearch::new(index.clone()).embedded_by(Arc::new(HashedNgrams::new(size)));
    let files = [file("MEMORY.md", "# Food\nNo peanuts.\n# Trips\nBonn.\n")];
    for size in [16, 32] {
        assert_eq!(counts(&block_on(search(size).sync(&files))?), (2, 0, 0));
        assert_eq!(counts(&block_on(search(size).sync(&files))?), (0, 0, 2));
    }
    Ok(())
}

proptest! {
    #[test]
    fn trn_w6_an_index_that_followed_equals_one_that_was_built_anew(
        versions in prop::collection::vec(prop::collection::vec("(# [ab]\n|[报销复习 ab]{0,4}\n){0,6}", 0..3), 1..6),
        query in "[报销复习ab]{1,3}",
    ) {
        let files = |texts: &[String]| -> Vec<NoteFile> {
            texts.iter().enumerate().map(|(n, text)| file(&format!("{n}.md"), text)).collect()
        };
        let (followed, _) = fresh();
        for version in &versions {
            block_on(followed.sync(&files(version)))?;
        }
        let (built, _) = fresh();
        block_on(built.sync(&files(versions.last().expect("there is one"))))?;
        let query = SearchQuery::new(query);
        let hits = block_on(followed.search(query.clone()))?.hits;
        prop_assert_eq!(hits, block_on(built.search(query))?.hits);
        let digests = |search: &HybridSearch| block_on(search.index().digests(""));
        prop_assert_eq!(digests(&followed)?, digests(&built)?);
    }
}

#[test]
fn trn_11_notes_are_markdown_that_people_can_read() -> Outcome {
    let folder = tempfile::tempdir()?;
    let notebook = Notebook::new(folder.path());
    assert_eq!(notebook.files()?, []);
    notebook.log("2026-11-22", "报销 was sent")?;
    notebook.log("2026-11-22", "# two\nlines")?;
    notebook.remember("Food", "no peanuts")?;
    notebook.remember("Trips", "Bonn")?;
    notebook.remember("Food", "no fish")?;
    notebook.remember("Food", "no peanuts")?;
    let expected = [
        file(
            "MEMORY.md",
            "# Memory\n\n## Food\n\n- no peanuts\n- no fish\n\n## Trips\n\n- Bonn\n",
        ),
        file(
            "memory/2026-11-22.md",
            "# 2026-11-22\n\n- 报销 was sent\n- two lines\n",
        ),
    ];
    assert_eq!(notebook.files()?, expected);
    for day in ["22.11.2026", "2026-13-01", "../2026-1", "2026-1-001"] {
        let refused = notebook.log(day, "x");
        assert!(matches!(refused, Err(NotebookError::Day { .. })), "{day}");
    }
    assert!(matches!(
        notebook.remember("a", " # "),
        Err(NotebookError::Empty)
    ));
    Ok(())
}

#[test]
fn trn_11_notes_of_the_same_moment_are_all_kept() -> Outcome {
    const NOTES: usize = 16;
    let folder = tempfile::tempdir()?;
    let notebook = Notebook::new(folder.path());
    notebook.remember("Friends", "an old one")?;
    let start = std::sync::Barrier::new(NOTES + 1);
    std::thread::scope(|scope| -> Outcome {
        let write = |n: usize| {
            // Every other one has the folder open as another process has it.
            let (notebook, start) = match n % 2 {
                0 => (notebook.clone(), &start),
                _ => (Notebook::new(folder.path()), &start),
            };
            scope.spawn(move || {
                start.wait();
                match n {
                    NOTES => notebook.forget("an old one").map(|_| ()),
                    n => notebook.remember("Friends", &format!("number {n} likes tea")),
                }
            })
        };
        let writers: Vec<_> = (0..=NOTES).map(write).collect();
        for writer in writers {
            writer.join().expect("no writer panics")?;
        }
        Ok(())
    })?;
    for n in 0..NOTES {
        assert!(notebook.has(&format!("number {n} likes tea"))?, "{n}");
    }
    assert!(!notebook.has("an old one")?);
    Ok(())
}

#[test]
fn trn_11_a_line_is_there_as_a_whole_or_not_at_all() -> Outcome {
    let folder = tempfile::tempdir()?;
    let notebook = Notebook::new(folder.path());
    let day = "2026-11-22";
    assert!(!notebook.is_logged(day, "tea")?);
    // Spaces do not matter.
    notebook.log(day, "green  tea\n at noon")?;
    assert!(notebook.is_logged(day, "green  tea\n at noon")? && !notebook.is_logged(day, "tea")?);
    assert!(notebook.is_logged("../memory/x", "tea").is_err());
    // A full disk cut a line off: the next note is a line of its own.
    let path = folder.path().join("memory/2026-11-22.md");
    std::fs::write(&path, "# 2026-11-22\n\n- green t")?;
    notebook.log(day, "green tea")?;
    let text = std::fs::read_to_string(path)?;
    assert_eq!(text, "# 2026-11-22\n\n- green t\n- green tea\n");
    assert!(notebook.is_logged(day, "green tea")?);
    Ok(())
}

fn space(path: &str) -> Namespace {
    path.parse().expect("a short path")
}

fn key(name: &str) -> DocKey {
    name.parse().expect("a short name")
}

fn found(docs: &dyn DocStore, path: &str, text: &str) -> Result<Vec<String>, StoreError> {
    let hits = block_on(docs.search(&space(path), &DocQuery::new(text)))?;
    Ok(hits
        .into_iter()
        .map(|hit| format!("{}:{}", hit.space, hit.entry.key))
        .collect())
}

#[test]
fn documents_are_found_within_their_namespace_as_they_are_now() -> Result<(), StoreError> {
    let docs = IndexedDocs::new(MemoryDocs::default(), fresh().0);
    let put = |path, name, text: &str| {
        block_on(docs.put(&space(path), &key(name), json!({ "note": [text] })))
    };
    put("user/7", "a", "去北京出差")?;
    put("user/7/old", "b", "北京 again")?;
    put("user/70", "c", "北京")?;
    assert_eq!(
        found(&docs, "user/7", "北京")?,
        ["user/7/old:b", "user/7:a"]
    );
    put("user/7", "a", "上海")?;
    block_on(docs.delete(&space("user/7/old"), &key("b")))?;
    assert_eq!(found(&docs, "user/7", "上海")?, ["user/7:a"]);
    block_on(docs.remove(&space("user/7")))?;
    assert_eq!(found(&docs, "user", "北京")?, ["user/70:c"]);
    Ok(())
}

#[test]
fn what_was_written_before_is_found_after_a_refresh() -> Result<(), StoreError> {
    let plain = MemoryDocs::default();
    block_on(plain.put(&space("user"), &key("a"), "报销"))?;
    let docs = IndexedDocs::new(plain, HybridSearch::new(Arc::new(MemoryIndex::default())));
    assert_eq!(found(&docs, "user", "报销")?, [""; 0]);
    assert_eq!(counts(&block_on(docs.refresh(&space("user")))?), (1, 0, 0));
    assert_eq!(found(&docs, "user", "报销")?, ["user:a"]);
    assert_eq!(counts(&block_on(docs.refresh(&space("user")))?), (0, 0, 1));
    Ok(())
}

/// An index whose updates fail on demand.
#[derive(Debug, Default)]
struct FailingIndex {
    index: MemoryIndex,
    jammed: AtomicBool,
}

#[async_trait]
impl SearchIndex for FailingIndex {
    async fn update(&self, update: IndexUpdate) -> Result<(), StoreError> {
        if self.jammed.load(Ordering::Relaxed) {
            return Err(StoreError::new(StoreErrorKind::Full, "update"));
        }
        self.index.update(update).await
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        self.index.search(query).await
    }

    async fn digests(&self, prefix: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        self.index.digests(prefix).await
    }
}

#[test]
fn a_write_is_made_even_if_the_index_cannot_follow_and_found_once_it_can() -> Result<(), StoreError>
{
    let index = Arc::new(FailingIndex::default());
    let docs = IndexedDocs::new(MemoryDocs::default(), HybridSearch::new(index.clone()));
    index.jammed.store(true, Ordering::Relaxed);
    block_on(docs.put(&space("user"), &key("a"), "报销"))?;
    let refused = found(&docs, "user", "报销").map_err(|error| error.kind);
    assert_eq!(refused, Err(StoreErrorKind::Full));
    index.jammed.store(false, Ordering::Relaxed);
    assert_eq!(found(&docs, "user", "报销")?, ["user:a"]);
    Ok(())
}
