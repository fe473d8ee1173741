//! The runtime-decision graph: what words mean for a plan that is under way.
use async_trait::async_trait;
use fugato::{BoxError, Context, END, Graph, Node, Outcome, graph::BuildError};

use crate::{
    deps::Deps,
    service::NextStep,
    state::{RuntimeDecision, Source},
    thinking::{ByRules, Thinking, Thought, by_model, decided},
};

type State = Thinking<RuntimeDecision>;

/// `runtime_memory_context → runtime_action_decision`, and only where that is not certain
/// `→ runtime_tool_decision → done | rule_fallback`.
pub fn runtime(deps: &Deps) -> Result<Graph<State>, BuildError> {
    let service = deps.next_step();
    Graph::<State>::starting_at("runtime_memory_context")
        .node("runtime_memory_context", async |_: Context<State>| {})
        .node("runtime_action_decision", Certain(service.clone()))
        .node(
            "runtime_tool_decision",
            by_model(service.clone(), deps.model.clone()),
        )
        .node("done", async |_: Context<State>| {})
        .node("rule_fallback", ByRules(service))
        .edge("runtime_memory_context", "runtime_action_decision")
        .branch(
            "runtime_action_decision",
            ["done", "runtime_tool_decision"],
            decided("done", "runtime_tool_decision"),
        )
        .branch(
            "runtime_tool_decision",
            ["done", "rule_fallback"],
            decided("done", "rule_fallback"),
        )
        .edge("done", END)
        .edge("rule_fallback", END)
        .build()
}

/// Decides what is certain, before any model is asked.
struct Certain(NextStep);

#[async_trait]
impl Node<State> for Certain {
    async fn run(&self, cx: Context<State>) -> Result<Outcome<Thought<RuntimeDecision>>, BoxError> {
        let decided = self.0.certain(&cx.state().situation);
        Ok(Outcome::done(decided.map(|decision| {
            Thought::Decided(decision, Some(Source::Rule))
        })))
    }
}
