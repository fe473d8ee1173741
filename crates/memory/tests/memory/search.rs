//! Tests of the contract of an index, on the one in memory.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fugato_memory::{
    Fusion, HashedNgrams, HybridSearch, IndexEntry, IndexUpdate, MemoryIndex, NoteFile, SearchHit,
    SearchIndex, SearchQuery, Vectors,
};
use fugato_store::{StoreError, StoreErrorKind};
use futures::executor::block_on;
use proptest::prelude::*;

fn index(texts: &[String]) -> Result<MemoryIndex, StoreError> {
    let index = MemoryIndex::default();
    let entry = |(n, text): (usize, &String)| IndexEntry::new(format!("{n:03}"), text.clone());
    let put = IndexUpdate::put(texts.iter().enumerate().map(entry));
    block_on(index.update(put))?;
    Ok(index)
}

fn ids(hits: &[SearchHit]) -> BTreeSet<String> {
    hits.iter().map(|hit| hit.id.clone()).collect()
}

/// Texts of few characters, so that pairs are frequent: also at the ends of runs, and next to
/// letters and stops.
fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[复习报销单a 1。，Ａー々]{0,12}", 0..30)
}

proptest! {
    #[test]
    fn l15_a_pair_of_characters_is_found_wherever_a_substring_is(
        texts in texts(), query in "[复习报销单々]{2}",
    ) {
        let index = index(&texts)?;
        let found = block_on(index.search(&SearchQuery::new(&query).limit(100)))?;
        let holding = texts.iter().enumerate().filter(|(_, text)| text.contains(&query));
        let expected: BTreeSet<_> = holding.map(|(n, _)| format!("{n:03}")).collect();
        prop_assert_eq!(ids(&found), expected);
    }

    #[test]
    fn l15_longer_and_shorter_queries_find_every_substring(
        texts in texts(), query in "[复习报销单々]{1,5}",
    ) {
        let index = index(&texts)?;
        let found = ids(&block_on(index.search(&SearchQuery::new(&query).limit(100)))?);
        for (n, text) in texts.iter().enumerate() {
            prop_assert!(!text.contains(&query) || found.contains(&format!("{n:03}")), "{} in {}", query, text);
        }
    }

    #[test]
    fn l15_how_entries_came_does_not_matter(
        steps in prop::collection::vec((0..12u8, prop::option::of("[复习报销a b]{0,6}")), 0..60),
        query in "[复习报销ab]{1,3}",
    ) {
        let ngrams = HashedNgrams::new(16);
        let changed = MemoryIndex::default();
        let mut latest = BTreeMap::new();
        for (n, text) in &steps {
            let id = format!("{n}");
            let update = if let Some(text) = text {
                let entry = IndexEntry::new(&id, text).vector(ngrams.vector(text)).importance(f32::from(*n) / 12.0);
                latest.insert(id, entry.clone());
                IndexUpdate::put([entry])
            } else {
                latest.remove(&id);
                IndexUpdate::remove([id])
            };
            block_on(changed.update(update))?;
        }
        let built = MemoryIndex::default();
        block_on(built.update(IndexUpdate::put(latest.into_values())))?;
        for fusion in [Fusion::default(), Fusion::WEIGHTS] {
            let query = SearchQuery::new(&query).near(ngrams.vector(&query)).limit(5).min_importance(0.2).fused_by(fusion);
            prop_assert_eq!(block_on(changed.search(&query))?, block_on(built.search(&query))?);
        }
        prop_assert_eq!(block_on(changed.digests(""))?, block_on(built.digests(""))?);
    }

    #[test]
    fn the_nearest_are_those_of_an_exact_search(
        vectors in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 24), 1..80),
        query in prop::collection::vec(-1.0f32..1.0, 24), limit in 1..10usize,
    ) {
        let mut kept = Vectors::default();
        for (slot, vector) in vectors.iter().enumerate() {
            kept.put(slot, vector).expect("no vector of chance is zero");
        }
        let found: Vec<_> = kept.nearest(&query, limit, |_| true).expect("they are of one shape");
        let norm = |v: &[f32]| v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let cosine = |v: &Vec<f32>| {
            let dot: f64 = v.iter().zip(&query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            dot / norm(v) / norm(&query)
        };
        let mut exact: Vec<f64> = vectors.iter().map(cosine).collect();
        exact.sort_by(|a, b| b.total_cmp(a));
        prop_assert_eq!(found.len(), limit.min(vectors.len()));
        for ((_, found), exact) in found.iter().zip(exact) {
            prop_assert!((found - exact).abs() < 1e-5, "{} is not {}", found, exact);
        }
    }

    #[test]
    fn fusing_keeps_each_hit_once_and_an_order_that_both_share(
        scores in prop::collection::vec(0.0f64..1.0, 0..20), limit in 0..25usize,
    ) {
        let mut ranking: Vec<(String, f64)> = scores.iter().enumerate().map(|(n, s)| (format!("{n:02}"), *s)).collect();
        ranking.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let order: Vec<_> = ranking.iter().take(limit).map(|(id, _)| id.clone()).collect();
        for fusion in [Fusion::default(), Fusion::WEIGHTS] {
            let hits = fusion.fuse(ranking.clone(), ranking.clone(), limit);
            prop_assert_eq!(hits.iter().map(|hit| hit.id.clone()).collect::<Vec<_>>(), order.clone());
            let alone = fusion.fuse(ranking.clone(), vec![], limit);
            prop_assert_eq!(alone.iter().map(|hit| hit.id.clone()).collect::<Vec<_>>(), order.clone());
        }
    }
}

