//! The checks of a graph before anything runs on it, so that no run ends as success by accident.
use std::collections::HashSet;

use fugato_state::State;

use crate::{
    GraphBuilder,
    builder::OutgoingSpec,
    graph::{Edge, EdgeKind, NodeWork},
    machine::{Names, NodeIx},
    route::END,
};

/// A problem of a graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildIssue {
    /// A node cannot have this name.
    #[error(
        "{0:?} cannot name a node: a name is not empty, is not END, and has none of / # [ ] and no control characters"
    )]
    BadName(String),
    /// Two nodes have the same name.
    #[error("two nodes are called {0:?}")]
    DuplicateNode(String),
    /// The wiring mentions a node that does not exist.
    #[error("{place} mentions {name:?}, which is no node")]
    UnknownNode {
        /// The part of the wiring that mentions it.
        place: String,
        /// The name.
        name: String,
    },
    /// No way leads to a node.
    #[error("no way leads to {0:?}")]
    Unreachable(String),
    /// No way leads out of a node.
    #[error("nothing comes after {0:?}; if the run ends there, say so with an edge to END")]
    DeadEnd(String),
    /// From these nodes no way leads to the end of the run.
    #[error(
        "a run that comes to {} can never end: no way leads on to END", .0.iter().map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", ")
    )]
    Endless(Vec<String>),
    /// A node has more than one kind of way out.
    #[error("{0:?} has more than one kind of way out: edges and joins, one branch, or one scatter")]
    MixedWays(String),
    /// The same edge is declared twice.
    #[error("the edge from {from:?} to {to:?} is declared twice")]
    DuplicateEdge {
        /// The node at which the edge begins.
        from: String,
        /// The target of the edge.
        to: String,
    },
    /// A branch declares no target.
    #[error("the branch after {0:?} declares no target")]
    EmptyBranch(String),
    /// The target of a scatter has a branch or a scatter of its own.
    #[error(
        "{0:?} is the target of a scatter and has a branch or scatter of its own; use a subgraph"
    )]
    BranchingWorker(String),
    /// The target of a scatter is entered in another way too, or is a pause.
    #[error("{0:?} is the target of a scatter; it must be a node, and nothing else may lead to it")]
    SharedWorker(String),
    /// A join has fewer than two sources, or names one twice.
    #[error("the join into {0:?} needs at least two different sources")]
    SmallJoin(String),
    /// Two joins lead into the same node.
    #[error("two joins lead into {0:?}")]
    DuplicateJoin(String),
    /// A join waits for a source that can only come after it, or never.
    #[error("the join into {join:?} can never fire: {source_node:?} cannot be reached before it")]
    DeadJoin {
        /// The joining node.
        join: String,
        /// The source that never arrives.
        source_node: String,
    },
    /// A policy is for an unknown name, for a pause or a subgraph, whose tasks have their own, or
    /// is the second one of a node.
    #[error("{0:?} cannot have a policy: only a node that runs can, and only one")]
    BadPolicy(String),
    /// There is more than one guard.
    #[error("a graph has at most one guard")]
    SeveralGuards,
    /// A rename leads to a node that does not exist, or from one that does.
    #[error(
        "{old:?} cannot have been renamed to {new:?}: the old name must be free, the new one a node"
    )]
    BadRename {
        /// The old name.
        old: String,
        /// The new name.
        new: String,
    },
}

/// A graph whose names were looked up, once each.
pub(crate) struct Topology {
    /// The names of the nodes, then those that the wiring mentions and that are no node.
    pub(crate) names: Names,
    /// The edges, for pictures and checks, in the order of the ways that declare them. The guard's
    /// target is one of the targets of every branch.
    pub(crate) edges: Vec<Edge>,
    /// The end of each way's edges.
    ends: Vec<usize>,
}

impl Topology {
    /// Returns the edges of each way, in the order of their declaration.
    pub(crate) fn ways(&self) -> impl Iterator<Item = &[Edge]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(|(begin, end)| self.edges.get(begin..*end).unwrap_or_default())
    }

    /// Returns true if two edges are alike. Most graphs have none, and need no set of them.
    fn has_doubles(&self) -> bool {
        let always = |edge: &&Edge| edge.kind == EdgeKind::Always;
        let edges = self.edges.iter().filter(always);
        let mut edges: Vec<_> = edges.map(|edge| (edge.from, edge.to)).collect();
        edges.sort_unstable();
        edges
            .windows(2)
            .any(|two| matches!(two, [one, other] if one == other))
    }
}

