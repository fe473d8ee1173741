//! The state of one session of a person with the desk, and its changes.
mod older;

use std::collections::{BTreeMap, BTreeSet};

use fugato::{
    agent::{
        Embeds, React, ReactUpdate,
        memory::LayeredMemory,
        plan::{FactState, PlanProgress, WorkUpdate, written},
        toolbox::ToolUse,
    },
    cli::Lang,
    memory::{
        DialogueTurn, ExecutionStatus, ExecutionUpdate, History, HistoryUpdate, MemoryUpdate,
        PersonCopy, PersonUpdate, PreferenceUpdate, Reference, Speaker, TaskState, TaskUpdate,
        WorldSnapshot,
    },
    state::{MigrateError, Millis, State},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    facts::{self, Topic},
    intent,
};

/// A session. Each thread has one; a person may have several at once.
///
/// `history`, `work.execution`, `person.task` and `person.preferences` are the layers of memory,
/// which do not mix. The last two belong to the person: the session has a copy, which each run
/// loads again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannerSession {
    /// The user whose session it is.
    pub user: String,
    /// The number of times that it was renewed.
    pub number: u32,
    /// The first message that is no command.
    pub title: String,
    /// The recent messages.
    pub history: History,
    /// The copy of the person's task state, over all sessions, and of their preferences.
    #[serde(flatten)]
    pub person: PersonCopy,
    /// The progress of the present work: plan, observations, references, and the newest snapshots
    /// of facts.
    pub work: PlanProgress,
    /// The writes of earlier work that did not end well or is tried again. They are not repeated
    /// unless the person agrees.
    pub done: Vec<ToolUse>,
    /// The loop of model and tools that takes over where there is no plan.
    pub rescue: React,
    /// The last message, and its meaning.
    pub message: SessionMessage,
    /// The final reply to the person.
    pub reply: String,
}

/// A message, and the way in which it is handled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionMessage {
    /// Its number in the thread, counted from 1.
    pub number: u64,
    /// The text.
    pub text: String,
    /// The time at which it was understood.
    pub at: Millis,
    /// The way in which it is handled.
    pub course: Course,
}

/// The way in which a message is handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// It is work for the planner.
    #[default]
    Work,
    /// It is a retry of work that did not end well, or work from the beginning: the planner does
    /// not get the known state of the task.
    Again,
    /// The reply is a fixed text, which is already set.
    Reply,
}

/// A change of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionUpdate {
    /// A person sends a message.
    Said {
        /// The user.
        user: String,
        /// The text.
        text: String,
    },
    /// The message is understood.
    Understood {
        /// The time.
        at: Millis,
        /// The way in which it is handled.
        course: Course,
    },
    /// A change of the person's copy.
    Person(PersonUpdate),
    /// A change of the recent messages.
    History(HistoryUpdate),
    /// A change of the progress of the work.
    Execution(ExecutionUpdate),
    /// A change of the work.
    Work(WorkUpdate),
    /// A change of the loop that takes over.
    Rescue(ReactUpdate),
    /// The reply to the person is set.
    Replied {
        /// The text.
        text: String,
    },
    /// The reply becomes part of the recent messages.
    Delivered {
        /// The time.
        at: Millis,
        /// True if it contains facts that may have changed since.
        live: bool,
    },
    /// The layers of the work are emptied.
    Cleared,
    /// Another session begins in this thread.
    Renewed,
}

impl PlannerSession {
    /// Returns the name of the session: that of its thread, with the number of renewals if there
    /// are any.
    pub fn id(&self, thread: &str) -> String {
        match self.number {
            0 => thread.to_owned(),
            n => format!("{thread}#{n}"),
        }
    }

    /// Returns the goal of the work: the one that it has, or else the message.
    pub fn goal(&self) -> &str {
        let goal = self.work.execution.goal.trim();
        if goal.is_empty() {
            &self.message.text
        } else {
            goal
        }
    }

