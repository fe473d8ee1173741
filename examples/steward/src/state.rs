//! The state of a conversation, which is kept in the log of its thread and nowhere else.
mod change;
mod plan;
mod request;

use fugato::{
    agent::{
        Embeds,
        sequence::{Actions, ActionsUpdate},
    },
    cli::Lang,
    form::{Fields, day, strings},
    llm::{CallTrace, DecisionSource},
    state::{Message, Role, State, ThreadId, ToolCall},
    tool::Evidence,
};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    files::Attachment,
    form::FormKind,
    ledger::{Document, named},
};

pub use change::{GraphOutput, Update};
pub use plan::{ActionStep, PlanTask, TaskPlan, WorkStatus};
pub use request::{Request, RequestExtras, RequestKind, Runtime};

/// The state of a conversation. What belongs to a request is forgotten when the next one begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Steward {
    /// The conversation, which is the thread.
    pub conversation_id: String,
    /// The employee whose applications and claims these are.
    pub employee: String,
    /// The present request.
    pub request: Option<Request>,
    /// The thread in which the request is worked on: a consent that was given there is none in a copy.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// The words that are to be understood, cleaned.
    pub message: String,
    /// The day on which "tomorrow" is counted, as `2026-03-02`.
    pub base_date: String,
    /// The tasks and their progress.
    pub steward_state: TaskPlan,
    /// The messages of the conversation.
    pub history: Vec<Message>,
    /// True if the messages before the present words are what a client says of a conversation that it
    /// keeps itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_recalled: bool,
    /// The names of the requests that have answered a card, the newest last: a repeat of one
    /// answers no other card.
    pub heard: Vec<String>,
    /// The uploaded files of the conversation that wait for a document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attachment>,
    /// The names of the files that waited while words named others: they come with no words that do
    /// not name them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    /// True if the words under a card are a no with a reason.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rejects: bool,
    /// The answer to words under a card that ask about documents and change nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
    /// The documents that the request is about, as they were when it came.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Document>,
    /// The model calls of this request.
    pub model_call_traces: Vec<CallTrace>,
    /// The meaning of the request.
    pub intent_result: Option<Intent>,
    /// The filled and the missing fields.
    pub slot_decision: Option<SlotDecision>,
    /// The meaning of the words for the present plan.
    pub runtime_decision: Option<RuntimeDecision>,
    /// The verdict of the guard on the plan.
    pub flow: Option<Flow>,
    /// The action that is requested, its steps, and what came of them.
    #[serde(rename = "action_plan")]
    pub actions: Actions,
    /// The call that a person has agreed to, and how.
    pub approval: Option<Approval>,
    /// The findings of checks. No other source of findings is trusted.
    pub evidence: Evidence,
    /// The result of the action.
    pub action_result: Option<ActionResult>,
    /// The decider of this request: a model or a rule.
    pub planning_source: Option<DecisionSource>,
    /// The reason for which a rule, or the legacy path, decided.
    pub fallback_reason: Option<String>,
    /// The path that processed the request.
    pub runtime: Runtime,
    /// The reason for which it was the legacy path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<String>,
    /// The answer.
    pub response: Option<Value>,
}

/// The meaning of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// True if it is about something else than trips and expenses.
    pub off_topic: bool,
    /// The tasks.
    pub tasks: Vec<PlanTask>,
}

impl Intent {
    /// Returns the intent of a request about something else: it has no tasks, whatever the model
    /// returned.
    pub(crate) fn off_topic() -> Self {
        Self {
            off_topic: true,
            tasks: vec![],
        }
    }
}

/// The filled and the missing fields of a form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlotDecision {
    /// The task; empty if there is none.
    pub task_id: String,
    /// The filled fields.
    pub fields: Fields,
    /// The names of the missing fields, in the order of the form.
    pub missing_fields: Vec<String>,
}

/// The meaning of words for a plan that is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuntimeDecision {
    /// They say something about the current task.
    Supplement {
        /// The fields that they give.
        #[serde(default)]
        fields: Fields,
        /// The form of the task, if that was open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<FormKind>,
        /// The parts of them that look like facts and were not taken up.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unread: Vec<String>,
    },
    /// Go on with what is proposed.
    Confirm,
    /// The current task is not wanted any more.
    Cancel,
    /// The next task, please.
    Next,
    /// It is a request of its own.
    NewRequest,
    /// Neither a rule nor a model can tell.
    Unclear,
}

/// The verdict on whether a plan may be carried out.
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
        /// The open point, as a sentence for the person.
        why: String,
    },
    /// Something speaks against it.
    Block {
        /// The objection, as a sentence for the person.
        why: String,
    },
}

/// The call that a person has agreed to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// The complete call: nothing else is agreed to.
    pub call: ToolCall,
    /// The way in which they agreed: `button` or `words`.
    pub source: String,
}

