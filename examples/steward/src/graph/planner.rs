//! The planner graph: what a request means.
use async_trait::async_trait;
use fugato::{BoxError, Context, END, Graph, Node, Outcome, graph::BuildError};

use crate::{
    action,
    deps::Deps,
    service::Service as _,
    state::Intent,
    thinking::{ByRules, Thinking, Thought, by_model, phase},
};

type State = Thinking<Intent>;

/// `prepare_context → detect_model_intent → done | off_topic | rule_fallback`, and the steps of
/// each task before it answers.
pub fn planner(deps: &Deps) -> Result<Graph<State>, BuildError> {
    let service = deps.planner();
    let after_model = |state: &State| match &state.value {
        None => "rule_fallback",
        Some(intent) if intent.off_topic => "off_topic",
        Some(_) => "done",
    };
    let after_rules = |state: &State| {
        let off_topic = state.value.as_ref().is_some_and(|intent| intent.off_topic);
        if off_topic {
            "off_topic"
        } else {
            "attach_action_steps"
        }
    };
    Graph::<State>::starting_at("prepare_context")
        .node("prepare_context", async |cx: Context<State>| {
            cx.emit(phase("planning"));
        })
        .node(
            "detect_model_intent",
            by_model(service.clone(), deps.model.clone()),
        )
        .node("done", async |_: Context<State>| {})
        .node("off_topic", off_topic)
        .node("rule_fallback", ByRules(service))
        .node("attach_action_steps", AttachSteps(deps.clone()))
        .edge("prepare_context", "detect_model_intent")
        .branch(
            "detect_model_intent",
            ["done", "off_topic", "rule_fallback"],
            after_model,
        )
        .branch(
            "rule_fallback",
            ["attach_action_steps", "off_topic"],
            after_rules,
        )
        .edge("done", "attach_action_steps")
        .edge("off_topic", END)
        .edge("attach_action_steps", END)
        .label("detect_model_intent", crate::service::Planner::STAGE)
        .build()
}

/// What is about something else has no tasks, whatever a model has made of it.
async fn off_topic(cx: Context<State>) -> Thought<Intent> {
    let intent = Intent {
        off_topic: true,
        tasks: vec![],
    };
    Thought::Decided(intent, cx.state().source)
}

/// Steps are made here, from the form and the goal: no model names one.
struct AttachSteps(Deps);

#[async_trait]
impl Node<State> for AttachSteps {
    async fn run(&self, cx: Context<State>) -> Result<Outcome<Thought<Intent>>, BoxError> {
        let state = cx.state();
        let mut intent = state.value.clone().ok_or("nothing is planned")?;
        action::attach(&self.0, &mut intent.tasks);
        Ok(Outcome::done([Thought::Decided(intent, state.source)]))
    }
}
