//! Everything that can be read of a thread.
use std::collections::BTreeMap;

use fugato::{
    BoxError, Runner,
    graph::ThreadStatus,
    state::{Interrupt, State, ThreadId},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A thread as it reads.
#[derive(Debug, Serialize, Deserialize)]
pub struct ThreadReading {
    /// The first position of its log.
    pub from: u64,
    /// Its status.
    pub stands: String,
    /// Its open questions.
    pub asked: Vec<Interrupt>,
    /// The records.
    pub log: Vec<Value>,
    /// The state at each checkpoint.
    pub states: BTreeMap<u64, Value>,
}

/// Reads a thread whose log begins at `from`.
///
/// # Errors
/// The error of the store or of the fold.
pub async fn seen<S: State>(
    runner: &Runner<S>,
    thread: &ThreadId,
    from: u64,
) -> Result<ThreadReading, BoxError> {
    let entries = runner.history(thread, from, 1000).await?;
    let mut states = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.is_checkpoint()) {
        let state = runner.state_at(thread, entry.seq).await?;
        states.insert(entry.seq, serde_json::to_value(&*state)?);
    }
    let log = entries.iter().map(|entry| {
        json!({
            "seq": entry.seq,
            "at": entry.at,
            "run": entry.run.to_string(),
            "scope": entry.scope,
            "fact": entry.stored(),
        })
    });
    let stands = match runner.status(thread).await? {
        ThreadStatus::New => "new",
        ThreadStatus::Waiting(_) => "waiting",
        ThreadStatus::Unfinished => "unfinished",
        ThreadStatus::Failed { .. } => "failed",
        ThreadStatus::Sleeping { .. } => "sleeping",
        _ => "idle",
    };
    Ok(ThreadReading {
        from,
        stands: stands.to_owned(),
        asked: runner.interrupts(thread).await?,
        log: log.collect(),
        states,
    })
}
