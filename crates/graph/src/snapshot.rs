//! Stored folds, which make opening a thread faster.
use std::sync::Arc;

use fugato_state::{Seq, State, ThreadId};
use fugato_store::{Snapshot, Snapshots};
use serde::{Deserialize, Serialize};

use crate::{
    Graph, RunError, RunErrorKind, digest, journal::Journal, machine::ThreadPhase, scope::Scope,
};

/// The stored form of a fold, with a digest that detects damage: an object whose last field is the
/// `body` that the digest is of.
///
/// Version 2 adds the scopes of subgraphs. Version 1 has none, and is read as such.
#[derive(Serialize, Deserialize)]
struct Envelope {
    version: u32,
    digest: String,
}

const VERSION: u32 = 2;

/// The text between the other fields and the body.
const BODY: &str = r#","body":"#;

/// Serialises a scope into one value.
pub(crate) fn save<S: State>(scope: &Scope<S>) -> Result<Vec<u8>, RunError> {
    let body = scope.save()?;
    let envelope = serde_json::to_string(&Envelope {
        version: VERSION,
        digest: digest::of(body.get().as_bytes()),
    })?;
    let fields = envelope.trim_end_matches('}');
    Ok([fields, BODY, body.get(), "}"].concat().into_bytes())
}

/// Restores a scope. The body, which may have megabytes, is found by its place and parsed once.
pub(crate) fn load<S: State>(bytes: &[u8], graph: &Graph<S>) -> Result<Scope<S>, RunError> {
    let broken = |why: String| RunError::new(RunErrorKind::Format).because(why);
    let text = std::str::from_utf8(bytes).map_err(|error| broken(error.to_string()))?;
    let parts = text
        .strip_suffix('}')
        .and_then(|text| text.split_once(BODY));
    let (fields, body) = parts.ok_or_else(|| broken("the snapshot has no body".into()))?;
    let envelope: Envelope = serde_json::from_str(&[fields, "}"].concat())?;
    if !(1..=VERSION).contains(&envelope.version) {
        let found = envelope.version;
        let why = format!("the snapshot has version {found}; this program reads up to {VERSION}");
        return Err(broken(why));
    }
    if digest::of(body.as_bytes()) != envelope.digest {
        return Err(broken("the snapshot does not match its digest".into()));
    }
    Scope::from_saved(graph, body)
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
const TAIL_PER_SNAPSHOT: usize = 2;

impl Snapshotter {
    pub(crate) fn consider<S: State>(
        &mut self,
        journal: &mut Journal,
        scope: &Scope<S>,
    ) -> Result<(), RunError> {
        let due = MIN_TAIL.max(TAIL_PER_SNAPSHOT * self.last);
        // A failed step may be folded and not closed: such a state is not stored.
        let is_failed = matches!(scope.machine.phase(), ThreadPhase::Failed { .. });
        // What is folded and not recorded yet would be folded again after the snapshot.
        if journal.tail < due || is_failed || scope.is_midway() {
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
