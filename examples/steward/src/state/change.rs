//! Every change of a conversation.
use fugato::{
    State as _,
    agent::sequence::{ActionEnd, Actions, ActionsUpdate},
    form::{Fields, day},
    llm::AskRecord,
    state::Message,
    tool::{Evidence, EvidenceUpdate},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ActionResult, Approval, Flow, Intent, PlanTask, Request, RequestExtras, Runtime,
    RuntimeDecision, SlotDecision, Steward, TaskPlan, WorkStatus,
};
use crate::{files::Attachment, form::FormKind, ledger::Document};

/// A change of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Update {
    /// A request begins; what belonged to another one is forgotten.
    Requested(Box<Request>),
    /// A client that keeps the conversation itself told what was said before, and this is the plan
    /// to which that has come.
    Recalled {
        /// The words.
        history: Vec<Message>,
        /// The plan.
        plan: TaskPlan,
    },
    /// Its words are clean.
    Prepared {
        /// The words.
        message: String,
        /// The name of the request, where the client gave none.
        client_trace_id: String,
        /// The day on which "tomorrow" is counted.
        base_date: String,
        /// The path that processes it.
        runtime: Runtime,
    },
    /// The uploaded files of the conversation are these.
    Attached(Vec<Attachment>),
    /// The words leave these of them aside.
    SetAside(Vec<String>),
    /// The words under a card ask about documents, and this is the answer; none for other words.
    Aside(Option<String>),
    /// The request is about these documents.
    Targeted(Vec<Document>),
    /// The decider, the model calls, and the reason for a fallback.
    Judged(AskRecord),
    /// The meaning of the request. Its tasks join the plan.
    Understood(Intent),
    /// The filled and the missing fields.
    Filled(SlotDecision),
    /// The meaning of the words for the plan.
    Decided(RuntimeDecision),
    /// The verdict of the guard on the plan.
    Guarded(Flow),
    /// An action came further.
    Acted(ActionsUpdate),
    /// A check has found something.
    Checked(EvidenceUpdate),
    /// An action of its own has filled in a form.
    Drafted(Fields),
    /// A person agrees to a call.
    Approved(Approval),
    /// The request is worked on in this thread; a consent that was given in another one is none here.
    Placed(String),
    /// A person does not agree, and perhaps says why.
    Declined,
    /// A request of this name has answered a card.
    Heard(String),
    /// The attachments and options of words that answer a card.
    Beside(Box<RequestExtras>),
    /// A person says something else in place of an answer.
    Said(String),
    /// The words are a no, which declines unless they change something.
    Rejecting,
    /// The action graph has left.
    Returned(Box<GraphOutput>),
    /// The current task is over.
    Settled {
        /// The task.
        task_id: String,
        /// The new status.
        status: WorkStatus,
        /// The document that was written, if there is one.
        document: Option<String>,
    },
    /// A graph failed, and another path takes over.
    FellBack {
        /// The reason.
        reason: String,
    },
    /// The request is processed on the legacy path though no graph has failed.
    RolledBack {
        /// The reason.
        reason: String,
    },
    /// A node failed, and a rule took its place.
    Noted {
        /// The reason.
        fallback_reason: String,
    },
    /// The text that was told before another task follows.
    Told(String),
    /// The answer.
    Answered {
        /// As the client gets it.
        response: Value,
        /// The text for the person.
        reply: String,
    },
}

/// The part of the state that the action graph returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphOutput {
    pub(crate) actions: Actions,
    pub(crate) evidence: Evidence,
    pub(crate) form: Fields,
    pub(crate) result: Option<ActionResult>,
    /// The thread in which it worked; empty in logs of versions that did not note it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) thread: String,
}

impl GraphOutput {
    /// Returns the update with the action graph's part of this state, and the result of the action.
    pub(crate) fn of(state: &Steward, result: Option<ActionResult>) -> Update {
        Update::Returned(Box::new(Self {
            actions: state.actions.clone(),
            evidence: state.evidence.clone(),
            form: state.steward_state.form.clone(),
            result,
            thread: state.thread.clone(),
        }))
    }
}

