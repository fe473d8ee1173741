//! The answers that the model must give at each stage: types, and the rules that a schema cannot
//! express.
use fugato::{
    llm::{Contract, Objections},
    prompt::one_of,
    state::PlanStep,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::ContextHook;

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

/// What the executor says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Decision")]
pub struct ExecutorDecision {
    /// What the person reads.
    #[serde(default)]
    pub speak: String,
    /// What happens next.
    pub action: ActionKind,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// How the step's goal was checked, as a text.
    #[serde(default)]
    pub goal_check: Option<String>,
    /// The tool to call.
    #[serde(default)]
    pub tool_call: Option<Call>,
    /// How to give up, with `abort` only.
    #[serde(default)]
    pub abort: Option<Abort>,
}

/// What the executor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// Look at something with a tool, or go on thinking.
    Continue,
    /// Ask the person.
    AskUser,
    /// Ask the person to confirm a write.
    Confirm,
    /// The current step is done.
    NextPlan,
    /// Everything is done.
    Done,
    /// Give up.
    Abort,
}

/// A proposed call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Whether it was the first of a list: a list is read so that it can be refused in words.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    pub listed: bool,
}

/// How to give up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Abort {
    /// A stable code.
    #[serde(default)]
    pub code: String,
    /// What the person is told.
    pub user_message: String,
    /// What an operator is told.
    #[serde(default)]
    pub internal_reason: String,
}

impl ExecutorDecision {
    /// Returns the only call.
    pub fn call(&self) -> Option<&Call> {
        self.tool_call.as_ref()
    }

    /// Returns a decision with only an action.
    pub fn of(action: ActionKind) -> Self {
        Self {
            speak: String::new(),
            action,
            reason: String::new(),
            goal_check: None,
            tool_call: None,
            abort: None,
        }
    }

    fugato::state::setters! {
        /// Adds a call.
        pub fn calling(name: &str, arguments: Map<String, Value>) {
            tool_call = Some(Call {
                name: name.into(),
                arguments,
                listed: false,
            })
        }
    }
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
                    "plan_done needs at least one step with content",
                );
            }
            PlanAction::Continue | PlanAction::AskUser if !plan.plan_steps.is_empty() => {
                object.push(
                    "/plan_steps",
                    "only plan_done may carry steps; leave them out",
                );
            }
            PlanAction::AskUser if plan.speak.trim().is_empty() => {
                object.push("/speak", "ask_user needs the question in speak");
            }
            _ => {}
        }
    })
}

/// Returns the contract of execution. A plan requires that its goals are checked.
pub fn decision(has_plan: bool) -> Contract<ExecutorDecision> {
    Contract::new("decision").prepare(unlist).check(
        move |decision: &ExecutorDecision, object: &mut Objections| {
            check_call(decision, object);
            let ends = matches!(decision.action, ActionKind::NextPlan | ActionKind::Done);
            let checked = decision
                .goal_check
                .as_ref()
                .is_some_and(|text| !text.trim().is_empty());
            if ends && has_plan && !checked {
                let name = action_name(decision.action);
                let message = format!("{name} needs a text that says how the goal was checked");
                object.push("/goal_check", message);
            }
            match (&decision.abort, decision.action) {
                (None, ActionKind::Abort) => object.push("/abort", "abort needs user_message"),
                (Some(abort), ActionKind::Abort) if abort.user_message.trim().is_empty() => {
                    object.push("/abort/user_message", "tell the user why, in a sentence");
                }
                _ => {}
            }
            if decision.action == ActionKind::AskUser && decision.speak.trim().is_empty() {
                object.push("/speak", "ask_user needs the question in speak");
            }
        },
    )
}

/// Replaces a list of calls by its first one, and marks it.
fn unlist(decision: &mut Value) {
    let Some(call) = decision.get_mut("tool_call") else {
        return;
    };
    if let Value::Array(calls) = call {
        let first = calls.first().and_then(Value::as_object).cloned();
        let mut first = first.unwrap_or_default();
        first.entry("name").or_insert_with(|| "".into());
        first.insert("listed".into(), true.into());
        *call = Value::Object(first);
    }
}

