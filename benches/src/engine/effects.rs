//! Steps that each do something to the outside world once.
use std::sync::Arc;

use fugato_graph::Runner;
use fugato_sqlite::Synchronous;
use fugato_state::{EffectClass, ThreadId};
use fugato_store::MemoryLog;

use super::{
    durable::{Database, unlimited},
    graphs,
};
use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    subject::Count,
};

pub(super) fn in_memory(
    class: EffectClass,
    size: u64,
    setting: &Setting,
) -> Result<Measurement, BoxError> {
    let graph = graphs::effects(size, class)?;
    measure(size, setting, || {
        let runner = Runner::new(graph.clone(), Arc::new(MemoryLog::default()));
        Ok(((), runner.options(unlimited())))
    })
}

pub(super) fn on_disk(
    class: EffectClass,
    size: u64,
    setting: &Setting,
) -> Result<Measurement, BoxError> {
    let graph = graphs::effects(size, class)?;
    measure(size, setting, || {
        let database = Database::create(Synchronous::Full, setting)?;
        let runner = database.runner(graph.clone());
        Ok((database, runner))
    })
}

/// Measures runs on runners that are made anew. What they need is kept as long as they are.
fn measure<K>(
    size: u64,
    setting: &Setting,
    mut runner: impl FnMut() -> Result<(K, Runner<Count>), BoxError>,
) -> Result<Measurement, BoxError> {
    let (runtime, thread) = (runtime()?, ThreadId::new("thread-1")?);
    rounds(setting, size, || {
        let (_kept, runner) = runner()?;
        let (ended, spent) =
            timed(|| runtime.block_on(async { runner.start(&thread, None).await }));
        assert_eq!(ended?.state().reached, size, "each step acts");
        Ok(spent)
    })
}
