//! What a conversation keeps. It lies in the log of its thread, and nowhere else.
mod change;
mod plan;
mod request;

use fugato::{
    agent::{Actions, ActionsUpdate, Embeds, judge::Source},
    form::Fields,
    llm::CallTrace,
    state::{Message, State, ToolCall},
    tool::Evidence,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::form::FormKind;

pub use change::{Returned, Update};
pub use plan::{ActionStep, Plan, Task, TaskStatus};
pub use request::{Beside, Request, RequestKind, Runtime};

/// The state of a conversation. What belongs to a request is forgotten when the next one begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Steward {
    /// The conversation, which is the thread.
    pub conversation_id: String,
    /// Whose applications and claims these are.
    pub employee: String,
    /// What is asked for now.
    pub request: Option<Request>,
    /// The words that are to be understood, cleaned.
    pub message: String,
    /// The day on which "tomorrow" is counted, as `2026-03-02`.
    pub base_date: String,
    /// What is to be done, and how far it came.
    pub steward_state: Plan,
    /// What was said.
    pub history: Vec<Message>,
    /// The names of the requests that have answered a card, the newest last: a repeat of one
    /// answers no other card.
    pub heard: Vec<String>,
    /// What models were asked for this request.
    pub model_call_traces: Vec<CallTrace>,
    /// What the request means.
    pub intent_result: Option<Intent>,
    /// What is filled in, and what is missing.
    pub slot_decision: Option<SlotDecision>,
    /// What the words mean for the plan that there is.
    pub runtime_decision: Option<RuntimeDecision>,
    /// Whether the plan may be carried out.
    pub flow: Option<Flow>,
    /// The action that is requested, its steps, and what came of them.
    #[serde(rename = "action_plan")]
    pub actions: Actions,
    /// The call that a person has agreed to, and how.
    pub approval: Option<Approval>,
    /// What checks have found, kept here and believed from nowhere else.
    pub evidence: Evidence,
    /// What came of the action.
    pub action_result: Option<ActionResult>,
    /// Who decided what this request means.
    pub planning_source: Option<Source>,
    /// Why a rule, or the legacy path, decided.
    pub fallback_reason: Option<String>,
    /// Which path worked.
    pub runtime: Runtime,
    /// What is answered.
    pub response: Option<Value>,
}

/// What a request means.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Whether it is about something else than trips and expenses.
    pub off_topic: bool,
    /// What is to be done.
    pub tasks: Vec<Task>,
}

impl Intent {
    /// What is about something else has no tasks, whatever a model has made of it.
    pub(crate) fn off_topic() -> Self {
        Self {
            off_topic: true,
            tasks: vec![],
        }
    }
}

/// What is filled in, and what is missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlotDecision {
    /// The task; empty if there is none.
    pub task_id: String,
    /// What is filled in.
    pub fields: Fields,
    /// What is missing, in the order of the form.
    pub missing_fields: Vec<String>,
}

/// What words mean for a plan that is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuntimeDecision {
    /// They say something about the current task.
    Supplement {
        /// What they say.
        #[serde(default)]
        fields: Fields,
        /// Which form the task is, where that was open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<FormKind>,
    },
    /// Go on with what is proposed.
    Confirm,
    /// The current task is not wanted any more.
    Cancel,
    /// The next task, please.
    Next,
    /// It is a request of its own.
    NewRequest,
    /// Nobody can tell.
    Unclear,
}

/// Whether a plan may be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Flow {
    /// It may.
    Pass,
    /// Something is missing.
    Missing,
    /// A person has to say what is meant.
    Confirm {
        /// What is not clear.
        why: String,
    },
    /// Something speaks against it.
    Block {
        /// What.
        why: String,
    },
}

/// The call that a person has agreed to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// The call, whole: nothing else is agreed to.
    pub call: ToolCall,
    /// How they agreed: `button` or `words`.
    pub source: String,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionResult {
    /// The action.
    pub action: String,
    /// How it ended: `succeeded`, `blocked`, `rejected`, `failed` or `cancelled`.
    pub outcome: String,
    /// The same in words.
    pub message: String,
    /// The document that was written, and what else there is to know.
    pub data: Value,
}

impl Steward {
    /// The step of the action that comes next.
    pub fn next_step(&self) -> Option<&ToolCall> {
        self.actions.steps.get(self.actions.done.len())
    }

    /// What is wanted now.
    pub fn kind(&self) -> Option<&RequestKind> {
        self.request.as_ref().map(|request| &request.kind)
    }

    /// Whether it is about something else than trips and expenses.
    pub fn is_off_topic(&self) -> bool {
        let intent = self.intent_result.as_ref();
        intent.is_some_and(|intent| intent.off_topic)
    }

    /// Whether it is a conversation on a page.
    pub fn is_chat(&self) -> bool {
        self.kind() == Some(&RequestKind::Chat)
    }

    /// Whether an action is under way that has not ended, such as one that waits for a person.
    pub fn is_pending(&self) -> bool {
        self.actions.end.is_none() && self.actions.steps.len() > self.actions.done.len()
    }
}

impl State for Steward {
    type Update = Update;

    fn apply(&mut self, update: Update) {
        change::apply(self, update);
    }
}

impl Embeds<Actions> for Steward {
    fn part(&self) -> &Actions {
        &self.actions
    }

    fn embed(update: ActionsUpdate) -> Update {
        Update::Acted(update)
    }
}
