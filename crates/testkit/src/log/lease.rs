//! Scenarios of leases.
use fugato_state::ThreadId;
use fugato_store::{Lease, LeaseOutcome, Status, StoreErrorKind};

use super::{
    Failure, LogFactory,
    failure::{holds, kind, same},
    trial::{Trial, commit, thread},
};

/// Contract *lease*: one owner at a time, each with a greater fence, for the granted duration.
pub async fn lease(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    let now = trial.clock.now();
    let first = trial.acquire(&alpha, "first", 1_000).await?;
    let got = (&first.thread, first.head, first.until, first.now);
    same(
        "a lease on a thread that is not there",
        got,
        (&alpha, 0, now + 1_000, now),
    )?;
    holds(first.fence > 0, || "the fence of a lease is 0".into())?;
    same(
        "a thread that is only leased",
        trial.log.head(&alpha).await?,
        None,
    )?;

    let busy = |owner: &str, until| {
        Err(StoreErrorKind::Busy {
            owner: owner.into(),
            until,
        })
    };
    trial.clock.advance(999);
    let refused = kind(trial.try_acquire(&alpha, "second", 5_000).await);
    same(
        "acquiring while another lease lasts",
        refused,
        busy("first", now + 1_000),
    )?;
    let renewed = kind(trial.renew(&alpha, first.fence, 1_000).await);
    let until = now + 1_999;
    same(
        "renewing",
        renewed,
        Ok(LeaseOutcome::Renewed {
            until,
            signals: vec![],
        }),
    )?;
    trial.clock.advance(999);
    let refused = kind(trial.try_acquire(&alpha, "second", 5_000).await);
    same(
        "acquiring while a renewed lease lasts",
        refused,
        busy("first", until),
    )?;
    trial
        .log
        .append(&alpha, &commit(0, first.fence, &["a"]))
        .await?;

    trial.clock.advance(1);
    later_owner(&trial, &alpha, &first).await
}

/// Checks a lease that ran out: until another is granted, its owner can renew it; then the old
/// owner can do nothing more, and the next one can.
async fn later_owner(trial: &Trial<'_>, alpha: &ThreadId, first: &Lease) -> Result<(), Failure> {
    for late in [0, 10_000] {
        trial.clock.advance(late);
        // Others that look for work of their own do not take it away.
        let claimed = trial.claim_of("beta", 1, "second", 1_000).await?;
        same("claims of other threads", claimed.len(), 0)?;
        let until = trial.clock.now() + 1_000;
        let renewed = kind(trial.renew(alpha, first.fence, 1_000).await);
        let signals = vec![];
        let expected = Ok(LeaseOutcome::Renewed { until, signals });
        same("renewing a lease that nobody took", renewed, expected)?;
        let refused = kind(trial.try_acquire(alpha, "second", 5_000).await);
        let owner = "first".to_owned();
        let expected = Err(StoreErrorKind::Busy { owner, until });
        same("acquiring after that", refused, expected)?;
    }
    trial.clock.advance(1_000);
    let second = trial.acquire(alpha, "second", 5_000).await?;
    same("the head of a lease", second.head, 1)?;
    holds(second.fence > first.fence, || {
        format!(
            "the fence {} of a later lease is not above {}",
            second.fence, first.fence
        )
    })?;
    let late = kind(
        trial
            .log
            .append(alpha, &commit(1, first.fence, &["late"]))
            .await,
    );
    let conflict = Err(StoreErrorKind::Conflict {
        head: 1,
        fence: second.fence,
    });
    same("an append under an older fence", late, conflict)?;
    let lost = kind(trial.renew(alpha, first.fence, 1_000).await);
    same(
        "renewing what another holds",
        lost,
        Err(StoreErrorKind::LeaseLost),
    )?;
    let lost = kind(trial.renew(&thread("none"), 1, 1_000).await);
    same(
        "renewing what never was",
        lost,
        Err(StoreErrorKind::LeaseLost),
    )?;
    let appended = trial
        .log
        .append(alpha, &commit(1, second.fence, &["b"]))
        .await?;
    same("an append under the newest fence", appended.head, 2)?;
    same(
        "the fence in the head",
        trial.head(alpha).await?.fence,
        second.fence,
    )
}

/// Contract *release*: a release lets others in at once, and takes nothing from a later owner.
pub async fn release(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    let first = trial.acquire(&alpha, "first", 1_000).await?;
    for what in ["giving a lease back", "giving it back twice"] {
        same(
            what,
            kind(trial.release(&alpha, first.fence).await),
            Ok(LeaseOutcome::Done),
        )?;
    }
    let second = trial.acquire(&alpha, "second", 1_000).await?;
    holds(second.fence > first.fence, || {
        format!("fence {} after {}", second.fence, first.fence)
    })?;
    trial.release(&alpha, first.fence).await?;
    let busy = kind(trial.try_acquire(&alpha, "third", 1_000).await);
    let expected = StoreErrorKind::Busy {
        owner: "second".into(),
        until: second.until,
    };
    same(
        "acquiring after an older lease was given back again",
        busy,
        Err(expected.clone()),
    )?;

    let until = trial.clock.now() + 10;
    let mut head = 0;
    for status in [Status::Runnable, Status::Sleeping { until }] {
        let mut next = commit(head, second.fence, &["a"]);
        next.status = status;
        head = trial.log.append(&alpha, &next).await?.head;
        let busy = kind(trial.try_acquire(&alpha, "third", 1_000).await);
        same(
            &format!("acquiring after an append of {status:?}"),
            busy,
            Err(expected.clone()),
        )?;
    }
    let mut fence = second.fence;
    for status in [Status::Waiting { expires: None }, Status::Idle] {
        let mut next = commit(head, fence, &["a"]);
        next.status = status;
        head = trial.log.append(&alpha, &next).await?.head;
        let lost = kind(trial.renew(&alpha, fence, 1_000).await);
        let what = format!("renewing after an append of {status:?}");
        same(&what, lost, Err(StoreErrorKind::LeaseLost))?;
        let next = trial.acquire(&alpha, "next", 1_000).await?;
        holds(next.fence > fence, || {
            format!("fence {} after {fence}", next.fence)
        })?;
        fence = next.fence;
    }
    same(
        "releasing what never was",
        kind(trial.release(&thread("none"), 1).await),
        Ok(LeaseOutcome::Done),
    )
}
