//! What is looked up anew before anybody plans: live facts, declared as data.
mod declared;
mod tools;

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_memory::Snapshot;
use fugato_state::{Millis, State};
use futures::future::join_all;
use serde_json::Value;

pub use declared::{FactError, LiveFacts};
pub use tools::ToolFacts;

use crate::log_key;

/// Where live facts come from. Looking changes nothing, so it may be done again.
#[async_trait]
pub trait FactSource: Send + Sync {
    /// What holds now of a kind that was declared.
    async fn fetch(&self, kind: &str) -> Result<Value, BoxError>;
}

const _: () = {
    const fn object_safe(_: Option<&dyn FactSource>) {}
    object_safe(None);
};

/// A state that a [`Preflight`] brings up to date.
pub trait Informed: State {
    /// What the request is about: names of tools or of intents, as they were declared.
    fn about(&self) -> Vec<String>;

    /// What was seen, by kind.
    fn snapshots(&self) -> &BTreeMap<String, Snapshot>;

    /// This was seen; an older look of its kind is replaced.
    fn seen(kind: String, snapshot: Snapshot) -> Self::Update;

    /// What was seen of this kind is not known to hold any more.
    fn unseen(kind: String) -> Self::Update;
}

/// A node that goes before planning: it looks up what the request needs and what is too old, all at
/// once.
///
/// # Contract
/// - **what is declared is fetched**: every kind that anything in the request needs is looked up,
///   unless a look at it is young enough.
/// - **nothing old is left**: whatever the state holds of a declared kind afterwards is young
///   enough. What is too old and is not needed, or cannot be looked up, is taken out of it.
/// - **a failure does not stop the run**: the kind is missing then, and the note says why.
pub struct Preflight {
    facts: LiveFacts,
    source: Arc<dyn FactSource>,
}

impl fmt::Debug for Preflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preflight")
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

/// The name under which a look that failed is told to the readers of a thread.
pub const FACT_UNKNOWN: &str = "fact_unknown";

impl Preflight {
    /// Looks up these facts here.
    pub fn new(facts: LiveFacts, source: impl FactSource + 'static) -> Self {
        let source = Arc::new(source);
        Self { facts, source }
    }

    /// Declared kinds of which the state holds something that is too old.
    fn old<S: Informed>(&self, state: &S, now: Millis) -> Vec<String> {
        let snapshots = state.snapshots().iter();
        let old = snapshots.filter(|(kind, snapshot)| self.facts.is_old(kind, snapshot.at, now));
        old.map(|(kind, _)| kind.clone()).collect()
    }
}

#[async_trait]
impl<S: Informed> Node<S> for Preflight {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let (state, now) = (cx.state(), cx.now());
        let known = |kind: &str| state.snapshots().get(kind).map(|snapshot| snapshot.at);
        let due = self.facts.due(&state.about(), known, now);
        let looks = due.iter().map(|kind| self.source.fetch(kind));
        let found = join_all(looks).await;
        let mut old = self.old(state, now);
        old.retain(|kind| !due.contains(kind));
        let (mut updates, mut notes) = (vec![], vec![]);
        for (kind, found) in due.into_iter().zip(found) {
            match found {
                // It held at some time after this one: a fact is never taken for younger than it is.
                Ok(value) => updates.push(S::seen(kind, Snapshot { value, at: now })),
                Err(error) => {
                    tracing::warn!(
                        task = cx.task(),
                        kind,
                        error,
                        "{}",
                        log_key::A_FACT_IS_NOT_KNOWN
                    );
                    let data = serde_json::json!({ "kind": kind, "why": error.to_string() });
                    let name = FACT_UNKNOWN.to_owned();
                    notes.push(fugato_stream::EventKind::Custom { name, data });
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
