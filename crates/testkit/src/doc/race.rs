//! Concurrent requests.
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use fugato_store::{DocFilter, DocStore, Precondition, StoreErrorKind};
use futures::future::join_all;
use serde_json::json;

use super::{
    DocFactory,
    trial::{Trial, put, space, version},
};
use crate::log::{Failure, holds, same};

const WRITERS: usize = 16;

/// Contract *compare and set*: of many writers of one version exactly one wins, each time, and the
/// others get the version that won.
pub async fn racing_writers_one_wins(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let mut expect = Precondition::Absent;
    for round in 0..25 {
        let tasks = (0..WRITERS).map(|writer| {
            let (docs, mark) = (trial.docs.clone(), json!([round, writer]));
            let write = put("a", "k", mark.clone()).only_if(expect);
            tokio::spawn(async move { (mark, docs.write(vec![write]).await) })
        });
        let (mut won, mut told) = (vec![], vec![]);
        for task in join_all(tasks).await {
            let (mark, written) = task.map_err(|error| Failure::new(error.to_string()))?;
            match written {
                Ok(answers) => won.push((mark, answers.first().copied().flatten())),
                Err(error) => match error.kind {
                    StoreErrorKind::Changed { version } => told.push(version),
                    _ => return Err(error.into()),
                },
            }
        }
        let there = trial.get("a", "k").await?;
        let there = there.ok_or_else(|| Failure::new("nothing is there after a race"))?;
        let winner = vec![(there.value, Some(there.version))];
        same("who won, and what is there", won, winner)?;
        let losers = vec![Some(there.version); WRITERS - 1];
        same("what losers are told", told, losers)?;
        expect = version(there.version);
    }
    Ok(())
}

/// Contract *batch*: batches that touch the same documents in different orders do not deadlock, and
/// a list shows each of them whole.
pub async fn racing_batches_are_whole(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let names = ["p", "q", "r"];
    let writing = Arc::new(AtomicUsize::new(WRITERS));
    let writers = (0..WRITERS).map(|writer| {
        let (docs, writing) = (trial.docs.clone(), Arc::clone(&writing));
        tokio::spawn(async move {
            let written = write_rounds(docs, names, writer).await;
            writing.fetch_sub(1, Ordering::SeqCst);
            written
        })
    });
    let reader = {
        let (docs, writing) = (trial.docs.clone(), Arc::clone(&writing));
        tokio::spawn(async move {
            while writing.load(Ordering::SeqCst) > 0 {
                look_at_whole(docs.as_ref()).await?;
                tokio::task::yield_now().await;
            }
            Ok::<(), Failure>(())
        })
    };
    for task in join_all([reader].into_iter().chain(writers)).await {
        task.map_err(|error| Failure::new(error.to_string()))??;
    }
    look_at_whole(trial.docs.as_ref()).await
}

async fn write_rounds(
    docs: Arc<dyn DocStore>,
    mut names: [&str; 3],
    writer: usize,
) -> Result<(), Failure> {
    names.rotate_left(writer % 3);
    for round in 0..20 {
        let batch = names.map(|name| put("a", name, json!([writer, round])));
        docs.write(batch.to_vec()).await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Checks that a list shows either none or all three documents of one batch.
async fn look_at_whole(docs: &dyn DocStore) -> Result<(), Failure> {
    let listed = docs
        .list(&space("a"), DocFilter::default().values())
        .await?;
    let mut values: Vec<_> = listed.into_iter().map(|entry| entry.value).collect();
    let seen = values.len();
    values.dedup();
    let whole = [(0, 0), (3, 1)].contains(&(seen, values.len()));
    holds(whole, || {
        format!("listed {seen} documents of one batch of 3, with the values {values:?}")
    })
}
