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
    let mut out = String::with_capacity(64 * edges.len());
    out.push_str("flowchart TD\n    START([START]) --> ");
    push_node(&mut out, start);
    out.push('\n');
    for ix in (0..).map(NodeIx).take(names.len()) {
        let (open, close) = if is_pause(ix) {
            ("{{\"", "\"}}")
        } else {
            ("[\"", "\"]")
        };
        out.push_str("    ");
        push_node(&mut out, ix);
        out.push_str(open);
        for (at, part) in names.name(ix).split('"').enumerate() {
            out.push_str(if at > 0 { "#quot;" } else { "" });
            out.push_str(part);
        }
        out.push_str(close);
        out.push('\n');
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
        out.push_str("    ");
        push_node(&mut out, edge.from);
        for text in [" ", arrow, " "] {
            out.push_str(text);
        }
        match edge.to {
            Some(to) => push_node(&mut out, to),
            None => out.push_str("END"),
        }
        out.push('\n');
    }
    out
}

/// Writes a node without the machinery of formatting: a graph is drawn whenever it is built.
fn push_node(out: &mut String, ix: NodeIx) {
    out.push('n');
    out.push_str(itoa::Buffer::new().format(ix.0));
}

pub(crate) fn dot(
    edges: &[Edge],
    names: &Names,
    start: NodeIx,
    is_pause: impl Fn(NodeIx) -> bool,
) -> String {
    let mut out = String::from("digraph {\n    START [shape=oval];\n");
    for ix in (0..).map(NodeIx).take(names.len()) {
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
