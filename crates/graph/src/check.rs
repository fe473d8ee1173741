//! The checks of a graph before anything runs on it, so that no run ends as success by accident.
use std::collections::{HashMap, HashSet};

use fugato_state::State;

use crate::{
    GraphBuilder,
    builder::{self, OutgoingSpec},
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

/// Returns the edges of a graph without a problem, or all problems.
pub(crate) fn check<S: State>(
    builder: &GraphBuilder<S>,
    names: &Names,
    guards: &[String],
) -> Result<Vec<Edge>, Vec<BuildIssue>> {
    let mut problems = vec![];
    check_names(builder, &mut problems);
    check_mentions(builder, names, guards, &mut problems);
    check_ways(builder, guards, &mut problems);
    if guards.len() > 1 {
        problems.push(BuildIssue::SeveralGuards);
    }
    // Reachability is defined only when every name is known.
    if !problems.is_empty() {
        return Err(problems);
    }
    let guard = guards.first().and_then(|guard| names.find(guard));
    let edges = builder::edges(&builder.ways, names, guard);
    check_reach(builder, names, &edges, &mut problems);
    check_end(builder, &edges, &mut problems);
    if problems.is_empty() {
        Ok(edges)
    } else {
        Err(problems)
    }
}

fn check_names<S: State>(builder: &GraphBuilder<S>, problems: &mut Vec<BuildIssue>) {
    let mut seen = HashSet::new();
    for (name, _) in &builder.nodes {
        let bad = |c: char| c.is_control() || matches!(c, '/' | '#' | '[' | ']');
        if name.is_empty() || name == END || name.contains(bad) {
            problems.push(BuildIssue::BadName(name.clone()));
        }
        if !seen.insert(name) {
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
        if seen.contains(old) || !seen.contains(new) {
            problems.push(BuildIssue::BadRename {
                old: old.clone(),
                new: new.clone(),
            });
        }
    }
}

fn check_mentions<S: State>(
    builder: &GraphBuilder<S>,
    names: &Names,
    guards: &[String],
    problems: &mut Vec<BuildIssue>,
) {
    let mut known = |place: &dyn Fn() -> String, name: &String, end_allowed: bool| {
        if !(end_allowed && name == END) && names.find(name).is_none() {
            let (place, name) = (place(), name.clone());
            problems.push(BuildIssue::UnknownNode { place, name });
        }
    };
    known(&|| "the start".into(), &builder.start, false);
    for (node, label) in &builder.labels {
        known(&|| format!("the label {label:?}"), node, false);
    }
    for guard in guards {
        known(&|| "the guard".into(), guard, false);
    }
    for way in &builder.ways {
        match way {
            OutgoingSpec::Edge { from, to } => {
                let place = || format!("the edge from {from:?} to {to:?}");
                known(&place, from, false);
                known(&place, to, true);
            }
            OutgoingSpec::Branch { from, to, .. } => {
                let place = || format!("the branch after {from:?}");
                known(&place, from, false);
                for to in to {
                    known(&place, to, true);
                }
            }
            OutgoingSpec::Scatter { from, to, .. } => {
                let place = || format!("the scatter after {from:?}");
                known(&place, from, false);
                known(&place, to, false);
            }
            OutgoingSpec::Join { from, to } => {
                let place = || format!("the join into {to:?}");
                for from in from {
                    known(&place, from, false);
                }
                known(&place, to, false);
            }
        }
    }
}

/// Checks the kinds of ways out of each node, and the rules for each kind.
fn check_ways<S: State>(
    builder: &GraphBuilder<S>,
    guards: &[String],
    problems: &mut Vec<BuildIssue>,
) {
    let mut edges = HashSet::new();
    let mut joins = HashSet::new();
    for way in &builder.ways {
        match way {
            OutgoingSpec::Edge { from, to } if !edges.insert((from, to)) => {
                problems.push(BuildIssue::DuplicateEdge {
                    from: from.clone(),
                    to: to.clone(),
                });
            }
            OutgoingSpec::Branch { from, to, .. } if to.is_empty() => {
                problems.push(BuildIssue::EmptyBranch(from.clone()));
            }
            OutgoingSpec::Join { from, to } => {
                if from.len() < 2 || from.iter().collect::<HashSet<_>>().len() < from.len() {
                    problems.push(BuildIssue::SmallJoin(to.clone()));
                }
                if !joins.insert(to) {
                    problems.push(BuildIssue::DuplicateJoin(to.clone()));
                }
            }
            _ => {}
        }
    }
    let touched = touched(&builder.ways);
    for (name, work) in &builder.nodes {
        let here = touched.get(name.as_str()).copied().unwrap_or_default();
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
        let entered = here.entered || guards.contains(name) || builder.start == *name;
        if entered || matches!(work, NodeWork::Pause(_)) {
            problems.push(BuildIssue::SharedWorker(name.clone()));
        }
    }
}

/// The ways out of a node and into it.
#[derive(Clone, Copy, Default)]
struct Touched {
    /// The edges and joins that begin there.
    plain: usize,
    /// The branches and scatters that begin there.
    choices: usize,
    /// True if a scatter leads there.
    scattered: bool,
    /// True if anything else leads there.
    entered: bool,
}

fn touched<S: State>(ways: &[OutgoingSpec<S>]) -> HashMap<&str, Touched> {
    let mut all: HashMap<&str, Touched> = HashMap::new();
    for way in ways {
        match way {
            OutgoingSpec::Edge { from, to } => {
                all.entry(from).or_default().plain += 1;
                all.entry(to).or_default().entered = true;
            }
            OutgoingSpec::Branch { from, to, .. } => {
                all.entry(from).or_default().choices += 1;
                for to in to {
                    all.entry(to).or_default().entered = true;
                }
            }
            OutgoingSpec::Scatter { from, to, .. } => {
                all.entry(from).or_default().choices += 1;
                all.entry(to).or_default().scattered = true;
            }
            OutgoingSpec::Join { from, to } => {
                // A source that is named twice is the business of another check.
                for from in from.iter().collect::<HashSet<_>>() {
                    all.entry(from).or_default().plain += 1;
                }
                all.entry(to).or_default().entered = true;
            }
        }
    }
    all
}

/// Checks that every node is reachable: a way leads to it, and to a joining node from all sources.
fn check_reach<S: State>(
    builder: &GraphBuilder<S>,
    names: &Names,
    edges: &[Edge],
    problems: &mut Vec<BuildIssue>,
) {
    let mut leaving = vec![vec![]; names.len()];
    let mut missing = vec![0_usize; names.len()];
    for edge in edges {
        if let Some(leaving) = leaving.get_mut(edge.from.at()) {
            leaving.push(edge);
        }
        if let (EdgeKind::Join, Some(to)) = (edge.kind, edge.to)
            && let Some(missing) = missing.get_mut(to.at())
        {
            *missing += 1;
        }
    }
    let mut reached = Marks::new(names.len());
    let mut next: Vec<NodeIx> = names.find(&builder.start).into_iter().collect();
    for start in &next {
        reached.add(*start);
    }
    while let Some(from) = next.pop() {
        for edge in leaving.get(from.at()).into_iter().flatten() {
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
    let mut before = vec![vec![]; builder.nodes.len()];
    let mut next: Vec<NodeIx> = vec![];
    for edge in edges {
        match edge.to {
            Some(to) => before
                .get_mut(to.at())
                .into_iter()
                .for_each(|before| before.push(edge.from)),
            None => next.push(edge.from),
        }
    }
    let mut ends = Marks::new(builder.nodes.len());
    while let Some(node) = next.pop() {
        if ends.add(node) {
            next.extend(before.get(node.at()).into_iter().flatten());
        }
    }
    let endless = ends.others(builder);
    if !endless.is_empty() {
        problems.push(BuildIssue::Endless(endless));
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
