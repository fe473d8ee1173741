//! Concurrent requests.
use std::collections::BTreeSet;

use fugato_store::{Claim, LeaseOutcome, LeaseRequest, StoreErrorKind};
use futures::future::join_all;

use super::{
    Failure, LogFactory,
    failure::{holds, same},
    trial::{Trial, commit, numbered, thread},
};

const WRITERS: usize = 16;

/// Contract *compare and set*: of many writers at one position exactly one wins, each time, and the
/// log holds what the winners wrote.
pub async fn racing_writers_one_wins(factory: &dyn LogFactory) -> Result<(), Failure> {
    const ROUNDS: u64 = 25;
    let trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    let mut winners = vec![];
    for head in 0..ROUNDS {
        let tasks = (0..WRITERS).map(|writer| {
            let (log, alpha) = (trial.log.clone(), alpha.clone());
            let text = format!("{head} by {writer}");
            tokio::spawn(async move {
                let appended = log.append(&alpha, &commit(head, 0, &[&text])).await;
                (text, appended)
            })
        });
        let mut won = vec![];
        for task in join_all(tasks).await {
            let (text, appended) = task.map_err(|error| Failure::new(error.to_string()))?;
            match appended {
                Ok(appended) => {
                    same("the head of the winner", appended.head, head + 1)?;
                    won.push(text);
                }
                Err(error) => {
                    let conflict = StoreErrorKind::Conflict {
                        head: head + 1,
                        fence: 0,
                    };
                    same("what a loser is told", error.kind, conflict)?;
                }
            }
        }
        same(&format!("winners of position {}", head + 1), won.len(), 1)?;
        winners.append(&mut won);
    }
    let winners: Vec<_> = winners.iter().map(String::as_str).collect();
    same(
        "the log after the race",
        trial.texts(&alpha).await?,
        numbered(&winners),
    )
}

/// Contract *lease*: of many owners that want a thread exactly one gets it, each time with a new
/// fence.
pub async fn racing_owners_one_wins(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    let mut newest = 0;
    for _ in 0..10 {
        let tasks = (0..WRITERS).map(|owner| {
            let (log, thread) = (trial.log.clone(), alpha.clone());
            let owner = format!("owner {owner}");
            let request = LeaseRequest::Acquire {
                thread,
                owner,
                ttl: 1_000,
            };
            tokio::spawn(async move { log.lease(request).await })
        });
        let mut granted = vec![];
        for task in join_all(tasks).await {
            match task.map_err(|error| Failure::new(error.to_string()))? {
                Ok(LeaseOutcome::Granted(mut leases)) => granted.append(&mut leases),
                Err(error) if matches!(error.kind, StoreErrorKind::Busy { .. }) => {}
                other => return Err(Failure::new(format!("a race for a lease: got {other:?}"))),
            }
        }
        same("leases granted", granted.len(), 1)?;
        let fence = granted.first().map_or(0, |lease| lease.fence);
        holds(fence > newest, || format!("fence {fence} after {newest}"))?;
        newest = fence;
        trial.clock.advance(1_000);
    }
    Ok(())
}

/// Contract *claim*: many concurrent claims share the threads, and no thread is given twice.
pub async fn racing_claims_share(factory: &dyn LogFactory) -> Result<(), Failure> {
    const THREADS: usize = 40;
    let trial = Trial::start(factory).await?;
    for n in 0..THREADS {
        trial
            .log
            .append(&thread(&format!("thread {n:02}")), &commit(0, 0, &["a"]))
            .await?;
    }
    let tasks = (0..WRITERS).map(|owner| {
        let (log, owner) = (trial.log.clone(), format!("owner {owner}"));
        let request = LeaseRequest::Claim(Claim {
            n: 5,
            owner,
            ttl: 1_000,
            ..Claim::default()
        });
        tokio::spawn(async move { log.lease(request).await })
    });
    let mut granted = vec![];
    for task in join_all(tasks).await {
        match task.map_err(|error| Failure::new(error.to_string()))?? {
            LeaseOutcome::Granted(leases) => {
                granted.extend(leases.into_iter().map(|lease| lease.thread));
            }
            other => return Err(Failure::new(format!("a race of claims: got {other:?}"))),
        }
    }
    let distinct: BTreeSet<_> = granted.iter().collect();
    same(
        "leases granted, and threads",
        (granted.len(), distinct.len()),
        (THREADS, THREADS),
    )
}
