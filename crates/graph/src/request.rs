//! The kinds of requests about a thread.
use crate::{Answers, InDoubt};

/// The beginning of a run.
#[derive(Clone, Copy)]
pub(crate) enum StartMode {
    /// It is stored with its first step.
    WithStep,
    /// It is stored before its first step.
    Stored,
    /// It is stored, and left to others.
    Left,
}

/// A request about a thread.
pub(crate) enum Request<U> {
    Start {
        updates: Vec<U>,
        key: Option<String>,
        way: StartMode,
    },
    Resume(Answers),
    Recover,
    Retry,
    Amend(StateEdit<U>),
    Cancel {
        by: String,
        why: String,
    },
}

impl<U> Request<U> {
    /// Creates the request for a run.
    pub(crate) fn start(key: Option<String>, updates: Vec<U>, way: StartMode) -> Self {
        Self::Start { updates, key, way }
    }

    /// Returns the name that the caller gave to the request.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Self::Start { key, .. } => key.as_deref(),
            Self::Resume(answers) => Some(&answers.key.as_ref()?.key),
            _ => None,
        }
    }

    /// Returns the same request, if it goes on with what a thread has left open.
    pub(crate) fn again(&self) -> Option<Self> {
        match self {
            Self::Resume(answers) => Some(Self::Resume(answers.clone())),
            Self::Recover => Some(Self::Recover),
            Self::Retry => Some(Self::Retry),
            _ => None,
        }
    }

    /// Returns the answers that a run which is under way can take.
    pub(crate) fn joins(&self) -> Option<&Answers> {
        match self {
            Self::Resume(answers) if !answers.is_empty() => Some(answers),
            _ => None,
        }
    }
}

/// A change by an operator to a thread that is parked or has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StateEdit<U> {
    /// The updates.
    pub updates: Vec<U>,
    /// The open task that these updates finish, by its address; none if only the state changes.
    pub task: Option<String>,
    /// The outcome of an effect of the whole thread that is in doubt, with its key.
    pub settled: Option<(String, InDoubt)>,
    /// The operator.
    pub by: String,
    /// The reason.
    pub why: String,
}

impl<U> StateEdit<U> {
    /// Creates an amendment that changes the state, and nothing else.
    pub fn new(
        updates: impl IntoIterator<Item = U>,
        by: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self {
            updates: updates.into_iter().collect(),
            task: None,
            settled: None,
            by: by.into(),
            why: why.into(),
        }
    }

    fugato_state::setters! {
        /// Settles an effect of the whole thread that is in doubt. A run that failed because of it
        /// can be retried then.
        pub fn settling(key: impl Into<String>, doubt: InDoubt) {
            settled = Some((key.into(), doubt))
        }

        /// Finishes an open task with these updates, on the operator's word: `node#visit`, as
        /// history and questions name it. The thread goes on from there.
        pub fn finishing(task: impl Into<String>) { task = Some(task.into()) }
    }
}
