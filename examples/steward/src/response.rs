//! The answers to clients: one form for each kind of request, with the part that all of them have.
use fugato::{
    form::strings,
    llm::{CallTrace, DecisionSource},
    state::{Interrupt, State as _},
    tool::ToolStatus,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    action, reply,
    service::RuleData,
    state::{
        ActionResult, ActionStep, Flow, PlanTask, RequestKind, Runtime, RuntimeDecision,
        SlotDecision, Steward, TaskPlan, WorkStatus,
    },
};

/// The part that every answer has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommonFields {
    /// The conversation.
    pub conversation_id: String,
    /// The client's name for the request.
    pub client_trace_id: String,
    /// The text for the person.
    pub reply: String,
    /// The decider: a model or a rule.
    pub planning_source: DecisionSource,
    /// The reason for which a rule, or the legacy path, decided.
    pub fallback_reason: Option<String>,
    /// The model calls of the request.
    pub model_call_traces: Vec<CallTrace>,
    /// The path that processed the request.
    pub runtime: Runtime,
    /// The plan, as it is kept.
    pub steward_state: TaskPlan,
    /// The interrupt that waits for a person.
    pub pending_interrupt: Option<Interrupt>,
    /// The result of the action.
    pub action_result: Option<ActionResult>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Response {
    /// To a request for a plan, or in a conversation.
    Plan(StewardPlanResponse),
    /// To a question for what is missing.
    Slots(StewardSlotDecisionResponse),
    /// To words about a plan.
    Decision(StewardRuntimeDecisionResponse),
    /// To an action.
    Action(StewardActionResponse),
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StewardPlanResponse {
    /// True if it is about something else than trips and expenses.
    pub off_topic: bool,
    /// The tasks.
    pub tasks: Vec<PlannedTask>,
    /// The steps of the current task.
    pub action_steps: Vec<ActionStep>,
    /// The names of the missing fields of the current task.
    pub missing_fields: Vec<String>,
    /// The verdict on whether the plan may be carried out.
    pub flow: Option<Flow>,
    /// The part that every answer has.
    #[serde(flatten)]
    pub told: CommonFields,
}

/// A task of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// The task, with what is missing in it.
    #[serde(flatten)]
    pub task: PlanTask,
    /// The steps that a page can offer as buttons.
    pub suggested_actions: Vec<SuggestedAction>,
}

/// Something that a page can offer as a button.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuggestedAction {
    /// The text of the button.
    pub label: String,
    /// The step to request.
    pub step: ActionStep,
    /// Its arguments.
    pub arguments: Value,
}

/// The filled and the missing fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StewardSlotDecisionResponse {
    /// The judgement.
    pub slot_decision: SlotDecision,
    /// The part that every answer has.
    #[serde(flatten)]
    pub told: CommonFields,
}

/// The meaning of words for a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StewardRuntimeDecisionResponse {
    /// The meaning.
    pub runtime_decision: RuntimeDecision,
    /// The names of the fields that are now missing in the current task.
    pub missing_fields: Vec<String>,
    /// The part that every answer has.
    #[serde(flatten)]
    pub told: CommonFields,
}

/// The result of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StewardActionResponse {
    /// The action.
    pub action: String,
    /// `succeeded`, `blocked`, `rejected`, `failed`, `cancelled` or `needs_confirmation`.
    pub outcome: String,
    /// The same in words.
    pub message: String,
    /// The names of the missing fields, if they block it.
    pub missing_fields: Vec<String>,
    /// The results of the steps, in order.
    pub steps: Vec<Value>,
    /// The part that every answer has.
    #[serde(flatten)]
    pub told: CommonFields,
}

