//! What a task costs among many in one step, its join included.
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fugato_benches::{engine::graphs, measure::runtime, subject::Tally};
use fugato_graph::Runner;

fn fan_out(criterion: &mut Criterion) {
    let runtime = runtime().expect("a runtime starts");
    let runner = Runner::ephemeral(graphs::fan_out().expect("the graph is sound"));
    let mut group = criterion.benchmark_group("fan-out");
    for items in [4, 100, 1000, 10_000] {
        group.throughput(Throughput::Elements(items));
        group.bench_function(BenchmarkId::from_parameter(items), |bencher| {
            let state = || Tally {
                items,
                ..Tally::default()
            };
            bencher.iter(|| black_box(runtime.block_on(runner.run_on(state(), ()))));
        });
    }
    group.finish();
}

criterion_group!(benches, fan_out);
criterion_main!(benches);