pub(super) fn apply(state: &mut Steward, update: Update) {
    match update {
        Update::Requested(request) => requested(state, *request),
        Update::Recalled { history, plan } => {
            (state.history, state.steward_state) = (history, plan);
            state.is_recalled = true;
        }
        Update::Prepared {
            message,
            client_trace_id,
            base_date,
            runtime,
        } => {
            // The fallback path begins with the same words.
            if state.message.is_empty() && !message.is_empty() {
                state.history.push(Message::user(message.as_str()));
            }
            if let Some(request) = &mut state.request {
                request.client_trace_id = client_trace_id;
            }
            (state.message, state.base_date, state.runtime) = (message, base_date, runtime);
        }
        Update::Attached(files) => state.files = files,
        Update::SetAside(names) => state.set_aside = names,
        Update::Aside(told) => state.aside = told,
        Update::Targeted(documents) => state.targets = documents,
        Update::Judged(how) => {
            state.planning_source = Some(how.source);
            state.model_call_traces.extend(how.traces);
            state.fallback_reason = how.fallback_reason.or(state.fallback_reason.take());
        }
        Update::Understood(intent) => understood(state, intent),
        Update::Filled(slots) => {
            if let Some(task) = state.steward_state.find_mut(&slots.task_id) {
                task.fields.clone_from(&slots.fields);
                task.missing_fields.clone_from(&slots.missing_fields);
            }
            state.slot_decision = Some(slots);
        }
        Update::Decided(decision) => decided(state, decision),
        Update::Guarded(flow) => state.flow = Some(flow),
        Update::Acted(update) => {
            if matches!(update, ActionsUpdate::Requested(_)) {
                (state.approval, state.action_result) = (None, None);
            }
            state.actions.apply(update);
        }
        Update::Checked(update) => state.evidence.apply(update),
        Update::Drafted(fields) => state.steward_state.form = fields,
        Update::Approved(approval) => state.approval = Some(approval),
        Update::Placed(thread) => {
            state.approval = state.approval.take().filter(|_| state.thread == thread);
            state.thread = thread;
        }
        Update::Declined => declined(state),
        Update::Heard(trace) => heard(state, trace),
        Update::Beside(beside) => beside_words(state, *beside),
        Update::Said(words) => {
            state.history.push(Message::user(words.as_str()));
            (state.message, state.rejects) = (words, false);
        }
        Update::Rejecting => state.rejects = true,
        Update::Returned(returned) => {
            state.actions = returned.actions;
            state.evidence = returned.evidence;
            state.steward_state.form = returned.form;
            state.action_result = returned.result;
            state.approval = None;
            if !returned.thread.is_empty() {
                state.thread = returned.thread;
            }
        }
        Update::Settled {
            task_id,
            status,
            document,
        } => {
            if let Some(task) = state.steward_state.find_mut(&task_id) {
                (task.status, task.document) = (status, document);
            }
            state.flow = None;
        }
        Update::Noted { fallback_reason } => state.fallback_reason = Some(fallback_reason),
        Update::RolledBack { reason } => state.rollback = Some(reason),
        Update::FellBack { reason } => fell_back(state, reason),
        Update::Told(words) => state.history.push(Message::assistant(words)),
        Update::Answered { response, reply } => {
            if !reply.is_empty() {
                state.history.push(Message::assistant(reply));
            }
            state.response = Some(response);
        }
    }
}

/// Begins a request. Only the plan, the messages, the answered requests and the findings are kept
/// from the state before.
fn requested(state: &mut Steward, request: Request) {
    if state.employee != request.employee {
        // The findings are about the documents of another employee.
        state.evidence = Evidence::default();
    }
    *state = Steward {
        conversation_id: request.conversation_id.clone(),
        employee: request.employee.clone(),
        thread: std::mem::take(&mut state.thread),
        steward_state: std::mem::take(&mut state.steward_state),
        history: std::mem::take(&mut state.history),
        heard: std::mem::take(&mut state.heard),
        evidence: std::mem::take(&mut state.evidence),
        files: std::mem::take(&mut state.files),
        set_aside: std::mem::take(&mut state.set_aside),
        request: Some(request),
        ..Steward::default()
    };
}

/// The number of answered requests whose names are kept for repeats.
const REMEMBERED: usize = 64;

