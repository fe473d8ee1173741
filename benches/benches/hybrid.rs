//! What a search among 100,000 short documents costs: by text, by vectors, and by both.
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fugato_benches::subject::corpus::Chance;
use fugato_memory::{HashedNgrams, IndexEntry, IndexUpdate, MemoryIndex, SearchIndex, SearchQuery};
use fugato_sqlite::SqliteSearch;
use futures::executor::block_on;

const DOCUMENTS: u32 = 100_000;
/// How many are put at once.
const BATCH: u32 = 5_000;

fn fill(index: &dyn SearchIndex) {
    let (ngrams, mut chance) = (HashedNgrams::default(), Chance::default());
    for batch in 0..DOCUMENTS / BATCH {
        let entries = (0..BATCH).map(|n| {
            let text = chance.text();
            let vector = ngrams.vector(&text);
            IndexEntry::new(format!("{:06}", batch * BATCH + n), text).vector(vector)
        });
        let put = IndexUpdate::put(entries);
        block_on(index.update(put)).expect("the entries are sound");
    }
}

fn queries() -> Vec<(&'static str, Vec<SearchQuery>)> {
    let ngrams = HashedNgrams::default();
    let texts = [
        "复习",
        "报销",
        "化学 exam",
        "北京出差的发票",
        "chemistry plan 计划书",
        "w1500 安排",
    ];
    let text: Vec<_> = texts.into_iter().map(SearchQuery::new).collect();
    let vector = |text: &str| SearchQuery::new("").near(ngrams.vector(text));
    let both = |text: &str| SearchQuery::new(text).near(ngrams.vector(text));
    vec![
        ("text", text),
        ("vectors", texts.into_iter().map(vector).collect()),
        ("both", texts.into_iter().map(both).collect()),
    ]
}

fn searching(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = SqliteSearch::open(folder.path().join("index.db")).expect("a new file is sound");
    let memory = MemoryIndex::default();
    let indexes: [(&str, &dyn SearchIndex); 2] = [("memory", &memory), ("sqlite", &file)];
    let mut group = criterion.benchmark_group("hybrid-search");
    group.sample_size(30);
    for (name, index) in indexes {
        fill(index);
        for (by, queries) in queries() {
            let mut next = queries.iter().cycle();
            group.bench_function(format!("{name}/{by}"), |bencher| {
                bencher.iter(|| {
                    let query = next.next().expect("a cycle does not end");
                    black_box(block_on(index.search(query)).expect("the query is sound"))
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, searching);
criterion_main!(benches);
