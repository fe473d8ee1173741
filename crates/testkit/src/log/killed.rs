//! A scenario of logs on a server, for which the server is killed.
use std::{
    fmt::Display,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use fugato_state::Seq;
use fugato_store::{Commit, StoreErrorKind, ThreadLog};

use super::{
    CheckResult, Failure,
    failure::{holds, same},
    trial::{commit, thread},
};

/// The number of commits of a writer before its server is killed.
const COMMITS: u64 = 20;

/// Appends until the server is gone, and counts the acknowledged commits.
async fn write(log: Arc<dyn ThreadLog>, name: String, acknowledged: Arc<AtomicU64>) -> CheckResult {
    for head in 0.. {
        let next = nth(head);
        match log.append(&thread(&name), &next).await {
            Ok(appended) => acknowledged.store(appended.head, Ordering::SeqCst),
            Err(error) => {
                return same("the error", error.kind, StoreErrorKind::Unavailable);
            }
        }
    }
    Ok(())
}

/// Nothing acknowledged is lost with a killed server, and the commit whose answer was lost can be
/// repeated. `kill` ends the server amid the work of four writers, and `restart` starts it again
/// over the same files.
pub async fn nothing_is_lost_with_a_killed_server(
    log: Arc<dyn ThreadLog>,
    kill: impl Fn(),
    restart: impl Fn(),
    rounds: u32,
) -> CheckResult {
    for round in 0..rounds {
        let acknowledged: Vec<_> = (0..4).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let writers = acknowledged.iter().enumerate().map(|(writer, known)| {
            let name = format!("{round}/{writer}");
            tokio::spawn(write(log.clone(), name, known.clone()))
        });
        let writers: Vec<_> = writers.collect();
        let is_early = |known: &Arc<AtomicU64>| known.load(Ordering::SeqCst) < COMMITS;
        while acknowledged.iter().any(is_early) {
            tokio::task::yield_now().await;
        }
        kill();
        for writer in writers {
            writer.await.map_err(failed)??;
        }
        restart();
        for (writer, known) in acknowledged.iter().enumerate() {
            let known = known.load(Ordering::SeqCst);
            check(&*log, &format!("{round}/{writer}"), known).await?;
        }
    }
    Ok(())
}

async fn check(log: &dyn ThreadLog, name: &str, known: Seq) -> CheckResult {
    let name = thread(name);
    let head = log.head(&name).await?.map_or(0, |head| head.seq);
    // One more may have been written whose answer was lost: repeating it is safe.
    holds(head == known || head == known + 1, || {
        format!("{head} after {known}")
    })?;
    let again = nth(known);
    same("repeated", log.append(&name, &again).await?.head, known + 1)?;
    let records = log.read(&name, 1, usize::MAX).await?;
    let records = records.into_iter().map(|(seq, record)| (seq, record.0));
    let expected = (1..=known + 1).map(|seq| (seq, (seq - 1).to_string().into_bytes()));
    same("records", records.collect(), expected.collect::<Vec<_>>())
}

/// Returns the commit after this head, which is the same each time.
fn nth(head: Seq) -> Commit {
    Commit {
        nonce: u128::from(head) + 1,
        ..commit(head, 0, &[&head.to_string()])
    }
}

fn failed(error: impl Display) -> Failure {
    Failure::new(error.to_string())
}
