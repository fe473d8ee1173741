//! Runs the conformance tests of a document store on `PostgresDocs`, alone and in the schema of a
//! log.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use crate::fixture::{TestResult, commit, connect, fresh, name, poke};
use fugato_postgres::{PostgresDocs, PostgresLog, PostgresOptions};
use fugato_store::{DocKey, DocStore, DocStoreExt as _, DocWrite, Namespace, ThreadLog};
use fugato_testkit::{
    doc::DocFactory,
    log::{OpenError, TestClock},
};
use futures::future::join_all;
use serde_json::json;
use servers::Postgres;

static MADE: AtomicU32 = AtomicU32::new(0);

/// A factory of stores, each in a new schema.
#[derive(Default)]
struct Schemas {
    last: AtomicU32,
}

impl Schemas {
    async fn open(&self, number: u32, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        let server = Postgres::shared().ok_or("there is no server")?;
        let clock = clock.clone();
        let options = PostgresOptions::default()
            .schema(format!("documents {number}"))
            .pool_size(4)
            .clock(move || clock.now());
        let docs = PostgresDocs::connect_with(server.url(), options).await?;
        Ok(Arc::new(docs))
    }
}

#[async_trait::async_trait]
impl DocFactory for Schemas {
    async fn fresh(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        self.last.store(number, Ordering::Relaxed);
        self.open(number, clock).await
    }

    fn persistent(&self) -> bool {
        true
    }

    async fn reopen(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        self.open(self.last.load(Ordering::Relaxed), clock).await
    }
}

fugato_testkit::doc_store_suite!(Schemas::default(), if Postgres::shared().is_some());

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn batches_that_cross_each_other_are_all_written() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let docs = connect(server, &fresh()).await?.docs();
    let space: Namespace = "counters".parse()?;
    let keys: Vec<DocKey> = (0..20)
        .map(|n| n.to_string().parse())
        .collect::<Result<_, _>>()?;
    for key in &keys {
        docs.put(&space, key, 0).await?;
    }
    let writers = (0..6).map(|writer| {
        let (docs, space, mut keys) = (docs.clone(), space.clone(), keys.clone());
        tokio::spawn(async move {
            for round in 0..10 {
                keys.rotate_left(writer);
                keys.reverse();
                // Some writes of each kind, which the server executes kind by kind.
                let write = |(place, key): (usize, &DocKey)| match (place + round) % 3 {
                    0 => DocWrite::delete(&space, key),
                    _ => DocWrite::put(&space, key, json!(writer)),
                };
                docs.write(keys.iter().enumerate().map(write).collect())
                    .await?;
            }
            Ok::<_, fugato_store::StoreError>(())
        })
    });
    for writer in join_all(writers.collect::<Vec<_>>()).await {
        writer??;
    }
    Ok(())
}

#[tokio::test]
async fn what_has_expired_is_cleared_away() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let (schema, clock) = (fresh(), TestClock::at(1_000));
    let options = PostgresOptions::default().schema(&schema).pool_size(2);
    let options = options.clock({
        let clock = clock.clone();
        move || clock.now()
    });
    let log = PostgresLog::connect_with(server.url(), options).await?;
    let (docs, space): (_, Namespace) = (log.docs(), "a".parse()?);
    for number in 0..40 {
        let key = DocKey::new(format!("short {number}"))?;
        let write = DocWrite::put(&space, &key, json!(number)).lasting(10);
        docs.write(vec![write]).await?;
    }
    clock.advance(10);
    let lasting = DocKey::new("lasting")?;
    let sql = format!("SELECT count(*) FROM \"{schema}\".document");
    let client = poke(server).await?.client;
    for _ in 0..200 {
        docs.put(&space, &lasting, 1).await?;
        if client.query_one(&sql, &[]).await?.get::<_, i64>(0) == 1 {
            // Threads in the same schema are unchanged.
            log.append(&name("desk"), &commit(0, 0, "a")).await?;
            return Ok(());
        }
    }
    Err("expired documents are still there".into())
}
