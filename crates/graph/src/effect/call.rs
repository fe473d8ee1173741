//! The messages between tasks and their driver about actions.
use std::{sync::Arc, time::Duration};

use fugato_state::{EffectClass, Millis};
use fugato_stream::Hub;
use tokio::sync::oneshot;

use super::StartGuard;
use crate::{
    Answers, RunError,
    machine::{BudgetUnit, Json, TaskPath},
    scope::{ScopeAddress, trail},
};

/// A call of a task, or of a client that answers, to the driver of a run.
pub(crate) enum Call {
    /// A request to begin an action.
    Begin(BeginCall),
    /// The end of an action.
    End(EndCall),
    /// A request to ask a person whether an action happened.
    AskPerson(AskCall),
    /// An amount that counts against the budgets of the run.
    Spend { meter: BudgetUnit, amount: u64 },
    /// A request for the keys of the effects of this task, in all attempts.
    PerformedEffects {
        who: AttemptRef,
        reply: oneshot::Sender<Vec<String>>,
    },
    /// Answers to questions that are open while other tasks work.
    Answer(AnswerCall),
}

/// Answers that a client hands to the run under way. Without a reply nothing came of them, or it is
/// not known: the client looks again when the run has left.
pub(crate) struct AnswerCall {
    pub(crate) answers: Answers,
    /// The hub of the client's request, which gets the events of the run from here on.
    pub(crate) hub: Arc<Hub>,
    /// Sent when the answers are stored, or refused.
    pub(crate) reply: oneshot::Sender<Result<(), RunError>>,
}

/// An action as its task names it.
pub(crate) struct NamedEffect {
    pub(crate) who: AttemptRef,
    pub(crate) key: Arc<str>,
    pub(crate) digest: Arc<str>,
    pub(crate) input: Json,
    pub(crate) class: EffectClass,
    pub(crate) timeout: Duration,
}

pub(crate) struct BeginCall {
    pub(crate) effect: Arc<NamedEffect>,
    pub(crate) reply: oneshot::Sender<StartDecision>,
}

pub(crate) struct EndCall {
    pub(crate) effect: Arc<NamedEffect>,
    pub(crate) end: EffectEnd,
    /// Gets [`StartDecision::EndStored`] when the end is stored; none if nobody waits for that.
    pub(crate) reply: Option<oneshot::Sender<StartDecision>>,
}

pub(crate) struct AskCall {
    pub(crate) effect: Arc<NamedEffect>,
    pub(crate) problem: Option<String>,
}

/// The attempt of a task that calls.
#[derive(Clone)]
pub(crate) struct AttemptRef {
    pub(crate) at: ScopeAddress,
    pub(crate) path: TaskPath,
    pub(crate) attempt: u32,
    pub(crate) whole_thread: bool,
}

impl AttemptRef {
    /// Returns the task of the effect; none if it belongs to the whole thread.
    pub(crate) fn task(&self) -> Option<TaskPath> {
        (!self.whole_thread).then_some(self.path)
    }
}

impl NamedEffect {
    /// Returns true if both are the same action of one task, or of the whole thread.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let task = self.who.task();
        self.key == other.key
            && task == other.who.task()
            && (task.is_none() || trail(&self.who.at) == trail(&other.who.at))
    }
}

/// The end of an action.
pub(crate) enum EffectEnd {
    Happened(Json),
    DidNotHappen(String),
    Unknown,
}

/// The reply of the driver to a task.
pub(crate) enum StartDecision {
    /// The action may begin. The key is the same for every attempt of it.
    Execute {
        idempotency_key: String,
        not_after: Millis,
        /// The ticket of a once-only action.
        ticket: Option<StartGuard>,
    },
    /// The end of the action is stored.
    EndStored,
    /// It was done before, with this result.
    Replay(Json),
    /// A person says that it happened, with this result.
    Settled(Json),
    /// It is in doubt, and may be under way for this long.
    InDoubt { wait: Duration },
    /// The key was used with another input.
    Changed { recorded: String },
}