/// The result of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionResult {
    /// The action.
    pub action: String,
    /// The outcome: `succeeded`, `blocked`, `rejected`, `failed` or `cancelled`.
    pub outcome: String,
    /// The same in words.
    pub message: String,
    /// The document that was written, and further data of the action.
    pub data: Value,
}

impl Steward {
    /// Returns the next step of the action.
    pub fn next_step(&self) -> Option<&ToolCall> {
        self.actions.steps.get(self.actions.done.len())
    }

    /// Returns the document that an action with these arguments changes, as it is known here.
    pub(crate) fn about(&self, arguments: &Value) -> Option<&Document> {
        let id = named(arguments.as_object()?)?;
        let of_tasks = self.steward_state.tasks.iter().rev();
        let mut known = self
            .targets
            .iter()
            .chain(of_tasks.filter_map(|task| task.about.as_ref()));
        known.find(|document| document.id == id)
    }

    /// Returns the day on which "tomorrow" is counted.
    pub(crate) fn base(&self) -> Date {
        day(&self.base_date).unwrap_or_default()
    }

    /// Returns the kind of the present request.
    pub fn kind(&self) -> Option<&RequestKind> {
        self.request.as_ref().map(|request| &request.kind)
    }

    /// Returns true if the request is about something else than trips and expenses.
    pub fn is_off_topic(&self) -> bool {
        let intent = self.intent_result.as_ref();
        intent.is_some_and(|intent| intent.off_topic)
    }

    /// Returns true if the request belongs to a conversation on a page.
    pub fn is_chat(&self) -> bool {
        self.kind() == Some(&RequestKind::Chat)
    }

    /// Returns the change that forgets a consent which was given in another thread, of which this one is
    /// a copy, or by a version that did not note in which: the card is shown once more here.
    pub(crate) fn copied_consent(&self, thread: &ThreadId) -> Option<Update> {
        let is_copied = self.approval.is_some() && self.thread != thread.as_str();
        is_copied.then(|| Update::Placed(thread.as_str().to_owned()))
    }

    /// Returns the last messages before the present words, if only the client keeps them.
    pub(crate) fn earlier(&self) -> Vec<Message> {
        const MOST: usize = 12;
        const LONGEST: usize = 2000;
        let before = self
            .history
            .split_last()
            .map_or(&[][..], |(_, before)| before);
        let last = before.len().saturating_sub(MOST);
        let kept = before.get(last..).filter(|_| self.is_recalled);
        let mut kept = kept.unwrap_or_default().to_vec();
        for message in &mut kept {
            message.content = message.content.chars().take(LONGEST).collect();
        }
        kept
    }

    /// Returns the files that no task has yet and that no words have left aside.
    pub(crate) fn new_files(&self) -> impl Iterator<Item = &Attachment> {
        let is_aside = |file: &Attachment| self.set_aside.contains(&file.name);
        let files = self.files.iter();
        files.filter(move |file| !is_aside(file) && !self.is_of_task(&file.name))
    }

    /// Returns true if a task of the plan has the file of this name.
    pub(crate) fn is_of_task(&self, name: &str) -> bool {
        let has = |task: &PlanTask| strings(task.fields.get("attachments")).any(|it| it == name);
        self.steward_state.tasks.iter().any(has)
    }

    /// Returns true if the verdict lets the conversation act.
    pub(crate) fn may_act(&self) -> bool {
        self.is_chat() && self.flow == Some(Flow::Pass) && self.actions.request.is_some()
    }

    /// Returns true if a task was just completed in a conversation that has another open task.
    pub(crate) fn has_next(&self) -> bool {
        // A request that has been judged does not begin another task.
        self.flow.is_none() && self.is_done_with_one()
    }

    /// Returns true if a task of this conversation is done and another one waits.
    pub(crate) fn is_done_with_one(&self) -> bool {
        let result = self.action_result.as_ref();
        let done = result.is_some_and(|result| result.outcome == "succeeded");
        self.is_chat() && done && self.steward_state.current().is_some()
    }

    /// Returns true if an action is under way that has not ended, such as one that waits for a
    /// person.
    pub fn is_pending(&self) -> bool {
        self.actions.end.is_none() && self.actions.steps.len() > self.actions.done.len()
    }
}

impl State for Steward {
    type Update = Update;

    /// Returns the language that the request asks for, or else that of the person's last words that
    /// show one.
    fn lang(&self) -> Lang {
        let request = self.request.as_ref();
        let told = request.and_then(|request| request.beside.lang.as_deref());
        if let Some(lang) = told.and_then(|lang| lang.parse().ok()) {
            return lang;
        }
        // Words that are not cleaned yet are no part of the history.
        let new = request.filter(|_| self.message.is_empty());
        let new = new.map(|request| request.message.as_str());
        let said = self.history.iter().rev();
        let said = said.filter(|message| message.role == Role::User);
        Lang::of_first(new.into_iter().chain(said.map(|it| it.content.as_str())))
    }

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
