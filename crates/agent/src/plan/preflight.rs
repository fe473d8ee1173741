//! Live facts that are looked up before planning, declared as data.
mod declared;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_memory::WorldSnapshot;
use fugato_state::{Millis, State};
use futures::future::{BoxFuture, join_all};
use serde_json::Value;

use crate::text::custom;

pub use declared::LiveFacts;

/// A state whose facts a [`Preflight`] keeps up to date.
pub trait FactState: State {
    /// Returns the subjects of the request: declared names of tools or intents.
    fn about(&self) -> Vec<String>;

    /// Returns the snapshots of facts, by kind.
    fn snapshots(&self) -> &BTreeMap<String, WorldSnapshot>;

    /// Returns the update that stores a snapshot, in place of an older one of its kind.
    fn seen(kind: String, snapshot: WorldSnapshot) -> Self::Update;

    /// Returns the update that removes the snapshot of a kind, as it may no longer be true.
    fn unseen(kind: String) -> Self::Update;
}

/// A node before planning that looks up at once all facts that the request needs and that are
/// missing or too old.
///
/// # Contract
/// - **declared needs are fetched**: every kind that a subject of the request needs is looked up,
///   unless its snapshot is new enough.
/// - **no old facts**: every snapshot of a declared kind in the state is new enough afterwards. A
///   snapshot that is too old is removed if it is not needed or cannot be looked up.
/// - **a failure does not stop the run**: the kind is missing then, and a note has the error.
#[derive(derive_more::Debug)]
pub struct Preflight {
    facts: LiveFacts,
    #[debug(skip)]
    source: Arc<FactSource>,
}

type FactSource = dyn Fn(String) -> BoxFuture<'static, Result<Value, BoxError>> + Send + Sync;

/// The name of the event that a lookup failed.
pub const FACT_UNKNOWN: &str = "fact_unknown";

impl Preflight {
    /// Creates a node that looks up these facts: `source` returns the present value of a declared
    /// kind. A lookup has no side effects, so it may be repeated.
    pub fn new<F>(facts: LiveFacts, source: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Value, BoxError>> + Send + 'static,
    {
        let source: Arc<FactSource> = Arc::new(move |kind| Box::pin(source(kind)));
        Self { facts, source }
    }

    /// Returns the declared kinds whose snapshots in the state are too old.
    fn old<S: FactState>(&self, state: &S, now: Millis) -> Vec<String> {
        let snapshots = state.snapshots().iter();
        let old = snapshots.filter(|(kind, snapshot)| self.facts.is_old(kind, snapshot.at, now));
        old.map(|(kind, _)| kind.clone()).collect()
    }
}

#[async_trait]
impl<S: FactState> Node<S> for Preflight {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let (state, now) = (cx.state(), cx.now());
        let known = |kind: &str| state.snapshots().get(kind).map(|snapshot| snapshot.at);
        let due = self.facts.due(&state.about(), known, now);
        let looks = due.iter().map(|kind| (self.source)(kind.clone()));
        let found = join_all(looks).await;
        let mut old = self.old(state, now);
        old.retain(|kind| !due.contains(kind));
        let (mut updates, mut notes) = (vec![], vec![]);
        for (kind, found) in due.into_iter().zip(found) {
            match found {
                // The value is from after `now`, so a fact never counts as newer than it is.
                Ok(value) => updates.push(S::seen(kind, WorldSnapshot { value, at: now })),
                Err(error) => {
                    tracing::warn!(task = cx.task(), kind, error, "fact lookup failed");
                    let data = serde_json::json!({ "kind": kind, "why": error.to_string() });
                    notes.push(custom(FACT_UNKNOWN, data));
                    old.push(kind);
                }
            }
        }
        updates.extend(old.into_iter().map(S::unseen));
        Ok(notes
            .into_iter()
            .fold(Outcome::done(updates), Outcome::note))
    }
}
