//! The graphs of the workloads.
use fugato_graph::{BoxError, BuildError, Context, END, Graph};

use crate::{
    subject::{Approval, Count, Still, Talk, Tallied, Tally, Tick, Wide},
    workload::WIDE_NODES,
};

fn node_name(number: u64) -> String {
    format!("node-{number}")
}

/// So many nodes in a row that do nothing.
pub fn chain(nodes: u64) -> Result<Graph<Still>, BuildError> {
    let mut graph = Graph::<Still>::starting_at(node_name(0));
    for number in 0..nodes {
        graph = graph.node(node_name(number), async |_: Context<Still>| {});
        let next = if number + 1 == nodes {
            END.to_owned()
        } else {
            node_name(number + 1)
        };
        graph = graph.edge(node_name(number), next);
    }
    graph.build()
}

/// A node that counts until it is where it wants to be.
pub fn cycle() -> Result<Graph<Count>, BuildError> {
    Graph::<Count>::starting_at("count")
        .node("count", async |_: Context<Count>| Tick)
        .branch("count", ["count", END], |count| {
            if count.reached < count.wanted {
                "count"
            } else {
                END
            }
        })
        .build()
}

/// Agent and tools, so many turns.
pub fn talk(turns: u64) -> Result<Graph<Talk>, BuildError> {
    let (agent, tool) = (Talk::agent_says(), Talk::tool_says());
    Graph::with_initial("agent", move || Talk::of_turns(turns))
        .node("agent", move |_: Context<Talk>| {
            std::future::ready(agent.clone())
        })
        .node("tools", move |_: Context<Talk>| {
            std::future::ready(tool.clone())
        })
        .edge("agent", "tools")
        .branch("tools", ["agent", END], |talk| {
            if talk.is_over() { END } else { "agent" }
        })
        .build()
}

/// A worker for each item, and a join.
pub fn fan_out() -> Result<Graph<Tally>, BuildError> {
    Graph::<Tally>::starting_at("plan")
        .node("plan", async |_: Context<Tally>| {})
        .node("worker", async |cx: Context<Tally>| {
            let item: u64 = cx.item()?;
            Ok::<_, BoxError>(Tallied::Square(item * item))
        })
        .node("join", async |cx: Context<Tally>| {
            Tallied::Sum(cx.state().squares.iter().sum())
        })
        .scatter("plan", "worker", |tally| 0..tally.items)
        .edge("worker", "join")
        .edge("join", END)
        .build()
}

/// Ten nodes in a circle that change 100 of 1,000 values each.
pub fn wide() -> Result<Graph<Wide>, BuildError> {
    let last = WIDE_NODES - 1;
    let mut graph = Graph::<Wide>::starting_at(node_name(0));
    for number in 0..WIDE_NODES {
        let keys = Wide::keys_of(number);
        let grow =
            move |cx: Context<Wide>| std::future::ready(cx.state().grown(&keys, number == last));
        graph = graph.node(node_name(number), grow);
        if number < last {
            graph = graph.edge(node_name(number), node_name(number + 1));
        }
    }
    let first = node_name(0);
    graph
        .branch(
            node_name(last),
            [first.clone(), END.to_owned()],
            move |wide| {
                if wide.rounds < wide.wanted {
                    first.clone()
                } else {
                    END.to_owned()
                }
            },
        )
        .build()
}

/// One question.
pub fn approval() -> Result<Graph<Approval>, BuildError> {
    Graph::<Approval>::starting_at("ask")
        .pause("ask", |_| "Write it?", |_, approved: bool| approved)
        .edge("ask", END)
        .build()
}
