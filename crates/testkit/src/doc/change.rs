//! Scenarios of preconditions, versions, batches and deletion.
use std::collections::BTreeSet;

use fugato_store::{Precondition, StoreErrorKind, Version};
use serde_json::json;

use super::{
    DocFactory,
    trial::{self, Trial, changed, put, version},
};
use crate::log::{Failure, holds, same};

/// Contract *compare and set*.
pub async fn compare_and_set(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let absent = || put("a", "k", "new").only_if(Precondition::Absent);
    let never = Version(u64::from(u32::MAX));
    let on_nothing = put("a", "k", "lost").only_if(version(never));
    let refused = trial.try_write(vec![on_nothing]).await;
    same("a version of nothing", refused, changed(None))?;
    same("what it wrote", trial.get("a", "k").await?, None)?;

    let first = trial.write(absent()).await?;
    let refused = trial.try_write(vec![absent()]).await;
    same("making it again", refused, changed(first))?;
    let first = first.ok_or_else(|| Failure::new("a put was answered by no version"))?;
    let second = put("a", "k", "second").only_if(version(first));
    let second = trial.write(second).await?;
    for stale in [
        put("a", "k", "stale").only_if(version(first)),
        trial::delete("a", "k").only_if(version(first)),
        trial::delete("a", "k").only_if(Precondition::Absent),
    ] {
        let refused = trial.try_write(vec![stale]).await;
        same("a version that is gone", refused, changed(second))?;
    }
    let there = trial.get("a", "k").await?;
    let there = there.map(|doc| (doc.value, Some(doc.version)));
    same("what is there", there, Some((json!("second"), second)))?;

    let second = second.ok_or_else(|| Failure::new("a put was answered by no version"))?;
    let delete = trial::delete("a", "k").only_if(version(second));
    same("deleting what is there", trial.write(delete).await?, None)?;
    let refused = put("a", "k", "lost").only_if(version(second));
    let refused = trial.try_write(vec![refused]).await;
    same("the version that was deleted", refused, changed(None))
}

/// Contract *versions are unique*.
pub async fn versions_are_unique(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let mut seen = BTreeSet::new();
    for round in 0..24 {
        let write = put("a", "k", "the same").lasting(1_000);
        let version = trial.write(write).await?;
        let Some(Version(version)) = version else {
            return Err(Failure::new("a put was answered by no version"));
        };
        holds(seen.insert(version), || {
            format!("version {version} was there before")
        })?;
        match round % 4 {
            0 => drop(trial.write(trial::delete("a", "k")).await?),
            1 => trial.docs.remove(&trial::space("a")).await?,
            2 => trial.clock.advance(1_000),
            _ => {}
        }
    }
    Ok(())
}

/// Contract *batch*.
pub async fn batch(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let old = trial.put("a", "old", 1).await?;
    let answers = trial
        .docs
        .write(vec![
            put("a", "new", 2).only_if(Precondition::Absent),
            trial::delete("a", "old").only_if(version(old)),
            trial::delete("a", "never"),
            put("b", "new", 3),
        ])
        .await?;
    let put_or_not: Vec<_> = answers.iter().map(Option::is_some).collect();
    same("answers", put_or_not, vec![true, false, false, true])?;
    let there = trial.get("b", "new").await?.map(|doc| doc.version);
    same(
        "the version of the last",
        there,
        answers.last().copied().flatten(),
    )?;

    for late in 0..3 {
        let mut batch = vec![
            put("a", "x", 1),
            trial::delete("a", "new"),
            put("b", "new", 4),
        ];
        let impossible = put("b", "y", 5).only_if(version(old));
        batch.insert(late, impossible);
        let refused = trial.docs.write(batch).await.map_err(|error| {
            let document = error
                .document
                .map(|(space, key)| (space.into(), key.into()));
            (error.kind, document)
        });
        let expected: (StoreErrorKind, Option<(String, String)>) = (
            StoreErrorKind::Changed { version: None },
            Some(("b".into(), "y".into())),
        );
        same("a batch that cannot be", refused, Err(expected))?;
        let there = (
            trial.value("a", "x").await?,
            trial.value("a", "new").await?,
            trial.value("b", "new").await?,
        );
        let unchanged = (None, Some(json!(2)), Some(json!(3)));
        same("what is there after it", there, unchanged)?;
    }
    Ok(())
}

/// Contract *delete*.
pub async fn delete(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    trial.put("a", "k", 1).await?;
    trial.put("a", "other", 2).await?;
    for what in ["deleting", "deleting again"] {
        same(what, trial.write(trial::delete("a", "k")).await?, None)?;
        same("what is there", trial.get("a", "k").await?, None)?;
        let keys = trial.keys("a", fugato_store::DocFilter::default()).await?;
        same("what is listed", keys, vec!["other".into()])?;
    }
    let made = put("a", "k", 3).only_if(Precondition::Absent);
    let made = trial
        .try_write(vec![made])
        .await
        .map(|answers| answers.len());
    same("making it anew", made, Ok(1))
}
