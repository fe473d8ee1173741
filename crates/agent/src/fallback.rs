//! Fallbacks: the replacements for a node or graph that fails, and their limits.
//!
//! A [`FallbackChain`] is a node that tries others in order, in the same task; a [`GraphFallback`]
//! lets another graph or a function go on in the same thread. Both inherit the receipts of effects,
//! and refuse a replacement that would not see them.
mod graph;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, IntoNode, IntoUpdates, Node, Outcome};
use fugato_state::State;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::text::{custom, explain};

pub use graph::GraphFallback;

/// A fall: the failure of one link, and the link that was tried instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FallbackStep {
    /// The name of the link that failed.
    pub from: String,
    /// The name of the link that was tried instead.
    pub to: String,
    /// The error with its causes, as one line.
    pub reason: String,
}

/// A node that tries others in order: when one fails, the next one takes its place in the same task.
///
/// A node of the chain that performs an effect under a key that an earlier node has used gets the
/// receipt of that effect, and does not act again. So links that may do the same must use the same
/// key. A rule is a function of the state alone: it sees no receipts, so it is refused once the
/// task has performed an effect.
///
/// Each fall is a durable note, and also an update if [`record`](Self::record) is set.
///
/// *Contract*
/// - **in order**: a node is tried if all before it have failed; after a success no other is tried.
/// - **receipts are inherited**: an effect of one node is not repeated by the next one.
/// - **no blind rule**: after a side effect a rule is refused, with [`UnseenEffectsError`].
/// - **asking is no failure**: a node that asks a question has not failed.
pub struct FallbackChain<S: State> {
    links: Vec<(String, Link<S>)>,
    record: Option<Arc<RecordFallback<S>>>,
}

enum Link<S: State> {
    Node(Arc<dyn Node<S>>),
    Rule(Box<Rule<S>>),
}

type Rule<S> =
    dyn Fn(&S, &[FallbackStep]) -> Result<Vec<<S as State>::Update>, BoxError> + Send + Sync;
pub(crate) type RecordFallback<S> =
    dyn Fn(&FallbackStep) -> Vec<<S as State>::Update> + Send + Sync;

/// A refused fallback: effects were performed that it cannot see, so it might repeat them, or decide
/// as if they had not happened.
#[derive(Debug, thiserror::Error)]
#[error("{to:?} cannot take over: it does not see that these effects were performed: {}", .effects.join(", "))]
#[non_exhaustive]
pub struct UnseenEffectsError {
    /// The name of the refused fallback.
    pub to: String,
    /// The keys of the effects that were performed, or may have been.
    pub effects: Vec<String>,
    /// The error that led to the fallback.
    #[source]
    pub why: BoxError,
}

impl<S: State> FallbackChain<S> {
    /// Creates a chain that begins with this node. The name is for traces.
    pub fn new<M>(name: impl Into<String>, node: impl IntoNode<S, M>) -> Self {
        Self {
            links: vec![(name.into(), Link::Node(Arc::new(node.into_node())))],
            record: None,
        }
    }

    /// Appends a node that is tried when all before it have failed.
    #[must_use]
    pub fn or<M>(mut self, name: impl Into<String>, node: impl IntoNode<S, M>) -> Self {
        let link = Link::Node(Arc::new(node.into_node()));
        self.links.push((name.into(), link));
        self
    }

    /// Appends a function that decides when all before it have failed. It gets the state and the
    /// falls so far.
    #[must_use]
    pub fn or_rule<R, Shape>(
        mut self,
        name: impl Into<String>,
        rule: impl Fn(&S, &[FallbackStep]) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: IntoUpdates<S::Update, Shape>,
    {
        let rule = move |state: &S, falls: &[FallbackStep]| Ok(rule(state, falls).into_updates());
        self.links.push((name.into(), Link::Rule(Box::new(rule))));
        self
    }

    /// Sets a function that makes updates of each fall.
    #[must_use]
    pub fn record<R, Shape>(
        mut self,
        record: impl Fn(&FallbackStep) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: IntoUpdates<S::Update, Shape>,
    {
        self.record = Some(Arc::new(move |fall| record(fall).into_updates()));
        self
    }

    async fn attempt(
        &self,
        (name, link): &(String, Link<S>),
        cx: &Context<S>,
        (falls, failed): (&[FallbackStep], Option<BoxError>),
    ) -> Result<Outcome<S::Update>, Failure> {
        match link {
            Link::Node(node) => node.run(cx.clone()).await.map_err(Failure::Next),
            Link::Rule(rule) => {
                let effects = cx.performed_effects().await;
                if !effects.is_empty() {
                    let (to, why) = (
                        name.clone(),
                        failed.unwrap_or_else(|| "it came first".into()),
                    );
                    let refused = UnseenEffectsError { to, effects, why };
                    return Err(Failure::Last(refused.into()));
                }
                let updates = rule(cx.state(), falls).map_err(Failure::Next)?;
                Ok(Outcome::done(updates))
            }
        }
    }

    fn recorded(&self, outcome: Outcome<S::Update>, falls: &[FallbackStep]) -> Outcome<S::Update> {
        let Outcome::Done { updates, notes } = outcome else {
            return outcome;
        };
        let record = |fall| self.record.as_ref().map_or(vec![], |record| record(fall));
        let recorded = falls.iter().flat_map(record);
        let noted = falls.iter().map(|fall| custom("fell_back", json!(fall)));
        Outcome::Done {
            updates: recorded.chain(updates).collect(),
            notes: noted.chain(notes).collect(),
        }
    }
}

/// The error of a link: `Next` lets the next link be tried, `Last` ends the chain.
enum Failure {
    Next(BoxError),
    Last(BoxError),
}

#[async_trait]
impl<S: State> Node<S> for FallbackChain<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let mut falls = vec![];
        let mut failed: Option<BoxError> = None;
        let mut links = self.links.iter().peekable();
        while let Some(link) = links.next() {
            match self.attempt(link, &cx, (&falls, failed.take())).await {
                Ok(outcome) => return Ok(self.recorded(outcome, &falls)),
                Err(Failure::Last(error)) => return Err(error),
                Err(Failure::Next(error)) => {
                    if let Some((next, _)) = links.peek() {
                        let fall = fell(&link.0, next, &*error);
                        tracing::warn!(
                            task = cx.task(),
                            from = fall.from,
                            to = fall.to,
                            reason = fall.reason,
                            "fallback used"
                        );
                        falls.push(fall);
                    }
                    failed = Some(error);
                }
            }
        }
        Err(failed.unwrap_or_else(|| "the chain has no node".into()))
    }
}

/// Returns a fall with the whole chain of causes in its reason.
pub(crate) fn fell(
    from: &str,
    to: &str,
    error: &(dyn std::error::Error + Send + Sync + 'static),
) -> FallbackStep {
    FallbackStep {
        from: from.to_owned(),
        to: to.to_owned(),
        reason: explain(error),
    }
}

impl<S: State> fmt::Debug for FallbackChain<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.links.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}
