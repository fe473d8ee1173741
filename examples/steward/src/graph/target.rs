//! The whole graph, with the others in it; and the legacy path in the same surroundings.
use fugato::{
    END, Graph,
    agent::fallback::FallbackChain,
    graph::{BoxError, GraphBuilder, SubgraphInput},
};
use serde_json::json;

use super::{action as action_graph, planner, runtime, slots};
use crate::{
    action,
    deps::Deps,
    legacy::Sequence,
    nodes::{self, CardReply},
    service::{Deliberation, Situation},
    state::{Flow, GraphOutput, RequestKind, Runtime, RuntimeDecision, Steward, Update},
};

/// Builds the graph `prepare_context → model_intent → slot_decision → (runtime_decision) →
/// flow_guard → action_plan → human_review → action_execute → persist_state → response_adapter`.
pub fn target(deps: &Deps) -> Result<Graph<Steward>, BoxError> {
    let guard = FallbackChain::<Steward>::new("flow_guard", nodes::Guard(deps.clone()))
        .or_rule("cautious", nodes::cautious);
    let understood =
        |_: &Steward, inner: &Deliberation<_>| inner.updates(Update::Judged, Update::Understood);
    let filled =
        |_: &Steward, inner: &Deliberation<_>| inner.updates(Update::Judged, Update::Filled);
    let decided =
        |_: &Steward, inner: &Deliberation<_>| inner.updates(Update::Judged, Update::Decided);
    let graph = Graph::<Steward>::starting_at("prepare_context")
        .node("prepare_context", nodes::Prepare::new(deps, Runtime::Graph))
        .subgraph("model_intent", &planner(deps)?, about(), understood)
        .subgraph("slot_decision", &slots(deps)?, about(), filled)
        .subgraph("runtime_decision", &runtime(deps)?, about(), decided)
        .node("flow_guard", guard)
        .branch("prepare_context", BEGINS, begins)
        .branch(
            "model_intent",
            ["slot_decision", "response_adapter"],
            after_intent,
        )
        .branch("runtime_decision", DECIDES, after_decision)
        .branch(
            "slot_decision",
            ["flow_guard", "persist_state"],
            after_slots,
        )
        .branch("flow_guard", ["action_plan", "persist_state"], after_guard);
    Ok(actions(graph, deps, "runtime_decision", "slot_decision")?.build()?)
}

/// Builds the graph with the plain sequence in place of the graphs that understand; the nodes that
/// act are the same.
#[deprecated(
    since = "0.1.0",
    note = "it goes when the graphs have been the default for one release, and no conversation of \
            that release has fallen back to it: count the log lines `legacy path`"
)]
pub fn legacy(deps: &Deps) -> Result<Graph<Steward>, BoxError> {
    let prepare = nodes::Prepare::new(deps, Runtime::Legacy);
    let begins = |state: &Steward| match begins(state) {
        acts @ ("action_plan" | "persist_state") => acts,
        _ => "legacy",
    };
    let after = |state: &Steward| {
        if state.is_pending() {
            return "human_review";
        }
        after_guard(state)
    };
    let graph = Graph::<Steward>::starting_at("prepare_context")
        .node("prepare_context", prepare)
        .node("legacy", Sequence::new(deps.clone()))
        .branch(
            "prepare_context",
            ["legacy", "action_plan", "persist_state"],
            begins,
        )
        .branch(
            "legacy",
            ["human_review", "action_plan", "persist_state"],
            after,
        );
    Ok(actions(graph, deps, "legacy", "legacy")?.build()?)
}

/// Adds the nodes that act. Words that do not answer a card go to `on_words`, and another task
/// begins at `next_task`.
fn actions(
    graph: GraphBuilder<Steward>,
    deps: &Deps,
    on_words: &'static str,
    next_task: &'static str,
) -> Result<GraphBuilder<Steward>, BoxError> {
    let toolbox = action::toolbox(deps)?;
    let (plan, _) = action::sequences(toolbox.clone()).into_nodes();
    let acts = move |state: &Steward| {
        if state.actions.end.is_some() {
            "persist_state"
        } else if action_graph::waits(&toolbox, state) {
            "human_review"
        } else {
            "action_execute"
        }
    };
    let reviewed = move |state: &Steward| {
        if state.approval.is_some() {
            "action_execute"
        } else if state.actions.end.is_some() {
            "persist_state"
        } else {
            on_words
        }
    };
    let persisted = move |state: &Steward| {
        if has_next(state) {
            return next_task;
        }
        "response_adapter"
    };
    let desk = deps.desk.clone();
    let shown = move |state: &Steward| nodes::question(&desk, state);
    let answered = |state: &Steward, reply: CardReply| nodes::answered(state, &reply);
    let same = |entering: SubgraphInput<'_, Steward>| Ok::<_, BoxError>(entering.state().clone());
    let back = |_: &Steward, inner: &Steward| GraphOutput::of(inner, inner.action_result.clone());
    Ok(graph
        .node("action_plan", plan)
        .approval("human_review", shown, answered)
        .subgraph("action_execute", &action_graph::action(deps)?, same, back)
        .node("persist_state", nodes::persist)
        .node("response_adapter", nodes::Respond(deps.clone()))
        .branch("action_plan", ACTS, acts.clone())
        .branch("action_execute", ACTS, acts)
        .branch(
            "human_review",
            ["action_execute", "persist_state", on_words],
            reviewed,
        )
        .branch("persist_state", ["response_adapter", next_task], persisted)
        .edge("response_adapter", END)
        .output(|state: &Steward| json!(state.response)))
}

fn about<T>() -> impl Fn(SubgraphInput<'_, Steward>) -> Result<Deliberation<T>, BoxError> {
    |entering| Ok(Deliberation::about(Situation::of(entering.state())))
}

const BEGINS: [&str; 5] = [
    "model_intent",
    "slot_decision",
    "runtime_decision",
    "action_plan",
    "persist_state",
];
const DECIDES: [&str; 4] = [
    "human_review",
    "model_intent",
    "slot_decision",
    "persist_state",
];
const ACTS: [&str; 3] = ["human_review", "action_execute", "persist_state"];

/// Returns the node at which a request begins.
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

fn after_intent(state: &Steward) -> &'static str {
    match &state.intent_result {
        Some(intent) if !intent.off_topic => "slot_decision",
        _ => "response_adapter",
    }
}

fn after_decision(state: &Steward) -> &'static str {
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

/// Returns the node after the slots: a request for a judgement alone ends here.
fn after_slots(state: &Steward) -> &'static str {
    match state.kind() {
        Some(RequestKind::Slots { .. } | RequestKind::Decide) => "persist_state",
        _ => "flow_guard",
    }
}

fn after_guard(state: &Steward) -> &'static str {
    let acts = state.is_chat() && state.flow == Some(Flow::Pass) && state.actions.request.is_some();
    if acts { "action_plan" } else { "persist_state" }
}

/// Returns true if a task was just completed in a conversation that has another open task.
fn has_next(state: &Steward) -> bool {
    let result = state.action_result.as_ref();
    let done = result.is_some_and(|result| result.outcome == "succeeded");
    // A request that has been judged does not begin another task.
    state.is_chat() && done && state.flow.is_none() && state.steward_state.current().is_some()
}
