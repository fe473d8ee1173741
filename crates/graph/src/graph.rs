use std::{collections::HashMap, sync::Arc};

use fugato_state::{Question, State};
use serde_json::Value;

use crate::{
    BoxError, Node, NodePolicy,
    machine::{Json, Names, NodeIx},
    route::{Router, Scatter},
    scope::Subgraph,
};

/// A graph that was checked: nodes and edges, immutable, reusable for every thread. Cheap to clone.
///
/// The wiring decides the order of nodes: edges, branches, scatters, joins and pauses. The nodes do
/// not, so that a person can read the whole flow from the graph, and a program can draw it.
///
/// ```
/// use fugato_graph::{Context, END, Graph, BuildIssue};
/// # use fugato_state::State;
/// # #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
/// # struct Letter { drafts: u32 }
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct DraftAdded;
/// # impl State for Letter {
/// #     type Update = DraftAdded;
/// #     fn apply(&mut self, _: DraftAdded) { self.drafts += 1 }
/// # }
///
/// async fn draft(_: Context<Letter>) -> DraftAdded {
///     DraftAdded
/// }
///
/// let graph = Graph::<Letter>::starting_at("draft")
///     .node("draft", draft)
///     .branch("draft", ["draft", END], |state| if state.drafts < 3 { "draft" } else { END })
///     .build()?;
/// assert!(graph.to_mermaid().contains("draft"));
///
/// // A node without a way out is a mistake, and not the end of a run.
/// let broken = Graph::<Letter>::starting_at("draft").node("draft", draft).build();
/// assert_eq!(broken.unwrap_err().problems, [BuildIssue::DeadEnd("draft".into())]);
/// # Ok::<(), fugato_graph::BuildError>(())
/// ```
///
/// Wrong: giving a node another name while threads wait at it. Their next request is refused with
/// `GraphChanged`. [`renamed`](crate::GraphBuilder::renamed) keeps the old name valid.
///
/// ```text
/// .node("review", check)    // was .node("check", check) when the threads were stored
/// ```
///
/// *Contract*
/// - **checked**: every name that the wiring mentions exists, every node can be reached and has a
///   way out, and every join can fire.
/// - **recorded routes**: the choice of a router is stored with its step, and is not made again in
///   replay. Routers, guards and questions read only the state that they are given.
/// - **declared targets**: a router that chooses another target than a declared one fails the run.
/// - **fingerprint**: graphs with the same nodes and edges have the same fingerprint; the log
///   records under which one a run went on.
///
/// # Errors
/// [`build`](crate::GraphBuilder::build) returns a [`BuildError`](crate::BuildError) with all
/// problems. In a run, an error or panic of the wiring is `Router`; a wrong choice is
/// `UndeclaredTarget`, a join that never filled `HalfFilledJoin`. The outcomes of the step's tasks
/// are kept for a retry.
///
/// # Cancellation safety
/// The wiring is synchronous: cancelling a run does not interrupt it.
///
/// # Cost
/// A clone is a shared pointer. Closing a step calls the router of each of its nodes once; edges
/// and joins call nothing. The graph is checked once, in `build`.
#[derive(derive_more::Debug)]
#[debug(
    "Graph {{ nodes: {:?}, fingerprint: {:?}, .. }}",
    self.node_names().collect::<Vec<_>>(),
    self.fingerprint()
)]
#[derive_where::derive_where(Clone)]
pub struct Graph<S: State>(pub(crate) Arc<GraphInner<S>>);

impl<S: State> Graph<S> {
    pub(crate) fn new(wiring: GraphInner<S>) -> Self {
        Self(Arc::new(wiring))
    }

    /// Returns a short text that is the same for graphs with the same nodes and edges.
    pub fn fingerprint(&self) -> &str {
        &self.0.fingerprint
    }

    /// Returns the names of the nodes, in the order in which they were declared.
    pub fn node_names(&self) -> impl Iterator<Item = Arc<str>> {
        (0..)
            .map(NodeIx)
            .take(self.0.nodes.len())
            .map(|ix| self.0.names.name(ix))
    }

    /// Returns the description of a node; none if it has no label or does not exist.
    pub fn label(&self, node: &str) -> Option<&str> {
        let ix = self.0.names.find(node)?;
        self.0.labels.get(&ix).map(String::as_str)
    }

