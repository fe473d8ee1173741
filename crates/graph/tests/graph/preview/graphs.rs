//! The graph of the program that began the threads, and its mutations.
use std::time::Duration;

use fugato_graph::{
    BoxError, Context, END, Effect, Graph, GraphBuilder, NodePolicy, Outcome, SubgraphInput,
};
use fugato_state::Question;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::states::{Inner, TestState};

/// The standings in which threads are left, each by the node to which they are routed.
pub(crate) const KINDS: [&str; 12] = [
    "ask", "allow", "midway", "send", "flaky", "open", "size", "sub", "plan", "after", "broken",
    "timed",
];

/// The mutations of the graph. `Same` is the program that began the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GraphShape {
    Same,
    NodeAdded,
    AskRenamed,
    AskFollowed,
    AskRemoved,
    AskIsNode,
    EdgeRemoved,
    JoinRenamed,
    JoinFollowed,
    JoinRemoved,
    SubgraphIsNode,
    InsideRenamed,
    WorkerRenamed,
    FlakyRemoved,
    SendFollowed,
    MidwayIsPause,
    AnswerDescribed,
    AnswerWithOptional,
    AnswerWithRequired,
    AnswerOfOtherType,
    OtherApproval,
}

/// The answer to `ask`.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Choice {
    yes: bool,
}