fn heard(state: &mut Steward, trace: String) {
    state.heard.retain(|known| *known != trace);
    state.heard.push(trace);
    let older = state.heard.len().saturating_sub(REMEMBERED);
    state.heard.drain(..older);
}

/// Replaces the attachments and options of the request. Earlier attachments are already in their
/// tasks.
fn beside_words(state: &mut Steward, beside: RequestExtras) {
    // An invalid day does not replace the base date.
    if day(&beside.base_date).is_some() {
        state.base_date.clone_from(&beside.base_date);
    }
    if let Some(request) = &mut state.request {
        let lang = beside.lang.or(request.beside.lang.take());
        request.beside = RequestExtras { lang, ..beside };
    }
}

/// Adds the tasks of a request. Under a card they wait for its end; otherwise they come before forms
/// of other kinds that are filled in as far as is told, and close the other open tasks. A card that is
/// refused with the request stands no longer.
fn understood(state: &mut Steward, intent: Intent) {
    let is_pending = state.is_pending() && !state.rejects;
    if state.rejects
        && state.is_pending()
        && !intent.tasks.is_empty()
        && let Some(refused) = state.steward_state.current_mut()
    {
        refused.status = WorkStatus::Closed;
    }
    let plan = &mut state.steward_state;
    let mut at = plan.tasks.len();
    if !intent.tasks.is_empty() {
        if !is_pending {
            let forms: Vec<_> = intent.tasks.iter().map(|task| task.form).collect();
            at = plan.give_way(&forms);
        }
        (state.approval, state.actions) = (None, Actions::default());
    }
    plan.tasks.splice(at..at, intent.tasks.iter().cloned());
    state.intent_result = Some(intent);
}

/// Removes the results of the failed path, since the next path decides again; completed writes are
/// in the receipts.
fn fell_back(state: &mut Steward, reason: String) {
    let made = state.intent_result.take().unwrap_or_default().tasks;
    let is_new = |task: &PlanTask| made.iter().any(|made| made.task_id == task.task_id);
    state.steward_state.tasks.retain(|task| !is_new(task));
    (state.slot_decision, state.runtime_decision, state.flow) = (None, None, None);
    (state.actions, state.approval, state.action_result) = (Actions::default(), None, None);
    state.rollback = Some(reason.clone());
    state.fallback_reason = Some(reason);
}

fn decided(state: &mut Steward, decision: RuntimeDecision) {
    let is_no = state.rejects && state.is_pending() && decision == RuntimeDecision::Unclear;
    let decision = if is_no {
        RuntimeDecision::Cancel
    } else {
        decision
    };
    if decision == RuntimeDecision::Cancel && state.is_pending() {
        declined(state);
    }
    match (&decision, state.steward_state.current_mut()) {
        (
            RuntimeDecision::Supplement {
                fields,
                form,
                unread,
            },
            Some(task),
        ) => {
            supplement(task, fields, *form);
            task.unread.clone_from(unread);
            // The new fields invalidate the proposed action.
            (state.approval, state.actions) = (None, Actions::default());
        }
        (RuntimeDecision::Cancel, Some(task)) => task.status = WorkStatus::Closed,
        (RuntimeDecision::Next, Some(_)) => state.steward_state.turn(),
        // "Go on" as an answer to the question for the form confirms the proposed form.
        (RuntimeDecision::Confirm, Some(task)) => {
            task.confidence = 1.0;
            task.unread.clear();
        }
        _ => {}
    }
    state.runtime_decision = Some(decision);
}

fn supplement(task: &mut PlanTask, fields: &Fields, form: Option<FormKind>) {
    if let Some(form) = form {
        if task.form != form {
            task.fields.clear();
        }
        (task.form, task.confidence) = (form, 1.0);
    }
    task.fields.extend(fields.clone());
}

fn declined(state: &mut Steward) {
    let at = state
        .next_step()
        .map_or_else(String::new, |call| call.name.clone());
    let why = state
        .lang()
        .pick("the person did not agree", "本人没有同意");
    let why = why.to_owned();
    state.action_result = Some(ActionResult {
        action: at.clone(),
        outcome: "cancelled".to_owned(),
        message: why.clone(),
        data: Value::Null,
    });
    state
        .actions
        .apply(ActionsUpdate::Ended(ActionEnd::Blocked { at, why }));
}