/// Returns a repeatable sequence of numbers between -1 and 1.
fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(state >> 48).expect("it has 16 bits")) / 32768.0 - 1.0
    }
}

#[test]
fn nothing_near_is_missed_where_vectors_lie_in_clusters() {
    let mut noise = noise(7);
    let mut vector = |centre: &[f32], spread: f32| -> Vec<f32> {
        centre.iter().map(|x| x + spread * noise()).collect()
    };
    let centres: Vec<_> = (0..20).map(|_| vector(&[0.0; 384], 1.0)).collect();
    for spread in [0.02, 0.1, 0.5] {
        let near: Vec<_> = centres.iter().cycle().take(3000).collect();
        let vectors: Vec<_> = near.iter().map(|x| vector(x, spread)).collect();
        let mut kept = Vectors::default();
        for (slot, vector) in vectors.iter().enumerate() {
            kept.put(slot, vector).expect("it has a direction");
        }
        for centre in centres.iter().take(3) {
            let query = vector(centre, spread);
            for step in [1, 3] {
                let found = kept.nearest(&query, 10, |slot| slot % step == 0);
                let found = found.expect("it is of the same shape");
                let all = vectors.iter().enumerate().step_by(step);
                let mut exact: Vec<_> = all.map(|(slot, v)| (slot, cosine(v, &query))).collect();
                exact.sort_by(|a, b| b.1.total_cmp(&a.1));
                exact.truncate(10);
                let slots = |of: &[(usize, f64)]| -> BTreeSet<usize> {
                    of.iter().map(|(slot, _)| *slot).collect()
                };
                // Those as near as the last in single precision are found, too.
                let (found, exact) = (slots(&found), slots(&exact));
                assert!(exact.is_subset(&found), "{exact:?} are not among {found:?}");
                assert!(found.len() < 15, "{found:?} are many");
            }
        }
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn find(index: &MemoryIndex, query: &SearchQuery) -> Result<Vec<String>, StoreError> {
    let hits = block_on(index.search(query))?;
    Ok(hits.into_iter().map(|hit| hit.id).collect())
}

#[test]
fn trn_t5_without_a_vector_text_alone_answers() -> Result<(), StoreError> {
    let index = MemoryIndex::default();
    let near = IndexEntry::new("near", "nothing alike").vector(vec![1.0, 0.0]);
    let said = IndexEntry::new("said", "the project plan").vector(vec![0.0, 1.0]);
    let bare = IndexEntry::new("bare", "a plan");
    block_on(index.update(IndexUpdate::put([near, said, bare])))?;
    let plan = SearchQuery::new("plan");
    assert_eq!(find(&index, &plan)?, ["bare", "said"]);
    let both = plan.near(vec![1.0, 0.1]);
    assert_eq!(find(&index, &both)?, ["said", "bare", "near"]);
    Ok(())
}

/// Checks the numbers of a whole search against a calculation by hand.
///
/// There are three texts of 3, 2 and 1 terms, 2 on average, and two of them have `tea`: its rarity is
/// ln(1 + 1.5 / 2.5) = 0.470004. BM25 gives the first, which has it twice,
/// 0.470004 · 2 · 2.2 / (2 + 1.2 · (0.25 + 0.75 · 3 / 2)) = 0.566580, and the second
/// 0.470004 · 2.2 / (1 + 1.2) = 0.470004. From 0 to 1 these are 1 and 0; the cosines 1, 0.8 and 0.6
/// are 1, 0.5 and 0.
#[test]
fn trn_7_trn_t4_the_numbers_of_a_hybrid_search_by_hand() -> Result<(), StoreError> {
    let index = MemoryIndex::default();
    let entries = [
        IndexEntry::new("often", "tea tea milk").vector(vec![0.6, 0.8]),
        IndexEntry::new("near", "tea bread").vector(vec![2.0, 0.0]),
        IndexEntry::new("rain", "rain").vector(vec![0.8, 0.6]),
    ];
    block_on(index.update(IndexUpdate::put(entries)))?;
    let query = SearchQuery::new("tea").near(vec![3.0, 0.0]);
    let hits = block_on(index.search(&query.fused_by(Fusion::WEIGHTS)))?;
    let told = |score: f64| (score * 1e6).round() / 1e6;
    let told: Vec<_> = hits
        .iter()
        .map(|hit| {
            let scores = (hit.text_score.map(told), hit.vector_score.map(told));
            (hit.id.as_str(), scores, told(hit.score))
        })
        .collect();
    let expected = [
        ("near", (Some(0.470_004), Some(1.0)), 0.7),
        ("rain", (None, Some(0.8)), 0.35),
        ("often", (Some(0.566_58), Some(0.6)), 0.3),
    ];
    assert_eq!(told, expected);
    Ok(())
}

#[test]
fn only_what_is_wanted_is_found() -> Result<(), StoreError> {
    let index = MemoryIndex::default();
    let entry = |id: &str, importance| IndexEntry::new(id, "复习").importance(importance);
    let entries = [entry("a/1", 0.9), entry("a/2", 0.1), entry("b/1", 0.9)];
    block_on(index.update(IndexUpdate::put(entries)))?;
    let query = SearchQuery::new("复习").within("a/");
    assert_eq!(find(&index, &query)?, ["a/1", "a/2"]);
    assert_eq!(find(&index, &query.clone().limit(1))?, ["a/1"]);
    assert_eq!(find(&index, &query.min_importance(0.5))?, ["a/1"]);
    Ok(())
}

#[test]
fn an_update_that_is_refused_changes_nothing() -> Result<(), StoreError> {
    let index = MemoryIndex::default();
    let first = IndexEntry::new("first", "one").vector(vec![1.0, 0.0]);
    let stays = IndexEntry::new("stays", "else").vector(vec![0.0, 1.0]);
    block_on(index.update(IndexUpdate::put([first, stays])))?;
    let wrong = IndexUpdate {
        remove: vec!["first".into()],
        put: vec![
            IndexEntry::new("second", "two"),
            IndexEntry::new("third", "three").vector(vec![1.0]),
        ],
    };
    let refused = block_on(index.update(wrong)).map_err(|error| error.kind);
    let what = "a vector has 1 dimensions where the others have 2";
    assert_eq!(refused, Err(StoreErrorKind::Invalid(what.into())));
    assert_eq!(
        (index.len(), find(&index, &SearchQuery::new("one"))?),
        (2, vec!["first".into()])
    );
    Ok(())
}

/// An index that is unavailable.
#[derive(Debug)]
struct Down;

#[async_trait::async_trait]
impl SearchIndex for Down {
    async fn update(&self, _: IndexUpdate) -> Result<(), StoreError> {
        Err(StoreError::new(StoreErrorKind::Unavailable, "update"))
    }

    async fn search(&self, _: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        Err(StoreError::new(StoreErrorKind::Unavailable, "search"))
    }

    async fn digests(&self, _: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        Err(StoreError::new(StoreErrorKind::Unavailable, "digests"))
    }
}

#[test]
fn trn_w6_notes_are_found_without_their_index() -> Result<(), StoreError> {
    let files = [NoteFile {
        path: "MEMORY.md".into(),
        text: "# Memory\n\n- the door code is 1207\n- tea\n".into(),
    }];
    let search = |index: Arc<dyn SearchIndex>| {
        let search = HybridSearch::new(index).fused_by(Fusion::WEIGHTS);
        block_on(search.search_notes(&files, "door", 5))
    };
    let with = search(Arc::new(MemoryIndex::default()))?;
    let without = search(Arc::new(Down))?;
    assert_eq!(with.notes, without.notes);
    let told: Vec<_> = with
        .notes
        .iter()
        .map(|note| (note.text.as_str(), note.score))
        .collect();
    assert_eq!(told, [("Memory\n- the door code is 1207\n- tea", 0.3)]);
    assert!(with.without_index.is_none());
    let why = without.without_index.map(|error| error.kind);
    assert_eq!(why, Some(StoreErrorKind::Unavailable));
    Ok(())
}
