//! What one append of one record costs, in memory and in SQLite.
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fugato_benches::measure::runtime;
use fugato_sqlite::{SqliteLog, SqliteOptions, Synchronous};
use fugato_state::ThreadId;
use fugato_store::{Commit, Expect, MemoryLog, Record, Status, ThreadLog};
use tokio::runtime::Runtime;

/// Appends one record of 300 bytes after another.
fn appends(criterion: &mut Criterion, runtime: &Runtime, name: &str, log: &dyn ThreadLog) {
    let thread = ThreadId::new("thread-1").expect("the name keeps the rules");
    let mut head = 0;
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            let commit = Commit {
                expect: Expect { head, fence: 0 },
                nonce: u128::from(head) + 1,
                records: vec![Record(vec![b'x'; 300])],
                status: Status::Runnable,
                base: None,
            };
            let appended = runtime.block_on(log.append(&thread, &commit));
            head = appended.expect("nobody else writes").head;
            black_box(head)
        });
    });
}

fn commit(criterion: &mut Criterion) {
    let runtime = runtime().expect("a runtime starts");
    appends(
        criterion,
        &runtime,
        "commit in memory",
        &MemoryLog::default(),
    );
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    for (name, synchronous) in [
        ("commit in SQLite, synchronous=NORMAL", Synchronous::Normal),
        ("commit in SQLite, synchronous=FULL", Synchronous::Full),
    ] {
        let options = SqliteOptions::default().synchronous(synchronous);
        let file = folder.path().join(format!("{synchronous:?}.db"));
        let log = SqliteLog::open_with(file, options).expect("the file can be made");
        appends(criterion, &runtime, name, &log);
    }
}

criterion_group!(benches, commit);
criterion_main!(benches);
