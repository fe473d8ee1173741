//! One statement a step on a server.
use std::sync::Arc;

use fugato_state::State;
use futures::{TryStreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio_postgres::{Client, NoTls, Statement};

use super::steps::speakers;
use crate::{
    BoxError,
    host::threads,
    measure::{Measurement, Setting, rounds, runtime, timed},
    subject::Talk,
    workload::{GROUPED_TURNS, Workload},
};

/// Stores a body as the row `seq` of a thread.
type Append =
    Arc<dyn Fn(Arc<str>, u64, Vec<u8>) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

pub(super) fn postgres(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    talks(size, setting, async |url| {
        let mut connections = vec![];
        for _ in 0..size {
            connections.push(connection(&url).await?);
        }
        Ok(connections)
    })
}

/// A connection of its own for each thread.
async fn connection(url: &str) -> Result<Append, BoxError> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    client
        .batch_execute(
            "create table if not exists head (thread text primary key, seq bigint, fence bigint);
             create table if not exists row (thread text, seq bigint, body bytea, primary key (thread, seq))",
        )
        .await?;
    let statement = client
        .prepare(
            "with head as (
                 insert into head values ($1, $2, 1)
                 on conflict (thread) do update set seq = excluded.seq
                 where head.fence = 1 and head.seq = excluded.seq - 1
                 returning thread, seq
             )
             insert into row select thread, seq, $3 from head",
        )
        .await?;
    let shared: Arc<(Client, Statement)> = Arc::new((client, statement));
    Ok(Arc::new(move |thread, seq, body| {
        let shared = shared.clone();
        Box::pin(async move {
            let (client, statement) = &*shared;
            let (thread, seq) = (&*thread, seq.cast_signed());
            match client.execute(statement, &[&thread, &seq, &body]).await? {
                1 => Ok(()),
                _ => Err("another row was there".into()),
            }
        })
    }))
}

pub(super) fn redis(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    talks(size, setting, async |url| {
        let client = redis::Client::open(url)?;
        let connection = client.get_multiplexed_async_connection().await?;
        let append: Append = Arc::new(move |thread, _, body| {
            let mut connection = connection.clone();
            Box::pin(async move {
                let mut push = redis::cmd("RPUSH");
                push.arg(&*thread).arg(body);
                Ok(push.exec_async(&mut connection).await?)
            })
        });
        Ok(vec![append])
    })
}

/// Lets threads talk at once. They share the connections.
fn talks(
    size: u64,
    setting: &Setting,
    connect: impl AsyncFnOnce(String) -> Result<Vec<Append>, BoxError>,
) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let url = setting.server.clone().ok_or("a server is needed")?;
    let connections = runtime.block_on(connect(url))?;
    let mut round = 0;
    rounds(setting, Workload::Postgres.units(size), || {
        round += 1;
        let threads: Vec<Arc<str>> = threads(round, size).map(Into::into).collect();
        let (done, spent) = timed(|| {
            runtime.block_on(async {
                let talks = threads.into_iter().zip(connections.iter().cycle());
                let talks = talks.map(|(thread, append)| talk(thread, append.clone()));
                let spawned: FuturesUnordered<_> = talks.map(tokio::spawn).collect();
                spawned
                    .map_err(BoxError::from)
                    .try_for_each(std::future::ready)
                    .await
            })
        });
        done?;
        Ok(spent)
    })
}

async fn talk(thread: Arc<str>, append: Append) -> Result<(), BoxError> {
    let nodes = speakers();
    let mut state = Talk::of_turns(GROUPED_TURNS);
    while !state.is_over() {
        for node in &nodes {
            let update = node(&state).await;
            let seq = state.messages.len() as u64 + 1;
            append(thread.clone(), seq, serde_json::to_vec(&update)?).await?;
            state.apply(update);
        }
    }
    Ok(())
}
