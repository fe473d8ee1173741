//! Stored folds, which make opening a thread faster.
use std::sync::Arc;

use fugato_state::{Seq, State, ThreadId};
use fugato_store::{Snapshot, Snapshots};
use serde::{Deserialize, Serialize};

use crate::{
    Graph, RunError, RunErrorKind, digest,
    journal::Journal,
    machine::{Json, ThreadPhase},
    scope::Scope,
};

/// The stored form of a fold, with a digest that detects damage.
///
/// Version 2 adds the scopes of subgraphs. Version 1 has none, and is read as such.
#[derive(Serialize, Deserialize)]
struct Envelope {
    version: u32,
    digest: String,
    body: Json,
}

const VERSION: u32 = 2;

/// Serialises a scope into one value.
pub(crate) fn save<S: State>(scope: &Scope<S>) -> Result<Vec<u8>, RunError> {
    let body: Json = serde_json::value::to_raw_value(&scope.save()?)?;
    let digest = digest::of(body.get().as_bytes());
    Ok(serde_json::to_vec(&Envelope {
        version: VERSION,
        digest,
        body,
    })?)
}

/// Restores a scope.
pub(crate) fn load<S: State>(bytes: &[u8], graph: &Graph<S>) -> Result<Scope<S>, RunError> {
    let envelope: Envelope = serde_json::from_slice(bytes)?;
    let broken = |why: String| RunError::new(RunErrorKind::Format).because(why);
    if !(1..=VERSION).contains(&envelope.version) {
        let found = envelope.version;
        let why = format!("the snapshot has version {found}; this program reads up to {VERSION}");
        return Err(broken(why));
    }
    if digest::of(envelope.body.get().as_bytes()) != envelope.digest {
        return Err(broken("the snapshot does not match its digest".into()));
    }
    Scope::from_saved(graph, serde_json::from_str(envelope.body.get())?)
}

/// A writer of snapshots in the background, each when the tail of the log has grown past a multiple
/// of the last one: the bytes of all snapshots stay linear in the size of the log.
pub(crate) struct Snapshotter {
    pub(crate) store: Arc<dyn Snapshots>,
    pub(crate) thread: ThreadId,
    /// The size of the last snapshot, in bytes.
    pub(crate) last: usize,
}

/// The smallest tail that makes a snapshot worth it, in bytes.
const MIN_TAIL: usize = 1024 * 1024;
/// The smallest tail as a multiple of the last snapshot.
const TAIL_PER_SNAPSHOT: usize = 4;

impl Snapshotter {
    pub(crate) fn consider<S: State>(
        &mut self,
        journal: &mut Journal,
        scope: &Scope<S>,
    ) -> Result<(), RunError> {
        let due = MIN_TAIL.max(TAIL_PER_SNAPSHOT * self.last);
        // A failed step may be folded and not closed: such a state is not stored.
        let is_failed = matches!(scope.machine.phase(), ThreadPhase::Failed { .. });
        if journal.tail < due || is_failed {
            return Ok(());
        }
        let body = save(scope)?;
        self.last = body.len();
        journal.tail = 0;
        self.put(journal.head, body);
        Ok(())
    }

    fn put(&self, seq: Seq, body: Vec<u8>) {
        let (store, thread) = (self.store.clone(), self.thread.clone());
        tokio::spawn(async move {
            if let Err(error) = store.put(&thread, Snapshot { seq, body }).await {
                // A snapshot only saves time, so a run does not fail without one.
                tracing::warn!(%thread, seq, %error, "snapshot could not be stored");
            }
        });
    }
}
