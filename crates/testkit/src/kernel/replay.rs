//! A check that a log still has its old meaning.
use std::fmt;

use fugato_graph::{HistoryEvent, Runner};
use fugato_state::{State, ThreadId};
use futures::TryStreamExt as _;
use serde_json::Value;

use crate::log::{Failure, same};

/// Folds the log of a thread twice, and converts the state to JSON and back at every checkpoint. If
/// `expected` is the thread's state from its run, a changed `apply` is found too.
///
/// Run it over logs that were kept from production before a new version goes there.
pub async fn replay_check<S>(
    runner: &Runner<S>,
    thread: &ThreadId,
    expected: &S,
) -> Result<(), Failure>
where
    S: State + PartialEq + fmt::Debug,
{
    let mut lived: Option<S> = None;
    let mut records = runner.records(thread);
    while let Some(entry) = records.try_next().await? {
        // Only a step or an input changes the state; the state behind a barrier is its own.
        if !entry.is_checkpoint() && entry.event() != HistoryEvent::Created {
            continue;
        }
        let state = runner.state_at(thread, entry.seq).await?;
        let again = runner.state_at(thread, entry.seq).await?;
        let seq = entry.seq;
        same(&format!("the second fold up to {seq}"), &*again, &*state)?;
        same(
            &format!("the state at {seq}, through JSON"),
            &through_json(&*state)?,
            &*state,
        )?;
        lived = Some((*state).clone());
    }
    let lived = lived.ok_or_else(|| Failure::new("the thread has no checkpoint"))?;
    same("the state by the log", &lived, expected)
}

fn through_json<S: State>(state: &S) -> Result<S, Failure> {
    let value: Value = serde_json::to_value(state)?;
    Ok(serde_json::from_str(&value.to_string())?)
}
