//! The whole graph, with the others in it; and the legacy path in the same surroundings.
use fugato::{
    END, Graph,
    agent::{FallbackChain, Toolbox},
    graph::{BoxError, Entering, GraphBuilder},
};
use serde_json::json;

use super::{action as action_graph, planner, runtime, slots};
use crate::{
    action,
    deps::Deps,
    legacy::Sequence,
    nodes::{self, Reply},
    service::Situation,
    state::{Flow, RequestKind, Returned, Runtime, RuntimeDecision, Steward, Update},
    thinking::Thinking,
};

/// `prepare_context → model_intent → slot_decision → (runtime_decision) → flow_guard → action_plan →
/// human_review → action_execute → persist_state → response_adapter`.
pub fn target(deps: &Deps) -> Result<Graph<Steward>, BoxError> {
    let guard = FallbackChain::<Steward>::new("flow_guard", nodes::Guard(deps.clone()))
        .or_rule("cautious", nodes::cautious);
    let graph = Graph::<Steward>::starting_at("prepare_context")
        .node("prepare_context", nodes::Prepare::new(deps, Runtime::Graph))
        .subgraph(
            "model_intent",
            &planner(deps)?,
            about(),
            |_: &Steward, inner| inner.tells(Update::Understood),
        )
        .subgraph(
            "slot_decision",
            &slots(deps)?,
            about(),
            |_: &Steward, inner| inner.tells(Update::Filled),
        )
        .subgraph(
            "runtime_decision",
            &runtime(deps)?,
            about(),
            |_: &Steward, inner| inner.tells(Update::Decided),
        )
        .node("flow_guard", guard)
        .branch(
            "prepare_context",
            [
                "model_intent",
                "slot_decision",
                "runtime_decision",
                "action_plan",
                "persist_state",
            ],
            begins,
        )
        .branch(
            "model_intent",
            ["slot_decision", "response_adapter"],
            |state: &Steward| {
                let off_topic = state
                    .intent_result
                    .as_ref()
                    .is_none_or(|intent| intent.off_topic);
                if off_topic {
                    "response_adapter"
                } else {
                    "slot_decision"
                }
            },
        )
        .branch(
            "runtime_decision",
            [
                "human_review",
                "model_intent",
                "slot_decision",
                "persist_state",
            ],
            decided,
        )
        .branch(
            "slot_decision",
            ["flow_guard", "persist_state"],
            |state: &Steward| {
                if acts_never(state) {
                    "persist_state"
                } else {
                    "flow_guard"
                }
            },
        )
        .branch("flow_guard", ["action_plan", "persist_state"], guarded);
    let graph = actions(
        graph,
        deps,
        &Around {
            on_words: "runtime_decision",
            next_task: "slot_decision",
        },
    )?;
    Ok(graph.build()?)
}

/// The plain sequence in place of the graphs that understand; what acts is the same.
#[deprecated(
    since = "0.1.0",
    note = "it goes when the graphs have been the default for one release, and no conversation of \
            that release has fallen back to it: count the log lines `legacy path`"
)]
pub fn legacy(deps: &Deps) -> Result<Graph<Steward>, BoxError> {
    let graph = Graph::<Steward>::starting_at("prepare_context")
        .node(
            "prepare_context",
            nodes::Prepare::new(deps, Runtime::Legacy),
        )
        .node("legacy", Sequence::new(deps.clone()))
        .branch(
            "prepare_context",
            ["legacy", "action_plan", "persist_state"],
            |state: &Steward| match begins(state) {
                acts @ ("action_plan" | "persist_state") => acts,
                _ => "legacy",
            },
        )
        .branch(
            "legacy",
            ["human_review", "action_plan", "persist_state"],
            |state: &Steward| {
                if state.is_pending() {
                    "human_review"
                } else {
                    guarded(state)
                }
            },
        );
    let graph = actions(
        graph,
        deps,
        &Around {
            on_words: "legacy",
            next_task: "legacy",
        },
    )?;
    Ok(graph.build()?)
}

/// What lies around the half that acts.
struct Around {
    /// Where words go that are no answer to a card.
    on_words: &'static str,
    /// Where the next task begins.
    next_task: &'static str,
}

