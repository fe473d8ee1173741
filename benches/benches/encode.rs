//! What a piece of text costs on its way to a client, by protocol and by how much is told, and what
//! reading it back costs.
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fugato_benches::engine::encode::{delta, encode, encoder};
use fugato_stream::{Decoder, Fidelity, Frames};

const TIMES: u64 = 1000;
const PROTOCOLS: [&str; 4] = ["openai", "named", "ag-ui", "ai-sdk"];

fn encoding(criterion: &mut Criterion) {
    let event = delta().expect("the event is sound");
    let mut group = criterion.benchmark_group("encode");
    group.throughput(Throughput::Elements(TIMES));
    for fidelity in [Fidelity::Strict, Fidelity::Full] {
        for protocol in PROTOCOLS {
            let mut encoder = encoder(protocol, fidelity).expect("it is known");
            let id = BenchmarkId::new(protocol, format!("{fidelity:?}"));
            let mut frames = Frames::new();
            group.bench_function(id, |bencher| {
                bencher.iter(|| encode(encoder.as_mut(), &event, TIMES, &mut frames));
            });
        }
    }
    group.finish();
}

fn decoding(criterion: &mut Criterion) {
    let event = delta().expect("the event is sound");
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(TIMES));
    for protocol in PROTOCOLS {
        let mut encoder = encoder(protocol, Fidelity::Full).expect("it is known");
        let mut frames = Frames::new();
        for _ in 0..TIMES {
            encoder.encode(&event, &mut frames);
        }
        group.bench_function(protocol, |bencher| {
            bencher.iter(|| {
                let mut events = vec![];
                let read = Decoder::new().push(frames.as_str().as_bytes(), &mut events);
                read.expect("what was encoded can be read");
                events.len()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, encoding, decoding);
criterion_main!(benches);
