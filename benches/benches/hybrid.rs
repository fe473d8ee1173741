//! What a search among 100,000 short documents costs: by text, by vectors, and by both.
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fugato_memory::{HashedNgrams, IndexEntry, IndexUpdate, MemoryIndex, SearchIndex, SearchQuery};
use fugato_sqlite::SqliteSearch;
use futures::executor::block_on;

const DOCUMENTS: u32 = 100_000;
/// How many are put at once.
const BATCH: u32 = 5_000;

/// Words of a language with spaces and of one without; a few are in very many documents.
const WORDS: [&str; 24] = [
    "plan",
    "exam",
    "room",
    "budget",
    "travel",
    "invoice",
    "meeting",
    "chemistry",
    "复习",
    "报销",
    "考试",
    "计划书",
    "北京",
    "上海",
    "出差",
    "会议",
    "化学",
    "预算",
    "发票",
    "教室",
    "学习",
    "项目",
    "时间",
    "安排",
];

/// The same numbers on every machine.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Some words are common, and some characters rare.
    fn text(&mut self) -> String {
        let words = 8 + self.below(16);
        let word = |chance: &mut Self| {
            let (a, b) = (chance.below(24), chance.below(24));
            let rare = chance.below(3_000);
            match usize::try_from(a.min(b)).ok().and_then(|n| WORDS.get(n)) {
                Some(word) if rare > 2_000 => (*word).to_owned(),
                _ if rare > 1_000 => format!("w{rare}"),
                _ => {
                    let han = |n: u64| u32::try_from(0x4E00 + n).ok().and_then(char::from_u32);
                    [han(rare), han(chance.below(3_000))]
                        .into_iter()
                        .flatten()
                        .collect()
                }
            }
        };
        let words: Vec<String> = (0..words).map(|_| word(self)).collect();
        words.join(if self.below(2) == 0 { " " } else { "" })
    }
}

fn fill(index: &dyn SearchIndex) {
    let (ngrams, mut chance) = (HashedNgrams::default(), Chance(7));
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
