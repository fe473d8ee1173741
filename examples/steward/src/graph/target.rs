//! The whole graph, with the others in it.
use fugato::{
    Context, END, Graph,
    agent::fallback::{FallbackChain, FallbackStep},
    graph::{BoxError, GraphBuilder, SubgraphInput},
    state::State as _,
};
use serde_json::json;

use super::{action as action_graph, planner, runtime, slots};
use crate::{
    action,
    answer::answer,
    card::{self, CardReply},
    deps::Deps,
    intake::prepared,
    service::{Deliberation, Situation},
    settle::keep,
    state::{Flow, GraphOutput, RequestKind, Runtime, RuntimeDecision, Steward, Update},
    verdict::flow,
};

/// Builds the graph `prepare_context → model_intent → slot_decision → (runtime_decision) →
/// flow_guard → action_plan → human_review → action_execute → persist_state → response_adapter`.
pub fn target(deps: &Deps) -> Result<Graph<Steward>, BoxError> {
    let prepare = {
        let deps = deps.clone();
        move |cx: Context<Steward>| {
            let deps = deps.clone();
            async move { prepared(&deps, &cx, Runtime::Graph).await }
        }
    };
    let guard = {
        let deps = deps.clone();
        move |cx: Context<Steward>| {
            let deps = deps.clone();
            async move { flow(&deps, cx.state()).await }
        }
    };
    let guard = FallbackChain::<Steward>::new("flow_guard", guard).or_rule("cautious", cautious);
    let understood =
        |_: &Steward, inner: &Deliberation<_>| inner.updates(Update::Judged, Update::Understood);
    let filled =
        |_: &Steward, inner: &Deliberation<_>| inner.updates(Update::Judged, Update::Filled);
    let decided =
        |_: &Steward, inner: &Deliberation<_>| inner.updates(Update::Judged, Update::Decided);
    let graph = Graph::<Steward>::starting_at("prepare_context")
        .node("prepare_context", prepare)
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
    Ok(actions(graph, deps)?.build()?)
}

/// Adds the nodes that act.
fn actions(graph: GraphBuilder<Steward>, deps: &Deps) -> Result<GraphBuilder<Steward>, BoxError> {
    let toolbox = action::toolbox(deps)?;
    let (plan, _) = action::sequences(toolbox.clone()).into_nodes();
    let acts = move |state: &Steward| {
        if state.actions.end.is_some() {
            "persist_state"
        } else if action::waits(&toolbox, state) {
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
            "prepare_context"
        }
    };
    let persisted = |state: &Steward| {
        if state.has_next() {
            return "slot_decision";
        }
        "response_adapter"
    };
    let desk = deps.desk.clone();
    let shown = move |state: &Steward| card::question(&desk, state);
    let desk = deps.desk.clone();
    let answered = move |state: &Steward, reply: CardReply| card::answered(&desk, state, &reply);
    let respond = {
        let deps = deps.clone();
        move |cx: Context<Steward>| {
            let deps = deps.clone();
            async move { answer(&deps, &cx).await }
        }
    };
    let same = |entering: SubgraphInput<'_, Steward>| Ok::<_, BoxError>(entering.state().clone());
    let back = |_: &Steward, inner: &Steward| GraphOutput::of(inner, inner.action_result.clone());
    Ok(graph
        .node("action_plan", plan)
        .approval("human_review", shown, answered)
        .subgraph("action_execute", &action_graph(deps)?, same, back)
        .node("persist_state", keep)
        .node("response_adapter", respond)
        .branch("action_plan", ACTS, acts.clone())
        .branch("action_execute", ACTS, acts)
        .branch(
            "human_review",
            ["action_execute", "persist_state", "prepare_context"],
            reviewed,
        )
        .branch(
            "persist_state",
            ["response_adapter", "slot_decision"],
            persisted,
        )
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
    if state.may_act() {
        "action_plan"
    } else {
        "persist_state"
    }
}

/// Blocks the plan if the documents cannot be looked up.
fn cautious(state: &Steward, falls: &[FallbackStep]) -> Vec<Update> {
    let reason = falls.last().map(|fall| fall.reason.clone());
    let why = state.lang().pick(
        "what there is already cannot be looked up now",
        "现在查不到已有的单据",
    );
    let why = why.to_owned();
    let noted = Update::Noted {
        fallback_reason: reason.unwrap_or_default(),
    };
    vec![Update::Guarded(Flow::Block { why }), noted]
}