    /// Returns the snapshot of a topic, if it was looked up.
    pub fn seen<T: serde::de::DeserializeOwned>(&self, topic: Topic) -> Option<T> {
        let snapshot = self.work.execution.snapshots.get(&topic.fact().kind)?;
        T::deserialize(&snapshot.value).ok()
    }

    /// Returns the writes of the present work, by the plan or the loop.
    pub fn written(&self) -> Vec<ToolUse> {
        written(self, facts::is_read)
    }

    /// Records the writes of the work before other work replaces it. The record is kept until later
    /// work ends well and is not tried again.
    fn keep_done(&mut self) {
        let run = &self.rescue.run;
        let is_rescued = !run.final_reply.is_empty() && run.stop_reason.is_none();
        let is_over = is_rescued || self.work.status() == ExecutionStatus::Completed;
        if is_over && self.message.course != Course::Again {
            self.done.clear();
            return;
        }
        let written = self.written();
        self.done.extend(written);
    }

    fn work(&mut self, update: WorkUpdate) {
        let is_new = matches!(update, WorkUpdate::Requested { .. });
        if is_new {
            self.keep_done();
        }
        let references = std::mem::take(&mut self.work.execution.references);
        self.work.apply(update);
        self.work.execution.references = references;
        if is_new {
            self.rescue = React::default();
        }
    }

    fn clear(&mut self) {
        self.history.apply(HistoryUpdate::Cleared);
        self.work = PlanProgress::default();
        self.done.clear();
        self.rescue = React::default();
    }
}

impl State for PlannerSession {
    type Update = SessionUpdate;

    /// Version 2: the copy of the person is one part, and the loop that takes over begins like any
    /// other.
    const VERSION: u32 = 2;

    /// Returns the language of the work, or of the last words that are no command.
    fn lang(&self) -> Lang {
        let is_said = |text: &&str| !text.trim_start().starts_with('/');
        let turns = self.history.turns().iter().rev();
        let said = turns.filter(|turn| turn.by == Speaker::User);
        let said = said.map(|turn| turn.text.as_str());
        let mut words = [self.goal()].into_iter().chain(said).chain([&*self.title]);
        let words = words.find(|text| is_said(text) && !text.is_empty());
        Lang::of(words.unwrap_or_default())
    }

    fn migrate_update(from: u32, old: Value) -> Result<Vec<SessionUpdate>, MigrateError> {
        let (new, to) = (older::from_1(old), Self::VERSION);
        let read = serde_json::from_value(new).map(|update| vec![update]);
        read.map_err(|source| MigrateError { from, to, source })
    }

    fn apply(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::Said { user, text } => {
                self.user = user;
                if self.title.is_empty() && !text.trim().starts_with('/') {
                    self.title.clone_from(&text);
                }
                let number = self.message.number + 1;
                self.message = SessionMessage {
                    number,
                    text,
                    ..SessionMessage::default()
                };
                self.reply.clear();
            }
            SessionUpdate::Understood { at, course } => {
                (self.message.at, self.message.course) = (at, course);
                let turn = DialogueTurn::new(Speaker::User, &self.message.text, at);
                self.history.apply(HistoryUpdate::Said(turn));
            }
            SessionUpdate::Person(update) => self.person.apply(update),
            SessionUpdate::History(update) => self.history.apply(update),
            SessionUpdate::Execution(update) => self.work.execution.apply(update),
            SessionUpdate::Work(update) => self.work(update),
            SessionUpdate::Rescue(update) => self.rescue.apply(update),
            SessionUpdate::Replied { text } => self.reply = text,
            SessionUpdate::Delivered { at, live } => {
                let turn = DialogueTurn::new(Speaker::Assistant, &self.reply, at).passing(live);
                self.history.apply(HistoryUpdate::Said(turn));
            }
            SessionUpdate::Cleared => {
                self.clear();
                let cleared = MemoryUpdate::Task(TaskUpdate::Cleared);
                self.person.apply(PersonUpdate::Changed(cleared));
            }
            SessionUpdate::Renewed => {
                self.number += 1;
                self.title.clear();
                self.clear();
            }
        }
    }
}

