//! What tasks and their driver say to each other about actions.
use std::time::Duration;

use fugato_state::{EffectClass, Millis};
use tokio::sync::oneshot;

use super::Ticket;
use crate::{
    machine::{Json, Meter, Path},
    scope::At,
};

/// What a task asks of its driver. Small, because each run has room for some of them.
pub(crate) enum Call {
    /// May this action begin?
    Begin(Box<Begin>),
    /// An action ended.
    End(Box<Ending>),
    /// Only a person knows whether this action happened.
    AskPerson(Box<Asking>),
    /// Something that the run has a budget of was used.
    Spend { meter: Meter, amount: u64 },
    /// What has this task done so far, in any attempt?
    Deeds {
        who: Box<Who>,
        reply: oneshot::Sender<Vec<String>>,
    },
}

pub(crate) struct Begin {
    pub(crate) who: Who,
    pub(crate) key: String,
    pub(crate) digest: String,
    pub(crate) class: EffectClass,
    pub(crate) input: Json,
    pub(crate) timeout: Millis,
    pub(crate) reply: oneshot::Sender<Permit>,
}

pub(crate) struct Ending {
    pub(crate) who: Who,
    pub(crate) key: String,
    pub(crate) digest: String,
    pub(crate) class: EffectClass,
    pub(crate) end: End,
    pub(crate) reply: oneshot::Sender<Permit>,
}

pub(crate) struct Asking {
    pub(crate) who: Who,
    pub(crate) key: String,
    pub(crate) problem: Option<String>,
}

/// The attempt of a task that calls.
#[derive(Clone)]
pub(crate) struct Who {
    pub(crate) at: At,
    pub(crate) path: Path,
    pub(crate) attempt: u32,
    pub(crate) whole_thread: bool,
}

/// How an action ended.
pub(crate) enum End {
    Happened(Json),
    DidNotHappen(String),
    Unknown,
}

/// What a task may do now.
pub(crate) enum Permit {
    /// Act. The key is the same whenever this action is tried.
    Go {
        idempotency_key: String,
        not_after: Millis,
        /// Of an action that must not be done twice.
        ticket: Option<Ticket>,
    },
    /// It is known now that it did not happen.
    Noted,
    /// It was done before: this came out.
    Replay(Json),
    /// A person says that it happened, and that this came out.
    Told(Json),
    /// Nobody knows whether it happened. It may be under way for this long.
    Doubt { wait: Duration },
    /// The key was used with another input.
    Changed { recorded: String },
}

pub(crate) type Calls = tokio::sync::mpsc::UnboundedSender<Call>;
