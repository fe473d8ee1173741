//! What a step costs: nodes in a row, a loop that appends messages, and the start of a run.
use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fugato_benches::{
    engine::graphs,
    measure::runtime,
    subject::{Still, Talk},
};
use fugato_graph::Runner;

fn start(criterion: &mut Criterion) {
    let runtime = runtime().expect("a runtime starts");
    let runner = Runner::ephemeral(graphs::chain(1).expect("the graph is sound"));
    criterion.bench_function("start of a run", |bencher| {
        bencher.iter(|| black_box(runtime.block_on(runner.run_on(Still::default(), ()))));
    });
}

fn chain(criterion: &mut Criterion) {
    let runtime = runtime().expect("a runtime starts");
    let mut group = criterion.benchmark_group("chain");
    for nodes in [1000, 3000] {
        let runner = Runner::ephemeral(graphs::chain(nodes).expect("the graph is sound"));
        group.throughput(Throughput::Elements(nodes));
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter(|| black_box(runtime.block_on(runner.run_on(Still::default(), ()))));
        });
    }
    group.finish();
}

fn talk(criterion: &mut Criterion) {
    let runtime = runtime().expect("a runtime starts");
    let mut group = criterion.benchmark_group("agent and tools");
    for turns in [100, 1000] {
        let graph = graphs::talk(turns).expect("the graph is sound");
        let runner = Runner::ephemeral(graph);
        group.throughput(Throughput::Elements(2 * turns));
        group.bench_function(BenchmarkId::from_parameter(turns), |bencher| {
            bencher.iter_batched(
                || Talk::of_turns(turns),
                |state| black_box(runtime.block_on(runner.run_on(state, ()))),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, start, chain, talk);
criterion_main!(benches);
