//! Scenarios of lists, page by page.
use fugato_store::DocFilter;
use serde_json::json;

use super::{
    DocFactory,
    trial::{Trial, key, put},
};
use crate::log::{Failure, same};

/// Keys in the order of their bytes, which is neither that of a dictionary nor that of UTF-16.
const KEYS: [&str; 13] = [
    "%", "A", "B", "_", "a", "a%", "a%b", "a_b", "aXb", "b", "e\u{301}", "\u{ff61}", "🦀",
];

/// Contract *list*.
pub async fn list(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let mut sorted = KEYS;
    sorted.sort_unstable();
    let all = || DocFilter::default();
    same("an empty namespace", trial.keys("a", all()).await?, vec![])?;
    for (n, name) in KEYS.iter().rev().enumerate() {
        trial.put("a", name, n).await?;
    }
    same("all", trial.keys("a", all()).await?, owned(&sorted))?;
    for limit in [0, 1, 5, KEYS.len(), 100, usize::MAX] {
        let expected: Vec<_> = sorted.iter().copied().take(limit).collect();
        let listed = trial.keys("a", all().limit(limit)).await?;
        same(&format!("the first {limit}"), listed, owned(&expected))?;
    }
    for after in sorted.iter().copied().chain(["0", "zz", "a%a"]) {
        let rest = sorted.iter().copied().filter(|name| *name > after);
        let expected: Vec<_> = rest.take(3).collect();
        let listed = trial.keys("a", all().after(key(after)).limit(3)).await?;
        same(&format!("three after {after:?}"), listed, owned(&expected))?;
    }
    for prefix in [
        "a",
        "a%",
        "a_",
        "%",
        "_",
        "e",
        "🦀",
        "c",
        "aX",
        "\u{10ffff}",
    ] {
        let begin = sorted
            .iter()
            .copied()
            .filter(|name| name.starts_with(prefix));
        let expected: Vec<_> = begin.collect();
        let listed = trial.keys("a", all().prefix(prefix)).await?;
        same(&format!("with prefix {prefix:?}"), listed, owned(&expected))?;
        let after = all().prefix(prefix).after(key("a%")).limit(1);
        let expected: Vec<_> = expected
            .into_iter()
            .filter(|name| *name > "a%")
            .take(1)
            .collect();
        let listed = trial.keys("a", after).await?;
        same(
            &format!("one after a% with prefix {prefix:?}"),
            listed,
            owned(&expected),
        )?;
    }
    entries(&trial).await
}

async fn entries(trial: &Trial<'_>) -> Result<(), Failure> {
    let (value, now) = (json!({"n": [1, 2.5]}), trial.clock.now());
    let version = trial
        .write(put("b", "k", value.clone()).lasting(10))
        .await?;
    for (filter, value) in [
        (DocFilter::default(), None),
        (DocFilter::default().values(), Some(value)),
    ] {
        let listed = trial.list("b", filter).await?;
        let listed: Vec<_> = listed
            .into_iter()
            .map(|one| {
                (
                    one.key,
                    one.value,
                    Some(one.version),
                    one.written,
                    one.expires,
                )
            })
            .collect();
        let expected = vec![(key("k"), value, version, now, Some(now + 10))];
        same("an entry", listed, expected)?;
    }
    Ok(())
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
