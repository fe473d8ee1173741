//! The slot graph: what is filled in, and what is missing.
use fugato::{Context, END, Graph, graph::BuildError};

use crate::{
    deps::Deps,
    service::Slots,
    state::SlotDecision,
    thinking::{ByRules, Thinking, by_model, decided, phase},
};

type State = Thinking<SlotDecision>;

/// `slot_prepare_context → slot_tool_decision → done | rule_fallback`. Words that were read before
/// are not read again: then the form alone is judged, by rule.
pub fn slots(deps: &Deps) -> Result<Graph<State>, BuildError> {
    let service = deps.slots();
    let after_prepare = |state: &State| {
        if Slots::has_news(&state.situation) {
            "slot_tool_decision"
        } else {
            "rule_fallback"
        }
    };
    Graph::<State>::starting_at("slot_prepare_context")
        .node("slot_prepare_context", async |cx: Context<State>| {
            cx.emit(phase("judging_fields"));
        })
        .node(
            "slot_tool_decision",
            by_model(service.clone(), deps.model.clone()),
        )
        .node("done", async |_: Context<State>| {})
        .node("rule_fallback", ByRules(service))
        .branch(
            "slot_prepare_context",
            ["slot_tool_decision", "rule_fallback"],
            after_prepare,
        )
        .branch(
            "slot_tool_decision",
            ["done", "rule_fallback"],
            decided("done", "rule_fallback"),
        )
        .edge("done", END)
        .edge("rule_fallback", END)
        .build()
}
