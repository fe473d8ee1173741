//! The three graphs that understand: a model is asked, and rules decide if it does not.
use std::future::ready;

use fugato::{
    Context, END, Graph, agent::decision::DecisionUpdate, graph::BuildError, llm::AskRecord,
    state::Lang,
};

use crate::{
    action,
    deps::Deps,
    phase::Phase,
    service::{Deliberation, NextStepJudge, RequestPlanner, Slots, inquiry},
    state::{Intent, RuntimeDecision, SlotDecision},
};

/// Builds the graph that splits a request into tasks: `prepare_context → detect_model_intent → done
/// | off_topic | rule_fallback`, and the steps of each task before it answers.
pub fn planner(deps: &Deps) -> Result<Graph<Deliberation<Intent>>, BuildError> {
    let planner = inquiry(deps, RequestPlanner);
    let begins = match deps.model {
        Some(_) => Phase::Planning,
        None => Phase::Reading,
    };
    let steps = {
        let deps = deps.clone();
        move |cx: Context<Deliberation<Intent>>| ready(with_steps(&deps, cx.state()))
    };
    Graph::<Deliberation<Intent>>::starting_at("prepare_context")
        .node(
            "prepare_context",
            move |cx: Context<Deliberation<Intent>>| {
                cx.emit(begins.event(Lang::current()));
                ready(())
            },
        )
        .node("detect_model_intent", planner.by_model())
        .node("done", pass)
        .node("off_topic", async |_: Context<_>| {
            DecisionUpdate::from(Intent::off_topic())
        })
        .node("rule_fallback", planner.by_rules())
        .node("attach_action_steps", steps)
        .edge("prepare_context", "detect_model_intent")
        .branch(
            "detect_model_intent",
            ["done", "off_topic", "rule_fallback"],
            |state| topic(state, "done"),
        )
        .branch(
            "rule_fallback",
            ["attach_action_steps", "off_topic"],
            |state| topic(state, "attach_action_steps"),
        )
        .edge("done", "attach_action_steps")
        .edge("off_topic", END)
        .edge("attach_action_steps", END)
        .label("detect_model_intent", RequestPlanner::STAGE)
        .build()
}

/// Builds the graph that finds filled and missing fields: `slot_prepare_context →
/// slot_tool_decision → done | rule_fallback`. Words that were read before are not read again:
/// rules then judge the form alone.
pub fn slots(deps: &Deps) -> Result<Graph<Deliberation<SlotDecision>>, BuildError> {
    let slots = inquiry(deps, Slots);
    let reads = |state: &Deliberation<SlotDecision>| {
        let has_news = Slots::has_news(&state.situation);
        if has_news {
            "slot_tool_decision"
        } else {
            "rule_fallback"
        }
    };
    Graph::<Deliberation<SlotDecision>>::starting_at("slot_prepare_context")
        .node(
            "slot_prepare_context",
            async |cx: Context<Deliberation<_>>| {
                cx.emit(Phase::JudgingFields.event(Lang::current()));
            },
        )
        .node("slot_tool_decision", slots.by_model())
        .node("done", pass)
        .node("rule_fallback", slots.by_rules())
        .branch(
            "slot_prepare_context",
            ["slot_tool_decision", "rule_fallback"],
            reads,
        )
        .branch(
            "slot_tool_decision",
            ["done", "rule_fallback"],
            done_or("rule_fallback"),
        )
        .edge("done", END)
        .edge("rule_fallback", END)
        .build()
}

/// Builds the graph that finds the meaning of words for a plan that is under way:
/// `runtime_memory_context → runtime_action_decision`, and if the rules are not certain, `→
/// runtime_tool_decision → done | rule_fallback`.
pub fn runtime(deps: &Deps) -> Result<Graph<Deliberation<RuntimeDecision>>, BuildError> {
    let next = inquiry(deps, NextStepJudge);
    let asked = next.clone();
    let certain = move |cx: Context<Deliberation<RuntimeDecision>>| {
        let decided = asked.judge().certain(&cx.state().situation);
        ready(decided.map(|decision| DecisionUpdate {
            value: Some(decision),
            how: Some(AskRecord::by_rule()),
        }))
    };
    Graph::<Deliberation<RuntimeDecision>>::starting_at("runtime_memory_context")
        .node("runtime_memory_context", pass)
        .node("runtime_action_decision", certain)
        .node("runtime_tool_decision", next.by_model())
        .node("done", pass)
        .node("rule_fallback", next.by_rules())
        .edge("runtime_memory_context", "runtime_action_decision")
        .branch(
            "runtime_action_decision",
            ["done", "runtime_tool_decision"],
            done_or("runtime_tool_decision"),
        )
        .branch(
            "runtime_tool_decision",
            ["done", "rule_fallback"],
            done_or("rule_fallback"),
        )
        .edge("done", END)
        .edge("rule_fallback", END)
        .build()
}

/// Does nothing: its node only has a name, for traces of the request.
async fn pass<T>(_: Context<Deliberation<T>>) {}

/// Returns the next node: `done` if the decision is made, or else this one.
fn done_or<T>(otherwise: &'static str) -> impl Fn(&Deliberation<T>) -> &'static str {
    move |state| state.value.as_ref().map_or(otherwise, |_| "done")
}

fn topic(state: &Deliberation<Intent>, done: &'static str) -> &'static str {
    match &state.value {
        None => "rule_fallback",
        Some(intent) if intent.off_topic => "off_topic",
        Some(_) => done,
    }
}

/// Steps are made here, from the form and the goal: no model names one.
fn with_steps(deps: &Deps, state: &Deliberation<Intent>) -> Option<DecisionUpdate<Intent>> {
    let mut intent = state.value.clone()?;
    action::attach(deps, &mut intent.tasks);
    Some(DecisionUpdate::from(intent))
}
