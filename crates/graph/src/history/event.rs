use std::{borrow::Cow, collections::BTreeMap};

use fugato_state::{Interrupt, InterruptId, Millis, Seq};
use fugato_stream::EventKind;
use serde::Serialize;
use serde_json::Value;

use super::HistoryEntry;
use crate::machine::{Attribution, BudgetUnit, Fact, Json};

/// The event that a record of a thread tells, from [`HistoryEntry::event`]. Tasks are addressed as
/// `node#visit`, or `node#visit[index]` inside a scatter; updates, states and outputs are JSON.
///
/// It is a view: the form in which logs store it is no part of the API, and grows.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum HistoryEvent<'a> {
    /// The thread was created.
    Created,
    /// A run began with an input.
    Started {
        /// The input.
        updates: Option<&'a str>,
    },
    /// A task that is a subgraph began: the first event of its scope.
    Entered {
        /// The subgraph's state, as the mapping made it.
        state: &'a str,
    },
    /// One task is done, and with it its step.
    Stepped {
        /// The task.
        task: &'a str,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The updates.
        updates: Option<&'a str>,
        /// The durable notes to the reader.
        notes: &'a [EventKind],
    },
    /// One task of several has its outcome.
    Finished {
        /// The task.
        task: &'a str,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The updates, which apply when the step closes.
        updates: Option<&'a str>,
        /// The durable notes to the reader.
        notes: &'a [EventKind],
    },
    /// A step of several tasks closed.
    Closed,
    /// An attempt of a task failed.
    Failed {
        /// The task.
        task: &'a str,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The error.
        error: &'a str,
        /// The time of the next try; none if the task failed for good.
        retry_at: Option<Millis>,
    },
    /// A task asks questions.
    Asked {
        /// The task.
        task: &'a str,
        /// The questions.
        questions: &'a [Interrupt],
    },
    /// An action that must not be done twice is about to begin.
    Intended {
        /// The task; none for an effect of the whole thread.
        task: Option<&'a str>,
        /// The effect's key.
        key: &'a str,
        /// After this time of the store's clock the action is no longer under way.
        not_after: Millis,
    },
    /// An action happened.
    Receipt {
        /// The task; none for an effect of the whole thread.
        task: Option<&'a str>,
        /// The effect's key.
        key: &'a str,
    },
    /// An intended action certainly did not happen.
    Undone {
        /// The task; none for an effect of the whole thread.
        task: Option<&'a str>,
        /// The effect's key.
        key: &'a str,
        /// The evidence of that.
        why: &'a str,
    },
    /// Tasks of the run used amounts that count against its budgets.
    Spent {
        /// The amounts, by meter.
        amounts: &'a BTreeMap<BudgetUnit, u64>,
    },
    /// Questions were answered.
    Answered {
        /// The answers.
        answers: &'a [(InterruptId, Value)],
        /// The caller that answered, and the request.
        by: Option<&'a Attribution>,
    },
    /// A question was closed because the value it asked about has changed, or because it was asked
    /// before approvals were bound to what they show. Its task asks again.
    Withdrawn {
        /// The question.
        id: &'a InterruptId,
    },
    /// A question expired unanswered.
    Expired {
        /// The question.
        id: &'a InterruptId,
    },
    /// An unfinished run was taken over, or a failed one is tried again.
    Resumed {
        /// The fingerprint of the graph that goes on.
        graph: &'a str,
        /// The tasks that run again, with the number of the attempt that begins.
        tasks: &'a [(String, u32)],
    },
    /// The run reached its end.
    RunEnded {
        /// The output that the graph declares.
        output: Option<&'a str>,
    },
    /// The run failed.
    RunFailed {
        /// The error.
        error: &'a str,
    },
    /// The run was cancelled.
    Cancelled {
        /// The caller that cancelled it.
        by: &'a str,
        /// The reason.
        why: &'a str,
        /// The tasks that were dropped.
        dropped: &'a [String],
        /// The effects in doubt.
        in_doubt: &'a [String],
    },
    /// An operator changed the state.
    Amended {
        /// The updates.
        updates: Option<&'a str>,
        /// The open task that these updates finish, if they finish one.
        task: Option<&'a str>,
        /// The operator.
        by: &'a str,
        /// The reason.
        why: &'a str,
    },
    /// The run was left to others between two steps: nothing of it was under way.
    HandedOver,
    /// The log was folded under a newer version; later folds start at the snapshot written then.
    Migrated,
    /// The thread began as a copy of another.
    Forked {
        /// The other thread.
        from: &'a str,
        /// The position up to which it was copied.
        seq: Seq,
    },
}

