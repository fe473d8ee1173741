//! What a question costs: a run until it is asked, and the run that its answer goes on with.
use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use fugato_benches::{engine::graphs, measure::runtime};
use fugato_graph::{Answers, Runner};
use fugato_state::ThreadId;
use fugato_store::MemoryLog;

fn interrupt(criterion: &mut Criterion) {
    let runtime = runtime().expect("a runtime starts");
    let graph = graphs::approval().expect("the graph is sound");
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let count = AtomicU64::new(0);
    let fresh = || {
        let number = count.fetch_add(1, Ordering::Relaxed);
        ThreadId::new(format!("thread-{number}")).expect("the name keeps the rules")
    };
    let ask = |thread: &ThreadId| {
        runtime
            .block_on(async { runner.start(thread, None).await })
            .expect("the question is asked")
    };
    criterion.bench_function("ask", |bencher| {
        bencher.iter_batched(
            fresh,
            |thread| black_box(ask(&thread)),
            BatchSize::SmallInput,
        );
    });
    criterion.bench_function("answer", |bencher| {
        let asked = || {
            let thread = fresh();
            ask(&thread);
            (thread, Answers::only(true).expect("a truth value is JSON"))
        };
        let answer = |(thread, answers)| {
            runtime
                .block_on(async { runner.resume(&thread, answers).await })
                .expect("the answer is taken")
        };
        bencher.iter_batched(
            asked,
            |asked| black_box(answer(asked)),
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, interrupt);
criterion_main!(benches);