/// The half that acts.
fn actions(
    graph: GraphBuilder<Steward>,
    deps: &Deps,
    around: &Around,
) -> Result<GraphBuilder<Steward>, BoxError> {
    let toolbox: Toolbox<Steward> = action::toolbox(deps)?;
    let (plan, _) = action::sequences(toolbox.clone()).into_nodes();
    let waits = action_graph::waits(&toolbox);
    let acts = move |state: &Steward| {
        if state.actions.end.is_some() {
            "persist_state"
        } else if waits(state) {
            "human_review"
        } else {
            "action_execute"
        }
    };
    let (on_words, next_task) = (around.on_words, around.next_task);
    let shown = {
        let desk = deps.desk.clone();
        move |state: &Steward| nodes::question(&desk, state)
    };
    let answered = |state: &Steward, reply: Reply| nodes::answered(state, &reply);
    let same = |entering: Entering<'_, Steward>| Ok::<_, BoxError>(entering.state().clone());
    Ok(graph
        .node("action_plan", plan)
        .approval("human_review", shown, answered)
        .subgraph(
            "action_execute",
            &action_graph::action(deps)?,
            same,
            |_: &Steward, inner: &Steward| Returned::of(inner, inner.action_result.clone()),
        )
        .node("persist_state", nodes::persist)
        .node("response_adapter", nodes::Respond(deps.desk.clone()))
        .branch(
            "action_plan",
            ["human_review", "action_execute", "persist_state"],
            acts.clone(),
        )
        .branch(
            "action_execute",
            ["human_review", "action_execute", "persist_state"],
            acts,
        )
        .branch(
            "human_review",
            ["action_execute", "persist_state", on_words],
            move |state: &Steward| {
                if state.approval.is_some() {
                    "action_execute"
                } else if state.actions.end.is_some() {
                    "persist_state"
                } else {
                    on_words
                }
            },
        )
        .branch(
            "persist_state",
            ["response_adapter", next_task],
            move |state: &Steward| {
                if has_next(state) {
                    next_task
                } else {
                    "response_adapter"
                }
            },
        )
        .edge("response_adapter", END)
        .output(|state: &Steward| json!(state.response)))
}

fn about<T>() -> impl Fn(Entering<'_, Steward>) -> Result<Thinking<T>, BoxError> {
    |entering| Ok(Thinking::about(Situation::of(entering.state())))
}

/// Where a request begins.
fn begins(state: &Steward) -> &'static str {
    match state.kind() {
        Some(RequestKind::Slots { .. }) => "slot_decision",
        Some(RequestKind::Decide) => "runtime_decision",
        Some(RequestKind::Execute { .. }) if state.actions.end.is_some() => "persist_state",
        Some(RequestKind::Execute { .. }) => "action_plan",
        // Words that come to a plan may be about it.
        Some(RequestKind::Chat) if state.steward_state.current().is_some() => "runtime_decision",
        _ => "model_intent",
    }
}

fn decided(state: &Steward) -> &'static str {
    match (&state.runtime_decision, state.is_chat()) {
        (Some(RuntimeDecision::Confirm | RuntimeDecision::Unclear), true) if state.is_pending() => {
            "human_review"
        }
        (Some(RuntimeDecision::NewRequest), true) => "model_intent",
        (Some(RuntimeDecision::Supplement { .. }), _)
        | (Some(RuntimeDecision::Next | RuntimeDecision::Confirm), true) => "slot_decision",
        _ => "persist_state",
    }
}

fn guarded(state: &Steward) -> &'static str {
    let acts = state.is_chat() && state.flow == Some(Flow::Pass) && state.actions.request.is_some();
    if acts { "action_plan" } else { "persist_state" }
}

/// Whether only a judgement is asked for.
fn acts_never(state: &Steward) -> bool {
    let kind = state.kind();
    matches!(kind, Some(RequestKind::Slots { .. } | RequestKind::Decide))
}

/// Whether a task was just done in a conversation in which another one waits.
fn has_next(state: &Steward) -> bool {
    let done = state
        .action_result
        .as_ref()
        .is_some_and(|result| result.outcome == "succeeded");
    // Whoever was judged is not begun again.
    state.is_chat() && done && state.flow.is_none() && state.steward_state.current().is_some()
}
