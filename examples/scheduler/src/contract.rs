//! The answers that the model must give at each stage: types, and the rules that a schema cannot
//! express.
use fugato::{
    llm::{Contract, Objections},
    state::PlanStep,
    state::say,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::ContextHook;

pub use fugato::llm::{
    Abort, ActionDecision as ExecutorDecision, ActionKind, ProposedCall as Call,
};

/// What a request is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// Whether it is only talk, or something to do.
    pub intent: IntentKind,
    /// The answer, if it is only talk and does not stand after the decision.
    #[serde(default)]
    pub reply: String,
}

/// The kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    /// Only talk.
    Chat,
    /// Something to do.
    Task,
}

/// What a planner says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDecision {
    /// What the person reads.
    #[serde(default)]
    pub speak: String,
    /// What happens next.
    pub action: PlanAction,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// How involved the request is.
    #[serde(default)]
    pub complexity: Complexity,
    /// Whether carrying it out needs thinking.
    #[serde(default)]
    pub need_thinking: bool,
    /// The steps, with `plan_done` only.
    #[serde(default)]
    pub plan_steps: Vec<PlanStep>,
    /// Whether pending items shall be placed by rule first.
    #[serde(default)]
    pub needs_rough_build: bool,
    /// The classes that the plan is about.
    #[serde(default)]
    pub task_class_ids: Vec<u32>,
    /// The tools with which execution begins.
    #[serde(default)]
    pub context_hook: Option<ContextHook>,
}

/// What a planner can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanAction {
    /// Go on planning.
    Continue,
    /// Ask the person.
    AskUser,
    /// The plan is ready.
    PlanDone,
}

/// How involved a request is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// One or two steps.
    Simple,
    /// A few steps.
    #[default]
    Moderate,
    /// It deserves a second, slower look.
    Complex,
}

/// Returns the contract of the classification.
pub fn intent() -> Contract<Intent> {
    Contract::new("intent")
}

/// Returns the contract of planning.
pub fn plan() -> Contract<PlanDecision> {
    Contract::new("plan").check(|plan: &PlanDecision, object: &mut Objections| {
        let steps = plan
            .plan_steps
            .iter()
            .filter(|step| !step.content.trim().is_empty())
            .count();
        match plan.action {
            PlanAction::PlanDone if steps == 0 => {
                object.push(
                    "/plan_steps",
                    say!(
                        "plan_done needs at least one step with content",
                        "plan_done 至少需要一个有内容的步骤"
                    ),
                );
            }
            PlanAction::Continue | PlanAction::AskUser if !plan.plan_steps.is_empty() => {
                object.push(
                    "/plan_steps",
                    say!(
                        "only plan_done may carry steps; leave them out",
                        "只有 plan_done 可以带步骤；请去掉"
                    ),
                );
            }
            PlanAction::AskUser if plan.speak.trim().is_empty() => {
                object.push(
                    "/speak",
                    say!(
                        "ask_user needs the question in speak",
                        "ask_user 需要在 speak 中写出问题"
                    ),
                );
            }
            _ => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sch_35_plan_done_needs_a_step_and_the_others_must_not_have_one() {
        assert!(
            plan()
                .read(r#"{"action": "plan_done", "plan_steps": [{"content": " "}]}"#)
                .is_err()
        );
        assert!(
            plan()
                .read(r#"{"action": "continue", "plan_steps": [{"content": "x"}]}"#)
                .is_err()
        );
        let ready = plan().read(r#"{"action": "plan_done", "plan_steps": [{"content": "x"}]}"#);
        assert_eq!(ready.unwrap().complexity, Complexity::Moderate);
    }
}