/// Returns the wiring of a graph without a problem, or all problems.
pub(crate) fn check<S: State>(builder: &GraphBuilder<S>) -> Result<Topology, Vec<BuildIssue>> {
    let mut problems = vec![];
    let names = check_names(builder, &mut problems);
    let wiring = look_up(builder, names, &mut problems);
    check_ways(builder, &wiring, &mut problems);
    if builder.guards.len() > 1 {
        problems.push(BuildIssue::SeveralGuards);
    }
    // Reachability is defined only when every name is known.
    if !problems.is_empty() {
        return Err(problems);
    }
    check_reach(builder, &wiring, &mut problems);
    check_end(builder, &wiring.edges, &mut problems);
    if problems.is_empty() {
        Ok(wiring)
    } else {
        Err(problems)
    }
}

fn check_names<S: State>(builder: &GraphBuilder<S>, problems: &mut Vec<BuildIssue>) -> Names {
    let mut names = Names::with_capacity(builder.nodes.len());
    for (name, _) in &builder.nodes {
        let bad = |c: char| c.is_control() || matches!(c, '/' | '#' | '[' | ']');
        if name.is_empty() || name == END || name.contains(bad) {
            problems.push(BuildIssue::BadName(name.clone()));
        }
        let known = names.len();
        if names.intern(name).at() < known {
            problems.push(BuildIssue::DuplicateNode(name.clone()));
        }
    }
    let mut with_policy = HashSet::new();
    for (name, _) in &builder.policies {
        let mut nodes = builder.nodes.iter();
        let runs = nodes.any(|(node, work)| node == name && matches!(work, NodeWork::Node(_)));
        if !runs || !with_policy.insert(name) {
            problems.push(BuildIssue::BadPolicy(name.clone()));
        }
    }
    for (old, new) in &builder.renamed {
        if names.find(old).is_some() || names.find(new).is_none() {
            problems.push(BuildIssue::BadRename {
                old: old.clone(),
                new: new.clone(),
            });
        }
    }
    names
}

/// The names of a graph, and those that are none.
struct Mentions<'a> {
    names: Names,
    nodes: usize,
    problems: &'a mut Vec<BuildIssue>,
}

impl Mentions<'_> {
    fn node(&mut self, name: &str, place: impl FnOnce() -> String) -> NodeIx {
        let ix = self.names.intern(name);
        if ix.at() >= self.nodes {
            let (place, name) = (place(), name.to_owned());
            self.problems.push(BuildIssue::UnknownNode { place, name });
        }
        ix
    }

    fn target(&mut self, name: &str, place: impl FnOnce() -> String) -> Option<NodeIx> {
        (name != END).then(|| self.node(name, place))
    }
}

/// Looks up the names that the wiring mentions.
fn look_up<S: State>(
    builder: &GraphBuilder<S>,
    names: Names,
    problems: &mut Vec<BuildIssue>,
) -> Topology {
    let nodes = names.len();
    let mut all = Mentions {
        names,
        nodes,
        problems,
    };
    all.node(&builder.start, || "the start".into());
    for (node, label) in &builder.labels {
        all.node(node, || format!("the label {label:?}"));
    }
    let mut guard = None;
    for (name, _) in &builder.guards {
        let known = all.node(name, || "the guard".into());
        guard.get_or_insert(known);
    }
    let mut edges: Vec<Edge> = Vec::with_capacity(builder.ways.len());
    let mut ends = Vec::with_capacity(builder.ways.len());
    for way in &builder.ways {
        let begin = edges.len();
        match way {
            OutgoingSpec::Edge { from, to } => {
                let place = || format!("the edge from {from:?} to {to:?}");
                let (from, to) = (all.node(from, place), all.target(to, place));
                edges.push(Edge::new(from, to, EdgeKind::Always));
            }
            OutgoingSpec::Branch { from, to, .. } => {
                let place = || format!("the branch after {from:?}");
                let node = all.node(from, place);
                let targets = to.iter().map(|to| all.target(to, place));
                for to in targets.chain(guard.map(Some)) {
                    let edge = Edge::new(node, to, EdgeKind::Choice);
                    // Only a branch can name a target twice.
                    if !edges.iter().skip(begin).any(|known| *known == edge) {
                        edges.push(edge);
                    }
                }
            }
            OutgoingSpec::Scatter { from, to, .. } => {
                let place = || format!("the scatter after {from:?}");
                let (from, to) = (all.node(from, place), all.node(to, place));
                edges.push(Edge::new(from, Some(to), EdgeKind::Each));
            }
            OutgoingSpec::Join { from, to } => {
                let place = || format!("the join into {to:?}");
                let from: Vec<_> = from.iter().map(|from| all.node(from, place)).collect();
                let to = Some(all.node(to, place));
                let join = |from| Edge::new(from, to, EdgeKind::Join);
                edges.extend(from.into_iter().map(join));
            }
        }
        ends.push(edges.len());
    }
    Topology {
        names: all.names,
        edges,
        ends,
    }
}

