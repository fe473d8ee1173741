//! Tests that waiting workers are notified, and working ones are not.

use crate::fixture::{TestResult, commit, connect, fresh, name};
use fugato_postgres::{PostgresLog, WakeReason};
use fugato_state::Millis;
use fugato_store::{Lease, LeaseOutcome, LeaseRequest, Signal, Status, StoreError, ThreadLog};
use futures::StreamExt;
use servers::Postgres;

async fn acquire(log: &PostgresLog, thread: &str) -> Result<Lease, StoreError> {
    let request = LeaseRequest::Acquire {
        thread: name(thread),
        owner: "owner".to_owned(),
        ttl: 60_000,
    };
    match log.lease(request).await? {
        LeaseOutcome::Granted(leases) => {
            Ok(leases.into_iter().next().expect("one lease is granted"))
        }
        other => panic!("acquire got {other:?}"),
    }
}

async fn cancel(log: &PostgresLog, thread: &str) -> Result<(), StoreError> {
    let signal = Signal::Cancel {
        by: "somebody".to_owned(),
        why: "enough".to_owned(),
    };
    let thread = name(thread);
    log.lease(LeaseRequest::Signal { thread, signal })
        .await
        .map(|_| ())
}

#[tokio::test]
async fn what_others_can_claim_is_announced_and_steps_are_not() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let schema = fresh();
    let (log, worker) = (
        connect(server, &schema).await?,
        connect(server, &schema).await?,
    );
    let mut woken = Box::pin(worker.woken());
    assert_eq!(woken.next().await, Some(WakeReason::Anything));

    let queued = log.append(&name("queued"), &commit(0, 0, "go")).await?;
    assert_eq!(woken.next().await, Some(WakeReason::Due(queued.now)));

    // Steps of a thread with a lease, then a pause; the signal is the next notification.
    let lease = acquire(&log, "held").await?;
    for head in 0..5 {
        log.append(&name("held"), &commit(head, lease.fence, "step"))
            .await?;
    }
    let mut parked = commit(5, lease.fence, "asks");
    parked.status = Status::Waiting { expires: None };
    log.append(&name("held"), &parked).await?;
    cancel(&log, "held").await?;
    assert_eq!(
        woken.next().await,
        Some(WakeReason::Signalled(name("held")))
    );

    let lease = acquire(&log, "sleeps").await?;
    let mut sleeps = commit(0, lease.fence, "later");
    let until: Millis = lease.now + 90_000;
    sleeps.status = Status::Sleeping { until };
    log.append(&name("sleeps"), &sleeps).await?;
    let (thread, fence) = (name("sleeps"), lease.fence);
    log.lease(LeaseRequest::Release { thread, fence }).await?;
    assert_eq!(woken.next().await, Some(WakeReason::Due(until)));

    // Another schema is another channel.
    let other = connect(server, &fresh()).await?;
    other
        .append(&name("elsewhere"), &commit(0, 0, "go"))
        .await?;
    cancel(&log, "queued").await?;
    assert_eq!(
        woken.next().await,
        Some(WakeReason::Signalled(name("queued")))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_told_again_after_the_server_was_away() -> TestResult {
    let Some(server) = Postgres::start() else {
        return Ok(());
    };
    let log = connect(&server, &fresh()).await?;
    let mut woken = Box::pin(log.woken());
    assert_eq!(woken.next().await, Some(WakeReason::Anything));
    tokio::task::block_in_place(|| {
        server.kill9();
        server.restart();
    });
    assert_eq!(woken.next().await, Some(WakeReason::Anything));
    let queued = log.append(&name("queued"), &commit(0, 0, "go")).await?;
    assert_eq!(woken.next().await, Some(WakeReason::Due(queued.now)));
    Ok(())
}
