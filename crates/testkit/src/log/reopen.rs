//! Scenarios of a log that another process opens.
use fugato_store::{Status, StoreErrorKind};

use super::{
    Failure, LogFactory,
    failure::{kind, same},
    snapshot::fold,
    trial::{Trial, cancel, commit, numbered, thread},
};

/// Ability *persistent*: everything acknowledged is there when the log is opened again.
pub async fn reopening_loses_nothing(factory: &dyn LogFactory) -> Result<(), Failure> {
    let mut trial = Trial::start(factory).await?;
    let (alpha, beta) = (thread("alpha"), thread("beta"));
    let lease = trial.acquire(&alpha, "owner", 1_000).await?;
    let until = trial.clock.now() + 5_000;
    let mut last = commit(0, lease.fence, &["a", "b"]);
    last.status = Status::Sleeping { until };
    trial.log.append(&alpha, &last).await?;
    trial.log.append(&beta, &commit(0, 0, &["c"])).await?;
    trial.signal(&alpha, &cancel("enough")).await?;
    if let Some(snapshots) = trial.snapshots() {
        snapshots.put(&alpha, fold(1, "a")).await?;
    }
    let heads = (trial.head(&alpha).await?, trial.head(&beta).await?);
    if !trial.reopen().await? {
        return Ok(());
    }
    same(
        "heads",
        (trial.head(&alpha).await?, trial.head(&beta).await?),
        heads,
    )?;
    same("records", trial.texts(&alpha).await?, numbered(&["a", "b"]))?;
    same("records", trial.texts(&beta).await?, numbered(&["c"]))?;
    let busy = kind(trial.try_acquire(&alpha, "other", 1_000).await);
    let expected = StoreErrorKind::Busy {
        owner: "owner".into(),
        until: lease.until,
    };
    same("a lease that lasts", busy, Err(expected))?;
    if let Some(snapshots) = trial.snapshots() {
        same(
            "a fold",
            snapshots.latest_at(&alpha, 2).await?,
            Some(fold(1, "a")),
        )?;
    }
    let appended = trial
        .log
        .append(&alpha, &commit(2, lease.fence, &["d"]))
        .await?;
    same(
        "an append and its signals",
        (appended.head, appended.signals),
        (3, vec![cancel("enough")]),
    )
}
