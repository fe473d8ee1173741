use std::sync::Arc;

use fugato_state::{Interrupt, InterruptId, Millis, RunId, Seq};
use fugato_stream::EventKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::BudgetUsage;

/// JSON that the machine carries and does not parse.
pub(crate) type Json = Box<RawValue>;

/// A fact: the only thing that changes the machine, live and in replay.
///
/// `P` addresses a task: a `Path` in memory, text at rest.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", bound(deserialize = "P: Deserialize<'de>"))]
pub(crate) enum Fact<P> {
    /// The thread was created.
    Created {
        /// The version of the state.
        version: u32,
        /// The initial state.
        state: Json,
        /// A number that no other thread of this name had, so that idempotency keys differ.
        #[serde(default, rename = "birth", skip_serializing_if = "is_zero")]
        incarnation: u64,
    },
    /// A run began with an input.
    Started {
        /// The run.
        run: RunId,
        /// The graph and state version that run it.
        under: ProgramVersion,
        /// The caller's own name for the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<RequestKey>,
        /// The input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updates: Option<Json>,
        /// The first frontier.
        next: Vec<NextTask<P>>,
    },
    /// A task that is a subgraph began: the first fact of its scope.
    Entered {
        /// The version of the subgraph's state.
        version: u32,
        /// The subgraph's state, as the mapping made it.
        state: Json,
        /// The first frontier of the subgraph.
        next: Vec<NextTask<P>>,
    },
    /// One task is done, with its routes. In lockstep it was the only task of its step; an eager
    /// schedule closes every task alone.
    Stepped {
        /// The task.
        task: P,
        /// The number of the attempt, from 1.
        #[serde(default = "first", skip_serializing_if = "is_first")]
        attempt: u32,
        /// The updates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updates: Option<Json>,
        /// The durable notes to the reader.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<EventKind>,
        /// The routes.
        #[serde(default = "Routes::default", skip_serializing_if = "Routes::is_empty")]
        routes: Routes<P>,
    },
    /// One task of several has its outcome.
    Finished {
        /// The task.
        task: P,
        /// The number of the attempt, from 1.
        #[serde(default = "first", skip_serializing_if = "is_first")]
        attempt: u32,
        /// The updates, which apply when the step closes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updates: Option<Json>,
        /// The durable notes to the reader.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<EventKind>,
    },
    /// A step of several tasks closed.
    Closed {
        /// The routes.
        #[serde(default = "Routes::default", skip_serializing_if = "Routes::is_empty")]
        routes: Routes<P>,
    },
    /// An attempt of a task failed.
    Failed {
        /// The task.
        task: P,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The error.
        error: String,
        /// The time of the next try; none if the task failed for good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Millis>,
    },
    /// A task asks questions.
    Asked {
        /// The task.
        task: P,
        /// The number of the attempt, from 1.
        #[serde(default = "first", skip_serializing_if = "is_first")]
        attempt: u32,
        /// The memo that the task gets back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memo: Option<Value>,
        /// The questions.
        questions: Vec<Interrupt>,
    },
    /// An action that must not be done twice is about to begin.
    Intended {
        /// The task; none for an effect of the whole thread.
        #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
        task: Option<P>,
        /// The effect's key.
        key: Arc<str>,
        /// A digest of the input.
        digest: Arc<str>,
        /// The input, to find out whether it happened.
        input: Json,
        /// After this time of the store's clock the action is no longer under way.
        not_after: Millis,
    },
    /// An action happened.
    Receipt {
        /// The task; none for an effect of the whole thread.
        #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
        task: Option<P>,
        /// The effect's key.
        key: Arc<str>,
        /// A digest of the input.
        digest: Arc<str>,
        /// The result.
        value: Json,
    },
    /// An intended action certainly did not happen.
    Undone {
        /// The task; none for an effect of the whole thread.
        #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
        task: Option<P>,
        /// The effect's key.
        key: Arc<str>,
        /// The evidence of that.
        why: String,
    },
    /// Tasks of the run used amounts that count against its budgets.
    Spent {
        /// The amounts, by meter.
        amounts: BudgetUsage,
    },
    /// Questions were answered.
    Answered {
        /// The answers.
        answers: Vec<(InterruptId, Value)>,
        /// The caller that answered, and the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Attribution>,
    },
    /// A question was closed because the value it asked about has changed, or because it was asked
    /// before approvals were bound to what they show. Its task asks again.
    Withdrawn {
        /// The question.
        id: InterruptId,
    },
    /// A question expired unanswered.
    Expired {
        /// The question.
        id: InterruptId,
    },
    /// An unfinished run was taken over, or a failed one is tried again.
    Resumed {
        /// The graph and state version that go on.
        under: ProgramVersion,
        /// The tasks that run again, with the number of the attempt that begins.
        tasks: Vec<(P, u32)>,
    },
    /// The run reached its end.
    RunEnded {
        /// The output that the graph declares.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Json>,
    },
    /// The run failed.
    RunFailed {
        /// The error.
        error: String,
    },
    /// The run was cancelled.
    Cancelled {
        /// The caller that cancelled it.
        by: String,
        /// The reason.
        why: String,
        /// The tasks that were dropped.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<String>,
        /// The effects in doubt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        in_doubt: Vec<String>,
    },
    /// An operator changed the state.
    Amended {
        /// The updates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updates: Option<Json>,
        /// The open task that these updates finish, if they finish one.
        #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
        task: Option<P>,
        /// The operator.
        by: String,
        /// The reason.
        why: String,
    },
    /// The run was left to others between two steps: nothing of it was under way.
    HandedOver {},
    /// The log was folded under a newer version; later folds start at the snapshot written with
    /// this fact.
    Migrated {
        /// The graph and state version that go on.
        under: ProgramVersion,
    },
    /// The thread began as a copy of another.
    Forked {
        /// The other thread.
        from: String,
        /// The position up to which it was copied.
        seq: Seq,
        /// A number that no other thread of this name had.
        #[serde(default, rename = "birth", skip_serializing_if = "is_zero")]
        incarnation: u64,
    },
}

