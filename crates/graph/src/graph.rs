use std::{collections::HashMap, fmt, sync::Arc};

use fugato_state::{Question, State};
use serde_json::Value;

use crate::{
    BoxError, Node, NodePolicy,
    machine::{Json, Names, NodeIx},
    route::{Router, Scatter},
    scope::Subgraph,
};

/// A graph that was checked: nodes and edges, immutable, reusable for every thread. Cheap to clone.
pub struct Graph<S: State>(pub(crate) Arc<Wiring<S>>);

impl<S: State> Clone for Graph<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: State> Graph<S> {
    pub(crate) fn new(wiring: Wiring<S>) -> Self {
        Self(Arc::new(wiring))
    }

    /// A short text that is the same for graphs with the same nodes and edges.
    pub fn fingerprint(&self) -> &str {
        &self.0.fingerprint
    }

    /// The names of the nodes, in the order in which they were declared.
    pub fn node_names(&self) -> impl Iterator<Item = Arc<str>> {
        (0..)
            .map(NodeIx)
            .take(self.0.nodes.len())
            .map(|ix| self.0.names.name(ix))
    }

    /// What a node does, in words for people; none if the graph says nothing, or has no such node.
    pub fn label(&self, node: &str) -> Option<&str> {
        let ix = self.0.names.find(node)?;
        self.0.labels.get(&ix).map(String::as_str)
    }

    /// The graph in Mermaid's language, drawn from the declared targets.
    pub fn to_mermaid(&self) -> String {
        crate::draw::mermaid(&self.0.edges, &self.0.names, self.0.start, |ix| {
            self.is_pause(ix)
        })
    }

    /// The graph in Graphviz's language, drawn from the declared targets.
    pub fn to_dot(&self) -> String {
        crate::draw::dot(&self.0.edges, &self.0.names, self.0.start, |ix| {
            self.is_pause(ix)
        })
    }

    fn is_pause(&self, ix: NodeIx) -> bool {
        matches!(
            self.0.nodes.get(ix.at()).map(|wire| &wire.work),
            Some(Work::Pause(_))
        )
    }
}

impl<S: State> fmt::Debug for Graph<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("nodes", &self.node_names().collect::<Vec<_>>())
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

/// The inside of a graph.
pub(crate) struct Wiring<S: State> {
    pub(crate) names: Arc<Names>,
    pub(crate) nodes: Vec<Wire<S>>,
    pub(crate) start: NodeIx,
    pub(crate) guard: Option<Guard<S>>,
    pub(crate) joins: Vec<Join>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) initial: Arc<dyn Fn() -> S + Send + Sync>,
    pub(crate) output: Option<Box<Output<S>>>,
    pub(crate) fingerprint: Arc<str>,
    /// What the nodes do, in words for people.
    pub(crate) labels: HashMap<NodeIx, String>,
}

pub(crate) type Guard<S> = (NodeIx, Box<dyn Fn(&S) -> bool + Send + Sync>);
pub(crate) type Output<S> = dyn Fn(&S) -> Result<Json, BoxError> + Send + Sync;

/// A node and the way out of it.
pub(crate) struct Wire<S: State> {
    pub(crate) work: Work<S>,
    pub(crate) policy: Option<Arc<NodePolicy>>,
    pub(crate) way: Way<S>,
    /// The joins at which it arrives.
    pub(crate) joins: Vec<usize>,
}

impl<S: State> Wire<S> {
    /// The node, unless it asks or is a graph of its own.
    pub(crate) fn node(&self) -> Option<&Arc<dyn Node<S>>> {
        match &self.work {
            Work::Node(node) => Some(node),
            Work::Pause(_) | Work::Sub(_) => None,
        }
    }
}

/// What a node does.
pub(crate) enum Work<S: State> {
    Node(Arc<dyn Node<S>>),
    Pause(Box<dyn Pause<S>>),
    Sub(Box<dyn Subgraph<S>>),
}

/// Where a thread goes after a node.
pub(crate) enum Way<S: State> {
    /// To all of these; to none for the end.
    Edges(Vec<NodeIx>),
    /// To what the router chooses among the declared targets; no node for the end.
    Branch {
        declared: Vec<(Arc<str>, Option<NodeIx>)>,
        router: Box<Router<S>>,
    },
    /// To one task for each item.
    Scatter { to: NodeIx, items: Box<Scatter<S>> },
}

pub(crate) struct Join {
    pub(crate) from: Vec<NodeIx>,
    pub(crate) to: NodeIx,
}

/// An edge as it was declared, for checks and pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: NodeIx,
    /// None for the end.
    pub(crate) to: Option<NodeIx>,
    pub(crate) kind: EdgeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    Always,
    Choice,
    Each,
    Join,
}

/// A node that asks by wiring: a typed question, and a pure answer.
pub(crate) trait Pause<S: State>: Send + Sync {
    fn question(&self, key: &str, state: &S, now: i64) -> Result<Question, BoxError>;
    fn answer(&self, state: &S, answer: &Value) -> Result<Vec<S::Update>, BoxError>;
    /// What an unanswered question changes; none if it is asked anew.
    fn expired(&self, state: &S) -> Option<Vec<S::Update>>;
    /// The schema of the answer.
    fn schema(&self) -> fugato_state::Schema;
}