/// Checks the kinds of ways out of each node, and the rules for each kind.
fn check_ways<S: State>(
    builder: &GraphBuilder<S>,
    wiring: &Topology,
    problems: &mut Vec<BuildIssue>,
) {
    let mut touched = vec![NodeLinks::default(); wiring.names.len()];
    let (mut pairs, mut joins) = (HashSet::new(), HashSet::new());
    let is_doubled = wiring.has_doubles();
    for (way, edges) in builder.ways.iter().zip(wiring.ways()) {
        for edge in edges {
            if let Some(to) = edge.to.and_then(|to| touched.get_mut(to.at())) {
                to.enter(edge.kind);
            }
        }
        let mut leave = |from: NodeIx, count: fn(&mut NodeLinks)| {
            if let Some(from) = touched.get_mut(from.at()) {
                count(from);
            }
        };
        match way {
            OutgoingSpec::Edge { from, to } => {
                for edge in edges {
                    leave(edge.from, |node| node.plain += 1);
                }
                if is_doubled && !pairs.insert((from, to)) {
                    problems.push(BuildIssue::DuplicateEdge {
                        from: from.clone(),
                        to: to.clone(),
                    });
                }
            }
            OutgoingSpec::Branch { from, .. } | OutgoingSpec::Scatter { from, .. } => {
                if let Some(from) = wiring.names.find(from) {
                    leave(from, |node| node.choices += 1);
                }
                if matches!(way, OutgoingSpec::Branch { to, .. } if to.is_empty()) {
                    problems.push(BuildIssue::EmptyBranch(from.clone()));
                }
            }
            OutgoingSpec::Join { from, to } => {
                let sources: HashSet<_> = edges.iter().map(|edge| edge.from).collect();
                if from.len() < 2 || sources.len() < from.len() {
                    problems.push(BuildIssue::SmallJoin(to.clone()));
                }
                if !joins.insert(to) {
                    problems.push(BuildIssue::DuplicateJoin(to.clone()));
                }
                for source in sources {
                    leave(source, |node| node.plain += 1);
                }
            }
        }
    }
    let mut touched = wiring.names.iter().zip(touched).peekable();
    for (name, work) in &builder.nodes {
        // A second node of the same name has no position.
        let Some((_, here)) = touched.next_if(|(known, _)| ***known == **name) else {
            continue;
        };
        match (here.plain, here.choices) {
            (0, 0) => problems.push(BuildIssue::DeadEnd(name.clone())),
            (_, 0) | (0, 1) => {}
            _ => problems.push(BuildIssue::MixedWays(name.clone())),
        }
        if !here.scattered {
            continue;
        }
        if here.choices > 0 {
            problems.push(BuildIssue::BranchingWorker(name.clone()));
        }
        let mut guards = builder.guards.iter();
        let guards = guards.any(|(guard, _)| guard == name);
        if here.entered || guards || builder.start == *name || matches!(work, NodeWork::Pause(_)) {
            problems.push(BuildIssue::SharedWorker(name.clone()));
        }
    }
}

/// The ways out of a node and into it.
#[derive(Clone, Copy, Default)]
struct NodeLinks {
    /// The edges and joins that begin there.
    plain: usize,
    /// The branches and scatters that begin there.
    choices: usize,
    /// True if a scatter leads there.
    scattered: bool,
    /// True if anything else leads there.
    entered: bool,
}

impl NodeLinks {
    fn enter(&mut self, kind: EdgeKind) {
        match kind {
            EdgeKind::Each => self.scattered = true,
            _ => self.entered = true,
        }
    }
}

