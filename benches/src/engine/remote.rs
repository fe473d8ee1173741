//! Many threads at once on a server.
use std::sync::Arc;

use fugato_graph::Runner;
use fugato_postgres::{PostgresLog, PostgresOptions};
use fugato_redis::RedisLog;
use fugato_state::ThreadId;
use fugato_store::ThreadStore;

use super::{
    durable::{say_all, unlimited},
    graphs,
};
use crate::{
    BoxError,
    host::threads,
    measure::{Measurement, Setting, rounds, runtime, timed},
    workload::{GROUPED_TURNS, Workload},
};

pub(super) fn postgres(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let options = PostgresOptions::default().pool_size(usize::try_from(size)?);
    talks(size, setting, async |url| {
        Ok(PostgresLog::connect_with(url, options).await?)
    })
}

pub(super) fn redis(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    talks(size, setting, async |url| Ok(RedisLog::connect(url).await?))
}

fn talks<L: ThreadStore + 'static>(
    size: u64,
    setting: &Setting,
    connect: impl AsyncFnOnce(&str) -> Result<L, BoxError>,
) -> Result<Measurement, BoxError> {
    let (runtime, graph) = (runtime()?, graphs::talk(GROUPED_TURNS)?);
    let url = setting.server.as_deref().ok_or("a server is needed")?;
    let log = Arc::new(runtime.block_on(connect(url))?);
    let runner = Runner::new(graph, log).options(unlimited());
    let mut round = 0;
    rounds(setting, Workload::Postgres.units(size), || {
        round += 1;
        let threads = threads(round, size).map(ThreadId::new);
        let threads = threads.collect::<Result<Vec<_>, _>>()?;
        let (done, spent) = timed(|| runtime.block_on(say_all(&runner, &threads)));
        done?;
        Ok(spent)
    })
}