    /// Returns the graph as a Mermaid flowchart, drawn from the declared targets.
    pub fn to_mermaid(&self) -> String {
        crate::draw::mermaid(&self.0.edges, &self.0.names, self.0.start, |ix| {
            self.is_pause(ix)
        })
    }

    /// Returns the graph in Graphviz's language, drawn from the declared targets.
    pub fn to_dot(&self) -> String {
        crate::draw::dot(&self.0.edges, &self.0.names, self.0.start, |ix| {
            self.is_pause(ix)
        })
    }

    fn is_pause(&self, ix: NodeIx) -> bool {
        matches!(
            self.0.nodes.get(ix.at()).map(|wire| &wire.work),
            Some(NodeWork::Pause(_))
        )
    }
}

/// The parts of a graph.
pub(crate) struct GraphInner<S: State> {
    pub(crate) names: Arc<Names>,
    pub(crate) nodes: Vec<NodeEntry<S>>,
    pub(crate) start: NodeIx,
    pub(crate) guard: Option<Guard<S>>,
    pub(crate) joins: Vec<Join>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) initial: Arc<dyn Fn() -> S + Send + Sync>,
    pub(crate) output: Option<Box<Output<S>>>,
    pub(crate) fingerprint: Arc<str>,
    /// The descriptions of the nodes.
    pub(crate) labels: HashMap<NodeIx, String>,
}

pub(crate) type Guard<S> = (NodeIx, Box<dyn Fn(&S) -> bool + Send + Sync>);
pub(crate) type Output<S> = dyn Fn(&S) -> Result<Json, BoxError> + Send + Sync;

/// A node and the way out of it.
pub(crate) struct NodeEntry<S: State> {
    pub(crate) work: NodeWork<S>,
    pub(crate) policy: Option<Arc<NodePolicy>>,
    pub(crate) way: Outgoing<S>,
    /// The joins at which it arrives.
    pub(crate) joins: Vec<usize>,
}

impl<S: State> NodeEntry<S> {
    pub(crate) fn new(work: NodeWork<S>) -> Self {
        Self {
            work,
            policy: None,
            way: Outgoing::Edges(vec![]),
            joins: vec![],
        }
    }

    /// Returns the node; none for a pause or a subgraph.
    pub(crate) fn node(&self) -> Option<&Arc<dyn Node<S>>> {
        match &self.work {
            NodeWork::Node(node) => Some(node),
            NodeWork::Pause(_) | NodeWork::Sub(_) => None,
        }
    }
}

/// The work of a node.
pub(crate) enum NodeWork<S: State> {
    Node(Arc<dyn Node<S>>),
    Pause(Box<dyn PauseNode<S>>),
    Sub(Box<dyn Subgraph<S>>),
}

/// The way out of a node.
pub(crate) enum Outgoing<S: State> {
    /// All of these targets; none of them for the end.
    Edges(Vec<NodeIx>),
    /// The choice of a router among the declared targets; no node for the end.
    Branch {
        declared: Vec<(Arc<str>, Option<NodeIx>)>,
        router: Box<Router<S>>,
    },
    /// One task for each item.
    Scatter { to: NodeIx, items: Box<Scatter<S>> },
}

pub(crate) struct Join {
    pub(crate) from: Vec<NodeIx>,
    pub(crate) to: NodeIx,
}

/// An edge as it was declared, for checks and pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: NodeIx,
    /// None for the end.
    pub(crate) to: Option<NodeIx>,
    pub(crate) kind: EdgeKind,
}

impl Edge {
    pub(crate) fn new(from: NodeIx, to: Option<NodeIx>, kind: EdgeKind) -> Self {
        Self { from, to, kind }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EdgeKind {
    Always,
    Choice,
    Each,
    Join,
}

/// A node that asks a person: a typed question, and a pure function of the answer.
pub(crate) trait PauseNode<S: State>: Send + Sync {
    fn question(&self, key: &str, state: &S, now: i64) -> Result<Question, BoxError>;
    fn answer(&self, state: &S, answer: &Value) -> Result<Vec<S::Update>, BoxError>;
    /// Returns the updates of an unanswered question; none if it is asked again.
    fn expired(&self, state: &S) -> Option<Vec<S::Update>>;
    /// Returns the schema of the answer.
    fn schema(&self) -> fugato_state::Schema;
}