impl HistoryEntry {
    /// Returns the event that the record tells.
    pub fn event(&self) -> HistoryEvent<'_> {
        match &self.fact {
            Fact::Created { .. } => HistoryEvent::Created,
            Fact::Started { updates, .. } => HistoryEvent::Started {
                updates: text(updates.as_ref()),
            },
            Fact::Entered { state, .. } => HistoryEvent::Entered { state: state.get() },
            Fact::Closed { .. } => HistoryEvent::Closed,
            Fact::Spent { amounts } => HistoryEvent::Spent { amounts },
            Fact::Answered { answers, by } => HistoryEvent::Answered {
                answers,
                by: by.as_ref(),
            },
            Fact::Withdrawn { id } => HistoryEvent::Withdrawn { id },
            Fact::Expired { id } => HistoryEvent::Expired { id },
            Fact::Resumed { under, tasks } => HistoryEvent::Resumed {
                graph: &under.graph,
                tasks,
            },
            Fact::RunEnded { output } => HistoryEvent::RunEnded {
                output: text(output.as_ref()),
            },
            Fact::RunFailed { error } => HistoryEvent::RunFailed { error },
            Fact::Cancelled {
                by,
                why,
                dropped,
                in_doubt,
            } => HistoryEvent::Cancelled {
                by,
                why,
                dropped,
                in_doubt,
            },
            Fact::HandedOver {} => HistoryEvent::HandedOver,
            Fact::Migrated { .. } => HistoryEvent::Migrated,
            Fact::Forked { from, seq, .. } => HistoryEvent::Forked { from, seq: *seq },
            Fact::Stepped { .. }
            | Fact::Finished { .. }
            | Fact::Failed { .. }
            | Fact::Asked { .. }
            | Fact::Intended { .. }
            | Fact::Receipt { .. }
            | Fact::Undone { .. }
            | Fact::Amended { .. } => self.event_of_task(),
        }
    }

    fn event_of_task(&self) -> HistoryEvent<'_> {
        match &self.fact {
            Fact::Stepped {
                task,
                attempt,
                updates,
                notes,
                ..
            } => HistoryEvent::Stepped {
                task,
                attempt: *attempt,
                updates: text(updates.as_ref()),
                notes,
            },
            Fact::Finished {
                task,
                attempt,
                updates,
                notes,
            } => HistoryEvent::Finished {
                task,
                attempt: *attempt,
                updates: text(updates.as_ref()),
                notes,
            },
            Fact::Failed {
                task,
                attempt,
                error,
                retry_at,
            } => HistoryEvent::Failed {
                task,
                attempt: *attempt,
                error,
                retry_at: *retry_at,
            },
            Fact::Asked {
                task, questions, ..
            } => HistoryEvent::Asked { task, questions },
            Fact::Intended {
                task,
                key,
                not_after,
                ..
            } => HistoryEvent::Intended {
                task: task.as_deref(),
                key,
                not_after: *not_after,
            },
            Fact::Receipt { task, key, .. } => HistoryEvent::Receipt {
                task: task.as_deref(),
                key,
            },
            Fact::Undone { task, key, why } => HistoryEvent::Undone {
                task: task.as_deref(),
                key,
                why,
            },
            Fact::Amended {
                updates,
                task,
                by,
                why,
            } => HistoryEvent::Amended {
                updates: text(updates.as_ref()),
                task: task.as_deref(),
                by,
                why,
            },
            _ => unreachable!("an event of the thread or of a run"),
        }
    }

    /// Returns the tasks that are due from this record on: the address of each, and its item, as
    /// JSON, inside a scatter.
    pub fn due(&self) -> impl Iterator<Item = (Cow<'_, str>, Option<&str>)> {
        let next = match &self.fact {
            Fact::Started { next, .. } | Fact::Entered { next, .. } => next.as_slice(),
            Fact::Stepped { routes, .. } | Fact::Closed { routes } => &routes.next,
            _ => &[],
        };
        next.iter().flat_map(|next| {
            let alone = next
                .items
                .is_none()
                .then(|| (next.task.as_str().into(), None));
            let items = next.items.iter().flatten().enumerate();
            let scattered = items.map(|(at, item)| {
                let address = format!("{}[{at}]", next.task);
                (address.into(), Some(item.0.get()))
            });
            alone.into_iter().chain(scattered)
        })
    }

    /// Returns the event in its stored form, for copies and for people who look into a log. Names
    /// that are in it stay, and new ones come.
    pub fn stored(&self) -> &impl Serialize {
        &self.fact
    }
}

fn text(json: Option<&Json>) -> Option<&str> {
    json.map(|json| json.get())
}
