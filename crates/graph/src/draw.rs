//! Pictures of a graph, from its declared edges.
use std::fmt::Write;

use crate::{
    graph::{Edge, EdgeKind},
    machine::{Names, NodeIx},
};

pub(crate) fn mermaid(
    edges: &[Edge],
    names: &Names,
    start: NodeIx,
    is_pause: impl Fn(NodeIx) -> bool,
) -> String {
    let mut out = String::from("flowchart TD\n    START([START]) --> n");
    let _ = writeln!(out, "{}", start.0);
    for ix in nodes(edges) {
        let name = names.name(ix).replace('"', "#quot;");
        let (open, close) = if is_pause(ix) {
            ("{{\"", "\"}}")
        } else {
            ("[\"", "\"]")
        };
        let _ = writeln!(out, "    n{}{open}{name}{close}", ix.0);
    }
    if edges.iter().any(|edge| edge.to.is_none()) {
        out.push_str("    END([END])\n");
    }
    for edge in edges {
        let arrow = match edge.kind {
            EdgeKind::Always => "-->",
            EdgeKind::Choice => "-.->",
            EdgeKind::Each => "-->|each|",
            EdgeKind::Join => "-->|all|",
        };
        let to = edge.to.map_or("END".into(), |to| format!("n{}", to.0));
        let _ = writeln!(out, "    n{} {arrow} {to}", edge.from.0);
    }
    out
}

pub(crate) fn dot(
    edges: &[Edge],
    names: &Names,
    start: NodeIx,
    is_pause: impl Fn(NodeIx) -> bool,
) -> String {
    let mut out = String::from("digraph {\n    START [shape=oval];\n");
    for ix in nodes(edges) {
        let name = names.name(ix).replace('\\', "\\\\").replace('"', "\\\"");
        let shape = if is_pause(ix) { "hexagon" } else { "box" };
        let _ = writeln!(out, "    n{} [label=\"{name}\", shape={shape}];", ix.0);
    }
    if edges.iter().any(|edge| edge.to.is_none()) {
        out.push_str("    END [shape=oval];\n");
    }
    let _ = writeln!(out, "    START -> n{};", start.0);
    for edge in edges {
        let style = match edge.kind {
            EdgeKind::Always => "",
            EdgeKind::Choice => " [style=dashed]",
            EdgeKind::Each => " [label=each]",
            EdgeKind::Join => " [label=all]",
        };
        let to = edge.to.map_or("END".into(), |to| format!("n{}", to.0));
        let _ = writeln!(out, "    n{} -> {to}{style};", edge.from.0);
    }
    out.push_str("}\n");
    out
}

/// Returns the nodes that edges mention, in the order of their declaration. A checked graph has no
/// others.
fn nodes(edges: &[Edge]) -> Vec<NodeIx> {
    let mut nodes: Vec<_> = edges
        .iter()
        .flat_map(|edge| std::iter::once(edge.from).chain(edge.to))
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
