//! Scenarios of namespaces.
use fugato_store::DocFilter;
use serde_json::json;

use super::{
    DocFactory,
    trial::{Trial, delete, space},
};
use crate::log::{Failure, same};

/// Namespaces that a careless store confuses.
const PATHS: [&str; 10] = [
    "user",
    "user/7",
    "user/7/a",
    "user/70",
    "user/7 ",
    "user/7%",
    "User/7",
    "user/é",
    "user/e\u{301}",
    "user/7/a/b",
];

/// Contract *isolated*.
pub async fn isolated(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    for path in PATHS {
        trial.put(path, "k", path).await?;
        trial.put(path, "K", "large").await?;
    }
    for path in PATHS {
        same("a value", trial.value(path, "k").await?, Some(json!(path)))?;
        let keys = trial.keys(path, DocFilter::default()).await?;
        let expected: Vec<String> = vec!["K".into(), "k".into()];
        same(&format!("what is in {path:?}"), keys, expected)?;
    }
    trial.write(delete("user/7", "k")).await?;
    for path in PATHS {
        let left = (path != "user/7").then(|| json!(path));
        let what = format!("what is in {path:?} after deleting in user/7");
        same(&what, trial.value(path, "k").await?, left)?;
    }
    Ok(())
}

/// Contract *remove*.
pub async fn remove(factory: &dyn DocFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    for path in PATHS {
        trial.put(path, "k", path).await?;
        trial.put(path, "l", path).await?;
    }
    for what in ["removing", "removing again"] {
        trial.docs.remove(&space("user/7")).await?;
        for path in PATHS {
            let within = space("user/7").contains(&space(path));
            let expected: Vec<String> = if within {
                vec![]
            } else {
                vec!["k".into(), "l".into()]
            };
            let left = trial.keys(path, DocFilter::default()).await?;
            same(&format!("{path:?} after {what} user/7"), left, expected)?;
        }
    }
    trial.docs.remove(&space("user")).await?;
    let left = trial.keys("User/7", DocFilter::default()).await?;
    same("User/7 after removing user", left.len(), 2)?;
    let left = trial.keys("user/70", DocFilter::default()).await?;
    same("user/70 after removing user", left.len(), 0)
}
