//! Scenarios of values: a put value comes back unchanged.
use fugato_store::{Doc, DocFilter, DocWrite, StoreErrorKind};
use serde_json::{Value, json};

use super::{
    DocFactory,
    trial::{Trial, delete, put},
};
use crate::log::{Failure, same};

/// Returns values that a store might change when it rewrites JSON.
fn values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(""),
        json!("\u{0}, \u{1f}, \"quoted\" \\ and 'single' % _ {}"),
        json!("日本語 🦀 e\u{301} é"),
        json!(0),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(9_007_199_254_740_993_i64),
        json!(1.0),
        json!(-0.0),
        json!(1e300),
        json!(5e-324),
        json!(0.1 + 0.2),
        json!([]),
        json!({}),
        json!({"": {"a": [1, [2, [3, {"b": null}]]]}, "a b": 1, "B": 2}),
    ]
}

/// Contract *round trip*.
pub async fn round_trip(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    same("what never was", trial.get("a", "k").await?, None)?;
    for value in values() {
        trial.clock.advance(7);
        let now = trial.clock.now();
        let write = put("a", "k", value.clone()).lasting(1_000);
        let version = trial.write(write).await?;
        let version = version.ok_or_else(|| Failure::new("a put was answered by no version"))?;
        let expected = Doc {
            value: value.clone(),
            version,
            written: now,
            expires: Some(now + 1_000),
        };
        let got = trial.get("a", "k").await?;
        same("what was put", got, Some(expected))?;
        // Numbers that are equal may still be written differently.
        let text = trial.value("a", "k").await?.map(|got| got.to_string());
        same("its text", text, Some(value.to_string()))?;
    }
    Ok(())
}

/// Contract *read your writes*.
pub async fn read_your_writes(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    for round in 0..50 {
        trial.put("a", "k", round).await?;
        same(
            "the value",
            trial.value("a", "k").await?,
            Some(json!(round)),
        )?;
        let listed = trial.list("a", DocFilter::default().values()).await?;
        let listed: Vec<_> = listed.into_iter().map(|entry| entry.value).collect();
        same("the listed value", listed, vec![Some(json!(round))])?;
        if round % 10 == 9 {
            trial.write(delete("a", "k")).await?;
            same("after deleting", trial.get("a", "k").await?, None)?;
        }
    }
    Ok(())
}

/// Contract *sizes*.
pub async fn sizes(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    // Two bytes are the quotation marks.
    let largest = Value::from("x".repeat(Doc::MAX_VALUE - 2));
    trial.put("a", "largest", largest.clone()).await?;
    same(
        "the largest value",
        trial.value("a", "largest").await?,
        Some(largest.clone()),
    )?;
    let small = || put("a", "small", 1);
    let too_large = put("a", "larger", "x".repeat(Doc::MAX_VALUE - 1));
    let refused = trial.try_write(vec![small(), too_large]).await;
    let (bytes, limit) = (Doc::MAX_VALUE + 1, Doc::MAX_VALUE);
    let expected = Err(StoreErrorKind::TooLarge { bytes, limit });
    same("a value that is too large", refused, expected)?;

    let batch = (0..17).map(|n| put("b", &n.to_string(), largest.clone()));
    let refused = trial.try_write(batch.collect()).await;
    let (bytes, limit) = (17 * Doc::MAX_VALUE, DocWrite::MAX_BATCH_BYTES);
    let expected = Err(StoreErrorKind::TooLarge { bytes, limit });
    same("a batch that is too large", refused, expected)?;

    let many = (0..=DocWrite::MAX_BATCH).map(|n| put("b", &n.to_string(), n));
    for (what, batch) in [
        ("an empty batch", vec![]),
        ("a batch of too many", many.collect()),
        ("a document twice", vec![small(), put("a", "small", 2)]),
        (
            "no time to live",
            vec![small(), put("b", "short", 1).lasting(0)],
        ),
    ] {
        let refused = trial.try_write(batch).await;
        if !matches!(refused, Err(StoreErrorKind::Invalid(_))) {
            return Err(Failure::new(format!(
                "{what}: got {refused:?}, not Invalid"
            )));
        }
    }
    let left = (
        trial.keys("a", DocFilter::default()).await?,
        trial.keys("b", DocFilter::default()).await?,
    );
    same(
        "what is there after all that",
        left,
        (vec!["largest".into()], vec![]),
    )?;

    let most = (0..DocWrite::MAX_BATCH).map(|n| put("c", &format!("{n:04}"), n));
    let answers = trial.docs.write(most.collect()).await?;
    same("answers", answers.len(), DocWrite::MAX_BATCH)?;
    let listed = trial.keys("c", DocFilter::default()).await?;
    same(
        "documents of the largest batch",
        listed.len(),
        DocWrite::MAX_BATCH,
    )
}

/// Ability *persistent*: everything acknowledged is there when the store is opened again.
pub async fn reopening_loses_nothing(factory: &dyn DocFactory) -> Result<(), Failure> {
    let mut trial = Trial::start(factory).await?;
    let values: Vec<_> = values();
    for (n, value) in values.iter().enumerate() {
        trial.put("a/b", &format!("{n:02}"), value.clone()).await?;
    }
    trial.write(put("a", "short", 1).lasting(1_000)).await?;
    trial.write(put("a", "long", 2).lasting(9_000)).await?;
    trial.write(delete("a/b", "03")).await?;
    let everything = DocFilter::default().values();
    let before = trial.list("a/b", everything.clone()).await?;
    let (long, gone) = (trial.get("a", "long").await?, trial.get("a/b", "00").await?);
    let gone = gone.map(|doc| doc.version);
    trial.write(delete("a/b", "00")).await?;
    if !trial.reopen().await? {
        return Ok(());
    }
    let after = trial.list("a/b", everything).await?;
    same(
        "what was listed",
        after,
        before.into_iter().skip(1).collect(),
    )?;
    trial.clock.advance(1_000);
    same("what lasts", trial.get("a", "long").await?, long)?;
    same("what has expired", trial.get("a", "short").await?, None)?;
    let anew = trial.put("a/b", "00", 1).await?;
    same("its version is that of before", Some(anew) == gone, false)
}