/// Checks that every node is reachable: a way leads to it, and to a joining node from all sources.
fn check_reach<S: State>(
    builder: &GraphBuilder<S>,
    wiring: &Topology,
    problems: &mut Vec<BuildIssue>,
) {
    let (names, edges) = (&wiring.names, &wiring.edges);
    let leaving = ByNode::new(edges, names.len(), |edge| Some(edge.from));
    let mut missing = vec![0_usize; names.len()];
    for edge in edges.iter().filter(|edge| edge.kind == EdgeKind::Join) {
        if let Some(missing) = edge.to.and_then(|to| missing.get_mut(to.at())) {
            *missing += 1;
        }
    }
    let mut reached = Marks::new(names.len());
    let mut next: Vec<NodeIx> = names.find(&builder.start).into_iter().collect();
    for start in &next {
        reached.add(*start);
    }
    while let Some(from) = next.pop() {
        for edge in leaving.of(from) {
            let Some(to) = edge.to else { continue };
            if edge.kind == EdgeKind::Join
                && let Some(missing) = missing.get_mut(to.at())
            {
                *missing -= 1;
                if *missing > 0 {
                    continue;
                }
            }
            if reached.add(to) {
                next.push(to);
            }
        }
    }
    for edge in edges.iter().filter(|edge| edge.kind == EdgeKind::Join) {
        if let Some(to) = edge.to.filter(|_| !reached.has(edge.from)) {
            let (join, source_node) = (names.name(to), names.name(edge.from));
            let (join, source_node) = (join.to_string(), source_node.to_string());
            problems.push(BuildIssue::DeadJoin { join, source_node });
        }
    }
    let unreached = reached.others(builder).into_iter();
    problems.extend(unreached.map(BuildIssue::Unreachable));
}

/// Checks that from every node some way leads to END: a run on a cycle without one would end at
/// its step limit.
fn check_end<S: State>(builder: &GraphBuilder<S>, edges: &[Edge], problems: &mut Vec<BuildIssue>) {
    let before = ByNode::new(edges, builder.nodes.len(), |edge| edge.to);
    let last = edges.iter().filter(|edge| edge.to.is_none());
    let mut next: Vec<NodeIx> = last.map(|edge| edge.from).collect();
    let mut ends = Marks::new(builder.nodes.len());
    while let Some(node) = next.pop() {
        if ends.add(node) {
            next.extend(before.of(node).map(|edge| edge.from));
        }
    }
    let endless = ends.others(builder);
    if !endless.is_empty() {
        problems.push(BuildIssue::Endless(endless));
    }
}

/// The edges of each node, in the order of their declaration.
struct ByNode<'a> {
    edges: &'a [Edge],
    /// The position of each node's first edge.
    first: Vec<Option<usize>>,
    /// The position of the next edge of the same node.
    next: Vec<Option<usize>>,
}

impl<'a> ByNode<'a> {
    fn new(edges: &'a [Edge], nodes: usize, node: impl Fn(&Edge) -> Option<NodeIx>) -> Self {
        let mut first = vec![None; nodes];
        let mut next = vec![None; edges.len()];
        for (at, (edge, next)) in edges.iter().zip(&mut next).enumerate().rev() {
            if let Some(first) = node(edge).and_then(|node| first.get_mut(node.at())) {
                *next = first.replace(at);
            }
        }
        Self { edges, first, next }
    }

    fn of(&self, node: NodeIx) -> impl Iterator<Item = &'a Edge> {
        let first = self.first.get(node.at()).copied().flatten();
        let places = std::iter::successors(first, |at| self.next.get(*at).copied().flatten());
        places.filter_map(|at| self.edges.get(at))
    }
}

/// A set of nodes.
struct Marks(Vec<bool>);

impl Marks {
    fn new(nodes: usize) -> Self {
        Self(vec![false; nodes])
    }

    fn has(&self, node: NodeIx) -> bool {
        self.0.get(node.at()).is_some_and(|marked| *marked)
    }

    /// Adds a node; returns false if it was there.
    fn add(&mut self, node: NodeIx) -> bool {
        let marked = self.0.get_mut(node.at());
        marked.is_some_and(|marked| !std::mem::replace(marked, true))
    }

    /// Returns the names of the other nodes. Nodes have the positions of their names.
    fn others<S: State>(&self, builder: &GraphBuilder<S>) -> Vec<String> {
        let marked = self.0.iter().zip(&builder.nodes);
        let others = marked.filter(|(marked, _)| !**marked);
        others.map(|(_, (name, _))| name.clone()).collect()
    }
}
