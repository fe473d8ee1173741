//! Graphs with nodes that no way leads to, or from which none leads to the end.
use std::collections::BTreeSet;

use fugato_graph::{BuildIssue, Context, END, Graph};
use fugato_state::Conversation;
use proptest::prelude::*;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

async fn idle(_: Context<Conversation>) {}

/// The targets of the edges of each node, of which the last stands for the end, and the sources and
/// the target of a join.
type Reach = (Vec<BTreeSet<usize>>, Option<(BTreeSet<usize>, usize)>);

fn wiring() -> impl Strategy<Value = Reach> {
    let targets = proptest::collection::btree_set(0..=NAMES.len(), 1..3);
    let edges = proptest::collection::vec(targets, NAMES.len());
    let sources = proptest::collection::btree_set(0..NAMES.len(), 2..4);
    (edges, proptest::option::of((sources, 0..NAMES.len())))
}

/// Returns what `build` must find, by going through all ways again and again until nothing changes.
fn expected((edges, join): &Reach) -> Vec<BuildIssue> {
    let (mut reached, mut ends) = (BTreeSet::from([0]), BTreeSet::new());
    for _ in 0..=NAMES.len() {
        for (from, targets) in edges.iter().enumerate() {
            if reached.contains(&from) {
                reached.extend(targets.iter().filter(|to| **to < NAMES.len()));
            }
            if targets
                .iter()
                .any(|to| *to == NAMES.len() || ends.contains(to))
            {
                ends.insert(from);
            }
        }
        if let Some((sources, to)) = join {
            if sources.is_subset(&reached) {
                reached.insert(*to);
            }
            if ends.contains(to) {
                ends.extend(sources);
            }
        }
    }
    let name = |node: &usize| NAMES.get(*node).copied().unwrap_or(END).to_owned();
    let lost = |nodes: &BTreeSet<usize>| -> Vec<usize> {
        let all = 0..NAMES.len();
        all.filter(|node| !nodes.contains(node)).collect()
    };
    let unreached = lost(&reached);
    let dead = join.iter().flat_map(|(sources, to)| {
        let never = sources.iter().filter(|from| unreached.contains(from));
        never.map(|from| BuildIssue::DeadJoin {
            join: name(to),
            source_node: name(from),
        })
    });
    let unreachable = unreached
        .iter()
        .map(|node| BuildIssue::Unreachable(name(node)));
    let mut all: Vec<_> = dead.chain(unreachable).collect();
    let endless = lost(&ends);
    if !endless.is_empty() {
        all.push(BuildIssue::Endless(endless.iter().map(name).collect()));
    }
    all
}

proptest! {
    #[test]
    fn k5_build_finds_what_no_way_leads_to_and_what_cannot_end(wiring in wiring()) {
        let (edges, join) = &wiring;
        let name = |node: &usize| NAMES.get(*node).copied().unwrap_or(END);
        let mut graph = Graph::<Conversation>::starting_at("a");
        for node in NAMES {
            graph = graph.node(node, idle);
        }
        for (from, targets) in edges.iter().enumerate() {
            for to in targets {
                graph = graph.edge(name(&from), name(to));
            }
        }
        if let Some((sources, to)) = join {
            graph = graph.join(sources.iter().map(name), name(to));
        }
        let found = graph.build().err().map_or(vec![], |error| error.problems);
        prop_assert_eq!(found, expected(&wiring));
    }
}

#[test]
fn k5_build_names_every_kind_of_problem_at_once() {
    let end = |_: &Conversation| END;
    let each = |_: &Conversation| [1];
    let broken = Graph::<Conversation>::starting_at("a")
        .node("a", idle)
        .node("a", idle)
        .node("b/c", idle)
        .node("worker", idle)
        .node("joined", idle)
        .node("alone", idle)
        .edge("a", "joined")
        .edge("a", "joined")
        .edge("a", "nowhere")
        .branch("a", [""; 0], end)
        .scatter("alone", "worker", each)
        .branch("worker", [END], end)
        .edge("joined", "worker")
        .join(["a", "a"], "joined")
        .join(["alone", "joined"], "joined")
        .guard("a", |_| true)
        .guard("b/c", |_| true)
        .renamed("old", "nobody")
        .build();
    let name = |name: &str| name.to_owned();
    let mut found = broken.unwrap_err().problems;
    let expected = [
        BuildIssue::DuplicateNode(name("a")),
        BuildIssue::BadName(name("b/c")),
        BuildIssue::BadRename {
            old: name("old"),
            new: name("nobody"),
        },
        BuildIssue::UnknownNode {
            place: name("the edge from \"a\" to \"nowhere\""),
            name: name("nowhere"),
        },
        BuildIssue::DuplicateEdge {
            from: name("a"),
            to: name("joined"),
        },
        BuildIssue::EmptyBranch(name("a")),
        BuildIssue::SmallJoin(name("joined")),
        BuildIssue::DuplicateJoin(name("joined")),
        BuildIssue::MixedWays(name("a")),
        BuildIssue::DeadEnd(name("b/c")),
        BuildIssue::BranchingWorker(name("worker")),
        BuildIssue::SharedWorker(name("worker")),
        BuildIssue::MixedWays(name("alone")),
        BuildIssue::SeveralGuards,
    ];
    for issue in expected {
        let at = found.iter().position(|known| *known == issue);
        let at = at.unwrap_or_else(|| panic!("{issue:?} is not among {found:?}"));
        found.remove(at);
    }
    assert_eq!(found, []);
}

#[test]
fn a_label_is_for_a_node_that_exists() {
    let graph = Graph::<Conversation>::starting_at("a")
        .node("a", idle)
        .label("b", "looking")
        .edge("a", END)
        .build();
    let error = graph.expect_err("there is no b").to_string();
    assert!(
        error.contains(r#"the label "looking" mentions "b", which is no node"#),
        "{error}"
    );
}