impl Response {
    /// Returns the answer in this state, with the interrupt that waits for a person.
    pub fn of(desk: &RuleData, state: &Steward, pending: Option<&Interrupt>) -> Self {
        let told = told(desk, state, pending);
        let current = state.steward_state.current();
        let missing_fields = current.map_or(vec![], |task| task.missing_fields.clone());
        match state.kind() {
            Some(RequestKind::Slots { .. }) => Self::Slots(StewardSlotDecisionResponse {
                slot_decision: state.slot_decision.clone().unwrap_or_default(),
                told,
            }),
            Some(RequestKind::Decide) => {
                let decision = state.runtime_decision.clone();
                Self::Decision(StewardRuntimeDecisionResponse {
                    runtime_decision: decision.unwrap_or(RuntimeDecision::Unclear),
                    missing_fields,
                    told,
                })
            }
            Some(RequestKind::Execute { action, .. }) => Self::Action(acted(state, action, told)),
            _ => Self::Plan(StewardPlanResponse {
                off_topic: state.is_off_topic(),
                tasks: planned(state),
                action_steps: current.map_or(vec![], |task| task.action_steps.clone()),
                missing_fields,
                flow: state.flow.clone(),
                told,
            }),
        }
    }

    /// Returns the part that every answer has.
    pub fn told(&self) -> &CommonFields {
        match self {
            Self::Plan(response) => &response.told,
            Self::Slots(response) => &response.told,
            Self::Decision(response) => &response.told,
            Self::Action(response) => &response.told,
        }
    }

    pub(crate) fn told_mut(&mut self) -> &mut CommonFields {
        match self {
            Self::Plan(response) => &mut response.told,
            Self::Slots(response) => &mut response.told,
            Self::Decision(response) => &mut response.told,
            Self::Action(response) => &mut response.told,
        }
    }
}

fn told(desk: &RuleData, state: &Steward, pending: Option<&Interrupt>) -> CommonFields {
    let request = state.request.as_ref();
    let trace = request.map(|request| request.client_trace_id.clone());
    CommonFields {
        conversation_id: state.conversation_id.clone(),
        client_trace_id: trace.unwrap_or_default(),
        reply: reply::reply(desk, state, pending.is_some()),
        planning_source: state.planning_source.unwrap_or(DecisionSource::Rule),
        fallback_reason: state.fallback_reason.clone(),
        model_call_traces: state.model_call_traces.clone(),
        runtime: state.runtime,
        steward_state: state.steward_state.clone(),
        pending_interrupt: pending.cloned(),
        action_result: state.action_result.clone(),
    }
}

fn planned(state: &Steward) -> Vec<PlannedTask> {
    let tasks = state.steward_state.tasks.iter();
    let tasks = tasks.filter(|task| task.status != WorkStatus::Closed);
    let planned = tasks.map(|task| PlannedTask {
        suggested_actions: suggested(state, task),
        task: task.clone(),
    });
    planned.collect()
}

fn acted(state: &Steward, action: &str, told: CommonFields) -> StewardActionResponse {
    let result = state.action_result.clone().unwrap_or_else(|| ActionResult {
        action: action.to_owned(),
        outcome: "needs_confirmation".to_owned(),
        message: told.reply.clone(),
        data: Value::Null,
    });
    let missing = strings(result.data.get("missing_fields")).map(str::to_owned);
    let steps = state.actions.done.iter().map(|done| {
        json!({ "action": done.action, "ok": done.status == ToolStatus::Ok, "text": done.text, "data": done.data })
    });
    StewardActionResponse {
        action: action.to_owned(),
        missing_fields: missing.collect(),
        outcome: result.outcome,
        message: result.message,
        steps: steps.collect(),
        told,
    }
}

/// Returns the step that writes, once nothing is missing.
fn suggested(state: &Steward, task: &PlanTask) -> Vec<SuggestedAction> {
    if task.status != WorkStatus::Open || !task.missing_fields.is_empty() {
        return vec![];
    }
    let writes = task.action_steps.iter().filter(|step| step.side_effect);
    let suggested = writes.map(|step| SuggestedAction {
        label: action::label(&step.action, state.lang()),
        step: step.clone(),
        arguments: Value::Object(task.fields.clone()),
    });
    suggested.collect()
}