impl Embeds<PlanProgress> for PlannerSession {
    fn part(&self) -> &PlanProgress {
        &self.work
    }

    fn embed(update: WorkUpdate) -> SessionUpdate {
        SessionUpdate::Work(update)
    }
}

impl Embeds<React> for PlannerSession {
    fn part(&self) -> &React {
        &self.rescue
    }

    fn embed(update: ReactUpdate) -> SessionUpdate {
        SessionUpdate::Rescue(update)
    }
}

impl Embeds<PersonCopy> for PlannerSession {
    fn part(&self) -> &PersonCopy {
        &self.person
    }

    fn embed(update: PersonUpdate) -> SessionUpdate {
        SessionUpdate::Person(update)
    }
}

impl FactState for PlannerSession {
    /// Returns the tools and facts that the goal, the answers, the steps and the present snapshots
    /// are about.
    fn about(&self) -> Vec<String> {
        let steps = &self.work.steps;
        let replies = steps.iter().map(|step| step.output_summary.as_str());
        let said: Vec<&str> = replies.chain([self.goal(), &self.message.text]).collect();
        let topics = said.iter().flat_map(|text| intent::topics(text));
        let wanted = intent::wish(self.goal()).tool();
        // A question about an order is about what it would come to.
        let trades = said.iter().any(|text| intent::trades(text));
        let trades = trades.then_some("place_order");
        let wanted = wanted.into_iter().chain(trades).map(str::to_owned);
        let called = steps.iter().map(|step| step.draft.tool_name.clone());
        let in_view = self.work.execution.snapshots.keys().cloned();
        // The referent of "it" may no longer exist.
        let meant = self.work.execution.references.keys();
        let meant = meant.filter_map(|kind| facts::of_reference(kind));
        let all = topics.chain(meant).map(|topic| topic.fact().tool.clone());
        let all = all.chain(wanted).chain(called).chain(in_view);
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn snapshots(&self) -> &BTreeMap<String, WorldSnapshot> {
        &self.work.execution.snapshots
    }

    fn seen(kind: String, snapshot: WorldSnapshot) -> SessionUpdate {
        SessionUpdate::Execution(ExecutionUpdate::Seen { kind, snapshot })
    }

    fn unseen(kind: String) -> SessionUpdate {
        SessionUpdate::Execution(ExecutionUpdate::Unseen { kind })
    }
}

impl LayeredMemory for PlannerSession {
    fn history(&self) -> &History {
        &self.history
    }

    fn task(&self) -> &TaskState {
        &self.person.task
    }

    fn compacted(task: TaskUpdate, history: HistoryUpdate) -> Vec<SessionUpdate> {
        vec![
            kept(MemoryUpdate::Task(facts::without_live(task))),
            SessionUpdate::History(history),
        ]
    }
}

/// Returns the change after which a word of this kind refers to this name.
pub fn referred(kind: &str, name: &str) -> SessionUpdate {
    let to = Reference {
        id: name.to_owned(),
        name: name.to_owned(),
    };
    SessionUpdate::Execution(ExecutionUpdate::Referred {
        kind: kind.to_owned(),
        to,
    })
}

/// Returns the change for a preference that a person has stated.
pub fn preferred(name: &str, wish: &str) -> SessionUpdate {
    let (name, wish) = (name.to_owned(), wish.to_owned());
    kept(MemoryUpdate::Preference(PreferenceUpdate::Set {
        name,
        wish,
    }))
}

/// Returns a change of the person's copy that is to be stored.
pub fn kept(update: MemoryUpdate) -> SessionUpdate {
    SessionUpdate::Person(PersonUpdate::Changed(update))
}