/// Checks which actions may, must and must not have a call. `done` may drop its tools at the end:
/// that call is tolerated, and dropped.
fn check_call(decision: &ExecutorDecision, object: &mut Objections) {
    let name = action_name(decision.action);
    match &decision.tool_call {
        Some(call) if call.listed => object.push(
            "/tool_call",
            "exactly one tool call is allowed in a round; send the first one only, as an object",
        ),
        Some(call) => {
            let dropped =
                decision.action == ActionKind::Done && call.name == "context_tools_remove";
            let allowed = matches!(decision.action, ActionKind::Continue | ActionKind::Confirm);
            if !allowed && !dropped {
                let others = one_of(["continue", "confirm"]);
                let message =
                    format!("{name} must not have a tool call; with one, the action is {others}");
                object.push("/tool_call", message);
            }
        }
        None if decision.action == ActionKind::Confirm => {
            object.push(
                "/tool_call",
                "confirm needs the call that is to be confirmed",
            );
        }
        None => {}
    }
}

/// Returns the name of an action as the model writes it.
pub fn action_name(action: ActionKind) -> &'static str {
    match action {
        ActionKind::Continue => "continue",
        ActionKind::AskUser => "ask_user",
        ActionKind::Confirm => "confirm",
        ActionKind::NextPlan => "next_plan",
        ActionKind::Done => "done",
        ActionKind::Abort => "abort",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection(raw: &str, has_plan: bool) -> String {
        decision(has_plan).read(raw).unwrap_err().correction()
    }

    #[test]
    fn sch_41_a_decision_is_read_from_among_prose() {
        let raw = "Sure!\n```json\n{\"action\": \"continue\", \"tool_call\": {\"name\": \"find_free\", \"arguments\": {\"duration\": 2}},}\n```";
        let read = decision(true).read(raw).unwrap();
        assert_eq!(read.action, ActionKind::Continue);
        assert_eq!(read.call().unwrap().name, "find_free");
    }

    #[test]
    fn sch_42_the_legality_matrix_holds_for_every_action() {
        let call = r#""tool_call": {"name": "find_free", "arguments": {}}"#;
        let extras = r#""speak": "well?", "goal_check": "seen", "abort": {"user_message": "no"}"#;
        for (action, without, with) in [
            ("continue", true, true),
            ("ask_user", true, false),
            ("confirm", false, true),
            ("next_plan", true, false),
            ("done", true, false),
            ("abort", true, false),
        ] {
            let bare = format!(r#"{{"action": "{action}", {extras}}}"#);
            let calling = format!(r#"{{"action": "{action}", {extras}, {call}}}"#);
            assert_eq!(
                decision(true).read(&bare).is_ok(),
                without,
                "{action} without a call"
            );
            assert_eq!(
                decision(true).read(&calling).is_ok(),
                with,
                "{action} with a call"
            );
        }
    }

    #[test]
    fn sch_42_done_may_drop_its_tools() {
        let raw = r#"{"action": "done", "goal_check": "all placed",
            "tool_call": {"name": "context_tools_remove", "arguments": {"all": true}}}"#;
        assert!(decision(true).read(raw).is_ok());
    }

    #[test]
    fn sch_42_several_calls_get_a_hint_of_their_own() {
        let raw = r#"{"action": "continue", "tool_call": [{"name": "a"}, {"name": "b"}]}"#;
        assert!(
            objection(raw, false).contains("exactly one tool call"),
            "{}",
            objection(raw, false)
        );
    }

    #[test]
    fn sch_42_a_goal_check_is_a_text_and_not_empty_when_there_is_a_plan() {
        assert!(objection(r#"{"action": "done"}"#, true).contains("/goal_check"));
        assert!(
            objection(r#"{"action": "next_plan", "goal_check": " "}"#, true).contains("checked")
        );
        assert!(
            decision(true)
                .read(r#"{"action": "done", "goal_check": true}"#)
                .is_err()
        );
        assert!(decision(false).read(r#"{"action": "done"}"#).is_ok());
    }

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

    #[test]
    fn sch_41_an_abort_tells_the_user_why() {
        assert!(objection(r#"{"action": "abort"}"#, false).contains("user_message"));
        let raw = r#"{"action": "abort", "abort": {"user_message": "The exam is today."}}"#;
        assert!(decision(false).read(raw).is_ok());
    }
}
