//! The graphs of the workloads.
use fugato_graph::{BoxError, BuildError, Context, END, Graph, SubgraphInput};
use fugato_state::{EffectClass, Message};

use crate::{
    subject::{
        Approval, Campaign, CampaignUpdate, Count, Number, Slogan, Still, Talk, Tally, TallyUpdate,
        Tick, Ticket, Wide,
    },
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
    talk_of(turns, Talk::agent_says(), Talk::tool_says())
}

/// The same with tool calls and results as large as they are in practice.
pub fn react(turns: u64) -> Result<Graph<Talk>, BuildError> {
    talk_of(turns, Talk::agent_calls(), Talk::tool_returns())
}

fn talk_of(turns: u64, agent: Message, tool: Message) -> Result<Graph<Talk>, BuildError> {
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

/// A node that does something to the outside world, so many times.
pub fn effects(wanted: u64, class: EffectClass) -> Result<Graph<Count>, BuildError> {
    Graph::with_initial("act", move || Count { reached: 0, wanted })
        .node("act", move |cx: Context<Count>| async move {
            let act = |_| async { Ok::<_, BoxError>(()) };
            cx.effect("act", class, &cx.state().reached, act).await?;
            Ok::<_, BoxError>(Tick)
        })
        .branch("act", ["act", END], |count| {
            if count.reached < count.wanted {
                "act"
            } else {
                END
            }
        })
        .build()
}

/// A worker for each item, and a join.
pub fn fan_out() -> Result<Graph<Tally>, BuildError> {
    Graph::<Tally>::starting_at("plan")
        .node("plan", async |_: Context<Tally>| {})
        .node("worker", async |cx: Context<Tally>| {
            let item: u64 = cx.item()?;
            Ok::<_, BoxError>(TallyUpdate::Square(item * item))
        })
        .node("join", async |cx: Context<Tally>| {
            TallyUpdate::Sum(cx.state().squares.iter().sum())
        })
        .scatter("plan", "worker", |tally| 0..tally.items)
        .edge("worker", "join")
        .edge("join", END)
        .build()
}

/// The same with a graph of two nodes as worker.
pub fn subgraph() -> Result<Graph<Tally>, BuildError> {
    let inner = Graph::<Number>::starting_at("square")
        .node("square", async |cx: Context<Number>| {
            Number(cx.state().0 * cx.state().0)
        })
        .node("keep", async |_: Context<Number>| {})
        .edge("square", "keep")
        .edge("keep", END)
        .build()?;
    Graph::<Tally>::starting_at("plan")
        .node("plan", async |_: Context<Tally>| {})
        .subgraph(
            "worker",
            &inner,
            |entering: SubgraphInput<'_, Tally>| Ok(Number(entering.item()?)),
            |_, number| TallyUpdate::Square(number.0),
        )
        .node("join", async |cx: Context<Tally>| {
            TallyUpdate::Sum(cx.state().squares.iter().sum())
        })
        .scatter("plan", "worker", |tally| 0..tally.items)
        .edge("worker", "join")
        .edge("join", END)
        .build()
}

/// Each subject goes through a graph of three nodes, of which the last comes ten times; and a join.
pub fn campaign() -> Result<Graph<Campaign>, BuildError> {
    let inner = Graph::<Slogan>::starting_at("edit")
        .node("edit", async |cx: Context<Slogan>| cx.state().edit())
        .node("generate", async |cx: Context<Slogan>| {
            cx.state().generate()
        })
        .node("bump", async |cx: Context<Slogan>| cx.state().bump())
        .edge("edit", "generate")
        .edge("generate", "bump")
        .branch("bump", ["bump", END], |slogan| {
            if slogan.is_over() { END } else { "bump" }
        })
        .build()?;
    Graph::<Campaign>::starting_at("plan")
        .node("plan", async |_: Context<Campaign>| {})
        .subgraph(
            "write",
            &inner,
            |entering: SubgraphInput<'_, Campaign>| Ok(Slogan::of(entering.item::<String>()?)),
            |_, slogan| CampaignUpdate::Slogan(slogan.text.clone()),
        )
        .node("join", async |cx: Context<Campaign>| {
            CampaignUpdate::Length(cx.state().slogans.iter().map(String::len).sum())
        })
        .scatter("plan", "write", |campaign| campaign.subjects.clone())
        .edge("write", "join")
        .edge("join", END)
        .build()
}

/// Six nodes in a circle, two of them at the same time.
pub fn ticket() -> Result<Graph<Ticket>, BuildError> {
    Graph::<Ticket>::starting_at("one")
        .node("one", async |cx: Context<Ticket>| cx.state().one())
        .node("two", async |cx: Context<Ticket>| cx.state().two())
        .node("three", async |cx: Context<Ticket>| cx.state().three())
        .node("four", async |cx: Context<Ticket>| cx.state().four())
        .node("five", async |cx: Context<Ticket>| cx.state().five())
        .node("six", async |cx: Context<Ticket>| cx.state().six())
        .edge("one", "two")
        .edge("two", "three")
        .edge("two", "four")
        .join(["three", "four"], "five")
        .edge("five", "six")
        .branch("six", ["one", END], |ticket| {
            if ticket.is_over() { END } else { "one" }
        })
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