/// Returns the attempt that is not written, because most tasks need only one.
fn first() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_first(attempt: &u32) -> bool {
    *attempt == 1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The caller's own name for a request, so that a repeat has no second effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestKey {
    /// The name.
    pub key: String,
    /// A digest of the input.
    pub digest: String,
    /// The store's clock when the request came.
    pub at: Millis,
    /// The time until which a repeat is recognised, in milliseconds of the store's clock.
    pub until: Millis,
}

/// The caller that answered a question, and the request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attribution {
    /// The caller, as identified at the door.
    pub caller: String,
    /// The door: the protocol or program by which the answer came.
    pub door: String,
    /// The standing consent that answered in the person's place, such as a flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<RequestKey>,
}

impl Attribution {
    /// Creates the attribution to a caller and the door that they came by.
    pub fn new(caller: impl Into<String>, door: impl Into<String>) -> Self {
        Self {
            caller: caller.into(),
            door: door.into(),
            ..Self::default()
        }
    }

    /// Returns the caller's own name for the request, from [`Answers::keyed`](crate::Answers::keyed);
    /// none if it has none.
    pub fn request_key(&self) -> Option<&str> {
        self.key.as_ref().map(|named| named.key.as_str())
    }

    fugato_state::setters! {
        /// Sets the standing consent that answers in the person's place.
        pub fn standing(consent: impl Into<String>) { standing = Some(consent.into()) }
    }
}

/// The graph and state version that wrote the facts that follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramVersion {
    /// The fingerprint of the graph.
    pub graph: Arc<str>,
    /// The version of the state.
    pub state: u32,
}

/// The routes of a closing step: everything that routers decided.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Routes<P> {
    /// The next frontier.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextTask<P>>,
    /// Arrivals at joins: the joining node, and the node that arrived.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub arrived: Vec<(String, String)>,
    /// Joins that are complete.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
}

/// A task, or a scatter of tasks, of the next frontier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NextTask<P> {
    /// The task; of a scatter, the path without the index.
    pub task: P,
    /// The items of a scatter: one task for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<ScatterItem>>,
}

/// One item of a scatter, as JSON text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ScatterItem(pub(crate) Arc<RawValue>);

impl PartialEq for ScatterItem {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Eq for ScatterItem {}

impl<P> Routes<P> {
    /// Returns true if nothing follows.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.is_empty() && self.arrived.is_empty() && self.joined.is_empty()
    }

    /// Removes all, and keeps the room for others.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.next.clear();
        // Most routes lead to no join, and clearing an empty list costs more than looking.
        if !self.arrived.is_empty() {
            self.arrived.clear();
        }
        if !self.joined.is_empty() {
            self.joined.clear();
        }
    }
}