/// The same, with a description and under another name.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Decision {
    /// True if the person wants it.
    yes: bool,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct OptionalReason {
    yes: bool,
    why: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct RequiredReason {
    yes: bool,
    why: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct InWords {
    yes: String,
}

/// Returns the graph of a program.
pub(crate) fn graph<S: TestState, I: Inner>(wiring: GraphShape) -> Graph<S> {
    let name = |old: &'static str| new_name(wiring, old);
    let kinds = KINDS.iter().map(|kind| name(kind));
    let kinds: Vec<_> = kinds.filter(|kind| !is_removed(wiring, kind)).collect();
    let to = kinds.clone();
    let route = move |test_state: &S| {
        let known = to.iter().find(|kind| old_name(kind) == test_state.kind());
        known.copied().unwrap_or("after")
    };
    let mut graph = Graph::<S>::starting_at("route")
        .node("route", async |_: Context<S>| S::line("route"))
        .branch("route", kinds, route)
        .node("after", async |_: Context<S>| S::line("after"));
    graph = match wiring {
        GraphShape::NodeAdded => {
            let graph = graph.node("added", async |_: Context<S>| S::line("added"));
            graph.edge("after", "added").edge("added", END)
        }
        _ => graph.edge("after", END),
    };
    graph = asks(graph, wiring);
    graph = works(graph, wiring);
    graph = joins(graph, wiring);
    graph = spreads::<S, I>(graph, wiring);
    for (followed, old) in [
        (GraphShape::AskFollowed, "ask"),
        (GraphShape::JoinFollowed, "left"),
        (GraphShape::SendFollowed, "send"),
    ] {
        if wiring == followed {
            graph = graph.renamed(old, name(old));
        }
    }
    graph.build().expect("the wiring keeps the rules")
}

fn is_removed(wiring: GraphShape, name: &str) -> bool {
    matches!(
        (wiring, name),
        (GraphShape::AskRemoved, "ask") | (GraphShape::FlakyRemoved, "flaky")
    )
}

fn new_name(wiring: GraphShape, old: &'static str) -> &'static str {
    match (wiring, old) {
        (GraphShape::AskRenamed | GraphShape::AskFollowed, "ask") => "question",
        (GraphShape::JoinRenamed | GraphShape::JoinFollowed, "left") => "first",
        (GraphShape::WorkerRenamed, "worker") => "labourer",
        (GraphShape::InsideRenamed, "within") => "inwards",
        (GraphShape::SendFollowed, "send") => "deliver",
        _ => old,
    }
}

fn old_name(new: &str) -> &str {
    match new {
        "question" => "ask",
        "deliver" => "send",
        _ => new,
    }
}

/// Adds the nodes that ask a person.
fn asks<S: TestState>(graph: GraphBuilder<S>, wiring: GraphShape) -> GraphBuilder<S> {
    let ask = new_name(wiring, "ask");
    let said = |yes: bool| S::line(if yes { "yes" } else { "no" });
    let sure = |_: &S| "sure?";
    let graph = match wiring {
        GraphShape::AskRemoved => graph,
        GraphShape::AskIsNode => graph.node(ask, async |_: Context<S>| S::line("no question")),
        GraphShape::AnswerDescribed => graph.pause(ask, sure, move |_, it: Decision| said(it.yes)),
        GraphShape::AnswerWithOptional => {
            graph.pause(ask, sure, move |_, it: OptionalReason| said(it.yes))
        }
        GraphShape::AnswerWithRequired => {
            graph.pause(ask, sure, move |_, it: RequiredReason| said(it.yes))
        }
        GraphShape::AnswerOfOtherType => {
            graph.pause(ask, sure, move |_, it: InWords| S::line(&it.yes))
        }
        _ => graph.pause(ask, sure, move |_, it: Choice| said(it.yes)),
    };
    let graph = match wiring {
        GraphShape::AskRemoved => graph,
        GraphShape::EdgeRemoved => graph.edge(ask, END),
        _ => graph.edge(ask, "after"),
    };
    let more = if wiring == GraphShape::OtherApproval {
        "everything"
    } else {
        ""
    };
    let shown = move |test_state: &S| format!("delete {} {more}", test_state.total());
    let graph = graph.approval("allow", shown, move |_, yes: bool| said(yes));
    let graph = match wiring {
        GraphShape::MidwayIsPause => {
            graph.pause("midway", |_| "how many?", |_, n: u32| S::plus(n.into()))
        }
        _ => graph.node("midway", async |cx: Context<S>| {
            Ok::<_, BoxError>(match cx.answer::<u32>("n")? {
                Some(n) => Outcome::done([S::plus(n.into())]),
                None => Outcome::ask(Question::new::<u32>("n", "how many?")),
            })
        }),
    };
    let silence = |_: &S| vec![S::line("silence")];
    graph
        .pause_for(
            "timed",
            Duration::from_secs(5),
            sure,
            move |_, yes: bool| said(yes),
            Some(Box::new(silence)),
        )
        .edge("allow", "after")
        .edge("midway", "after")
        .edge("timed", "after")
}

/// Adds the nodes that act, fail, and are tried again.
fn works<S: TestState>(graph: GraphBuilder<S>, wiring: GraphShape) -> GraphBuilder<S> {
    let send = new_name(wiring, "send");
    let graph = graph
        .node(send, async |cx: Context<S>| {
            let act = |_| async { Err::<String, _>("connection reset") };
            let effect = Effect::once().timeout(Duration::from_secs(1));
            let line = cx.effect("mail", effect, &"to all", act).await?;
            Ok(S::line(&line))
        })
        .edge(send, "after")
        .node("broken", async |_: Context<S>| {
            Err::<S::Update, BoxError>("boom".into())
        })
        .edge("broken", "after");
    if wiring == GraphShape::FlakyRemoved {
        return graph;
    }
    let minute = Duration::from_secs(60);
    let policy = NodePolicy::default().attempts(3).backoff(minute, minute);
    graph
        .node("flaky", async |_: Context<S>| {
            Err::<S::Update, BoxError>("boom".into())
        })
        .policy("flaky", policy)
        .edge("flaky", "after")
}

/// Adds two ways that meet, one of which asks, and two questions at once.
fn joins<S: TestState>(graph: GraphBuilder<S>, wiring: GraphShape) -> GraphBuilder<S> {
    let left = new_name(wiring, "left");
    let line = |text: &'static str| move |_: Context<S>| std::future::ready(S::line(text));
    let graph = graph
        .node("open", line("open"))
        .node(left, line("left"))
        .node("right", line("right"))
        .pause("late", |_| "late?", |_, _: bool| S::line("late"))
        .node("meet", line("meet"))
        .edge("open", left)
        .edge("open", "right")
        .edge("right", "late")
        .edge("meet", END);
    let graph = match wiring {
        GraphShape::JoinRemoved => graph.edge(left, "meet").edge("late", "meet"),
        _ => graph.join([left, "late"], "meet"),
    };
    graph
        .node("size", line("size"))
        .pause("width", |_| "how wide?", |_, n: u8| S::plus(n.into()))
        .pause(
            "colour",
            |_| "which?",
            |_, it: Option<String>| S::line(&it.unwrap_or_default()),
        )
        .edge("size", "width")
        .edge("size", "colour")
        .join(["width", "colour"], "both")
        .node("both", line("both"))
        .edge("both", END)
}

/// Adds a scatter whose workers ask, and a subgraph that asks.
fn spreads<S: TestState, I: Inner>(graph: GraphBuilder<S>, wiring: GraphShape) -> GraphBuilder<S> {
    let (worker, within) = (new_name(wiring, "worker"), new_name(wiring, "within"));
    let graph = graph
        .node("plan", async |_: Context<S>| S::line("plan"))
        .scatter("plan", worker, |_| 0..3_u32)
        .node(worker, async |cx: Context<S>| {
            let odd = cx.item::<u32>()? % 2 == 1;
            Ok::<_, BoxError>(match cx.answer::<bool>("ok")? {
                None if odd => Outcome::ask(Question::new::<bool>("ok", "ok?")),
                _ => Outcome::done([S::line("worked")]),
            })
        })
        .edge(worker, "after")
        .edge("sub", "after");
    if wiring == GraphShape::SubgraphIsNode {
        return graph.node("sub", async |_: Context<S>| S::line("no subgraph"));
    }
    let inner = Graph::<I>::starting_at("begin")
        .node("begin", async |_: Context<I>| I::number(1))
        .pause(within, |_| "how many?", |_, n: u32| I::number(n))
        .edge("begin", within)
        .edge(within, END)
        .build()
        .expect("the wiring keeps the rules");
    let enter = |_: SubgraphInput<'_, S>| Ok::<_, BoxError>(I::default());
    graph.subgraph("sub", &inner, enter, |_, _: &I| S::line("sub"))
}
