//! Scenarios of expiry.
use fugato_store::{DocFilter, Precondition, Version};
use serde_json::json;

use super::{
    DocFactory,
    trial::{Trial, changed, delete, put, version},
};
use crate::log::{Failure, holds, same};

fn known(version: Option<Version>) -> Result<Version, Failure> {
    version.ok_or_else(|| Failure::new("a put was answered by no version"))
}

/// Contract *expiry*.
pub async fn expiry(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let lasting = |name, ttl| put("a", name, ttl).lasting(ttl);
    let short = known(trial.write(lasting("short", 100)).await?)?;
    trial.write(lasting("long", 1_000)).await?;
    trial.write(lasting("first", 100)).await?;
    trial.write(lasting("kept", 100)).await?;
    trial.put("a", "kept", "for ever").await?;
    trial.clock.advance(99);
    same(
        "just before",
        trial.value("a", "short").await?,
        Some(json!(100)),
    )?;
    let keys = trial.keys("a", DocFilter::default()).await?;
    same(
        "listed just before",
        keys,
        vec!["first".into(), "kept".into(), "long".into(), "short".into()],
    )?;

    trial.clock.advance(1);
    same("at its end", trial.get("a", "short").await?, None)?;
    let keys = trial.keys("a", DocFilter::default()).await?;
    same(
        "listed at its end",
        keys,
        vec!["kept".into(), "long".into()],
    )?;
    let first = trial.keys("a", DocFilter::default().limit(2)).await?;
    same(
        "what has expired takes no place",
        first,
        vec!["kept".into(), "long".into()],
    )?;
    for write in [put("a", "short", "late"), delete("a", "short")] {
        let refused = trial.try_write(vec![write.only_if(version(short))]).await;
        same("the version that has expired", refused, changed(None))?;
    }
    let anew = lasting("short", 50).only_if(Precondition::Absent);
    known(trial.write(anew).await?)?;
    same(
        "made anew",
        trial.value("a", "short").await?,
        Some(json!(50)),
    )?;

    trial.clock.advance(10_000);
    let keys = trial.keys("a", DocFilter::default()).await?;
    same("long after", keys, vec!["kept".into()])?;
    let never = put("a", "never", 1).lasting(i64::MAX);
    known(trial.write(never).await?)?;
    trial.clock.advance(1_000_000_000_000);
    let ever = trial.value("a", "never").await?;
    same("the longest time to live", ever, Some(json!(1)))
}

/// Contract *time*: if the clock steps back, the time of the store does not.
pub async fn time_never_runs_backwards(factory: &dyn DocFactory) -> Result<(), Failure> {
    let mut trial = Trial::start(factory).await?;
    trial.write(put("a", "short", 1).lasting(1_000)).await?;
    trial.clock.advance(5_000);
    let late = trial.clock.now();
    trial.put("a", "late", 1).await?;
    trial.clock.advance(-4_500);
    for reopened in [false, true] {
        if reopened && !trial.reopen().await? {
            break;
        }
        same("what had expired", trial.get("a", "short").await?, None)?;
        trial.put("a", "later", 1).await?;
        let written = trial.get("a", "later").await?.map_or(0, |doc| doc.written);
        holds(written >= late, || {
            format!("written at {written} after {late} was seen")
        })?;
    }
    Ok(())
}
