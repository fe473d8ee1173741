//! Scenarios of snapshots.
use fugato_store::{Snapshot, StoreErrorKind};

use super::{
    Failure, LogFactory,
    failure::{holds, kind, same},
    trial::{Trial, commit, thread},
};

pub(super) fn fold(seq: u64, body: &str) -> Snapshot {
    Snapshot {
        seq,
        body: body.as_bytes().to_vec(),
    }
}

/// The newest snapshot at or before a position is found, and deleted ones are not.
pub async fn put_and_latest(factory: &dyn LogFactory) -> Result<(), Failure> {
    let mut trial = Trial::start(factory).await?;
    let Some(snapshots) = trial.snapshots() else {
        return Ok(());
    };
    let (alpha, beta) = (thread("alpha"), thread("beta"));
    for name in [&alpha, &beta] {
        trial
            .log
            .append(name, &commit(0, 0, &["a", "b", "c", "d"]))
            .await?;
    }
    same(
        "where nothing was put",
        snapshots.latest_at(&alpha, 4).await?,
        None,
    )?;
    same(
        "of nobody",
        snapshots.latest_at(&thread("none"), 4).await?,
        None,
    )?;
    snapshots.put(&alpha, fold(1, "old")).await?;
    snapshots.put(&alpha, fold(3, "three")).await?;
    snapshots.put(&alpha, fold(1, "one")).await?;
    snapshots.put(&beta, fold(2, "of beta")).await?;
    drop(snapshots);
    trial.reopen().await?;
    let Some(snapshots) = trial.snapshots() else {
        return Ok(());
    };
    let (one, three) = (Some(fold(1, "one")), Some(fold(3, "three")));
    for (seq, expected) in [
        (0, &None),
        (1, &one),
        (2, &one),
        (3, &three),
        (4, &three),
        (1 << 32, &three),
        (u64::MAX, &three),
    ] {
        let latest = snapshots.latest_at(&alpha, seq).await?;
        same(&format!("the latest at {seq}"), &latest, expected)?;
    }
    for seq in [3, 3, 2, u64::MAX] {
        same(
            "deleting",
            kind(snapshots.delete(&alpha, seq).await),
            Ok(()),
        )?;
    }
    same(
        "deleting of nobody",
        kind(snapshots.delete(&thread("none"), 1).await),
        Ok(()),
    )?;
    same("after deleting", snapshots.latest_at(&alpha, 4).await?, one)?;
    let other = snapshots.latest_at(&beta, 4).await?;
    same("that of another thread", other, Some(fold(2, "of beta")))
}

/// A snapshot past the head of the log is refused.
pub async fn no_snapshot_past_head(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let Some(snapshots) = trial.snapshots() else {
        return Ok(());
    };
    let (alpha, leased) = (thread("alpha"), thread("leased"));
    trial.log.append(&alpha, &commit(0, 0, &["a", "b"])).await?;
    trial.acquire(&leased, "owner", 1_000).await?;
    for (name, seq) in [
        (&alpha, 3),
        (&alpha, u64::MAX),
        (&thread("none"), 0),
        (&leased, 0),
    ] {
        let refused = kind(snapshots.put(name, fold(seq, "x")).await);
        let what = format!("a fold of {name} at {seq}");
        same(&what, refused, Err(StoreErrorKind::NotFound))?;
        same(&what, snapshots.latest_at(name, u64::MAX).await?, None)?;
    }
    same(
        "a fold at the head",
        kind(snapshots.put(&alpha, fold(2, "ab")).await),
        Ok(()),
    )
}

/// The base of a commit is stored with it or not at all.
pub async fn base_rides_in_the_commit(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let Some(snapshots) = trial.snapshots() else {
        return Ok(());
    };
    let alpha = thread("alpha");
    let mut first = commit(0, 0, &["a", "b"]);
    first.base = Some(fold(2, "ab"));
    trial.log.append(&alpha, &first).await?;
    same(
        "a base",
        snapshots.latest_at(&alpha, 2).await?,
        Some(fold(2, "ab")),
    )?;
    let records = trial.log.read(&alpha, 1, 9).await?.len();
    same("the records before a base", records, 2)?;

    let mut lost = commit(1, 0, &["x"]);
    lost.base = Some(fold(2, "x"));
    let refused = trial.log.append(&alpha, &lost).await;
    holds(refused.is_err(), || {
        "a commit at an old head was written".into()
    })?;
    let mut past = commit(2, 0, &["x"]);
    past.base = Some(fold(4, "x"));
    let refused = kind(trial.log.append(&alpha, &past).await);
    holds(matches!(refused, Err(StoreErrorKind::Invalid(_))), || {
        format!("a base past its commit: expected Invalid, got {refused:?}")
    })?;
    same("the head after refusals", trial.head(&alpha).await?.seq, 2)?;
    let latest = snapshots.latest_at(&alpha, 9).await?;
    same("the base after refusals", latest, Some(fold(2, "ab")))
}
