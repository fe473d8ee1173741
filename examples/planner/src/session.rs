//! What one session of a person with the desk keeps, and every change of it.
mod older;

use std::collections::{BTreeMap, BTreeSet};

use fugato::{
    agent::{
        Embeds, React, ReactUpdate, TakesOver, ToolUse,
        compact::Layered,
        plan::{Work, WorkUpdate},
        preflight::Informed,
        written,
    },
    memory::{
        ExecutionStatus, ExecutionUpdate, History, HistoryUpdate, MemoryUpdate, PersonCopy,
        PersonUpdate, PreferenceUpdate, Reference, Snapshot, Speaker, TaskState, TaskUpdate, Turn,
    },
    state::{MigrateError, Millis, State},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    facts::{self, Topic},
    intent,
};

/// A session. A thread is one; a person may have several at once.
///
/// `history`, `work.execution`, `person.task` and `person.preferences` are the layers of memory, and
/// they do not mix. The last two belong to the person: what is here is a copy, which each run takes
/// anew.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Whose session it is.
    pub user: String,
    /// How often it was begun anew.
    pub number: u32,
    /// What was said first that is no command.
    pub title: String,
    /// What was said lately.
    pub history: History,
    /// What the person is about, over all sessions, and what they want in general.
    #[serde(flatten)]
    pub person: PersonCopy,
    /// How far the present work is: plan, observations, references, and the newest look at the world.
    pub work: Work,
    /// What was written by work that did not end well, or is tried again: it is not done again
    /// without the person being told.
    pub done: Vec<ToolUse>,
    /// The loop of model and tools that takes over where there is no plan.
    pub rescue: React,
    /// What was said last, and what it means.
    pub message: Message,
    /// What the person is told in the end.
    pub reply: String,
}

/// A message, and what is done about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Message {
    /// The how manieth it is.
    pub number: u64,
    /// What was said.
    pub text: String,
    /// When it was understood.
    pub at: Millis,
    /// What is done about it.
    pub course: Course,
}

/// What is done about a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// It is work for the planner.
    #[default]
    Work,
    /// It is work again that did not end well, or work from the beginning: what is known of the
    /// task is not told to the planner.
    Again,
    /// A word is enough, and it is in the reply.
    Reply,
}

/// A change of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionUpdate {
    /// A person says something.
    Said {
        /// Who.
        user: String,
        /// What.
        text: String,
    },
    /// It is understood.
    Understood {
        /// When.
        at: Millis,
        /// What is done about it.
        course: Course,
    },
    /// A change of what is known of the person.
    Person(PersonUpdate),
    /// A change of what was said.
    History(HistoryUpdate),
    /// A change of how far the work is.
    Execution(ExecutionUpdate),
    /// A change of the work.
    Work(WorkUpdate),
    /// A change of the loop that takes over.
    Rescue(ReactUpdate),
    /// The person is told this.
    Replied {
        /// What.
        text: String,
    },
    /// It is part of what was said from now on.
    Delivered {
        /// When.
        at: Millis,
        /// Whether it tells what was true then.
        live: bool,
    },
    /// The layers of the work are emptied.
    Cleared,
    /// Another session begins in this thread.
    Renewed,
}

impl Session {
    /// The name of the session: that of its thread, and how often it was begun anew.
    pub fn id(&self, thread: &str) -> String {
        match self.number {
            0 => thread.to_owned(),
            n => format!("{thread}#{n}"),
        }
    }

    /// What the work is about: the message, or what it answers.
    pub fn goal(&self) -> &str {
        let goal = self.work.execution.goal.trim();
        if goal.is_empty() {
            &self.message.text
        } else {
            goal
        }
    }

    /// What was looked up about a topic.
    pub fn seen<T: serde::de::DeserializeOwned>(&self, topic: Topic) -> Option<T> {
        let snapshot = self.work.execution.snapshots.get(&topic.fact().kind)?;
        T::deserialize(&snapshot.value).ok()
    }

    /// What the present work has written, whoever decided it.
    pub fn written(&self) -> Vec<ToolUse> {
        written(self, facts::is_read)
    }

    /// Before the work gives way to other work, what it has written is put on record, until some
    /// later work ends well and is not tried again.
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
        self.work = Work::default();
        self.done.clear();
        self.rescue = React::default();
    }
}

impl State for Session {
    type Update = SessionUpdate;

    /// Version 2: what is known of the person is one part, and the loop begins as any other.
    const VERSION: u32 = 2;

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
                self.message = Message {
                    number,
                    text,
                    ..Message::default()
                };
                self.reply.clear();
            }
            SessionUpdate::Understood { at, course } => {
                (self.message.at, self.message.course) = (at, course);
                let turn = Turn::new(Speaker::User, &self.message.text, at);
                self.history.apply(HistoryUpdate::Said(turn));
            }
            SessionUpdate::Person(update) => self.person.apply(update),
            SessionUpdate::History(update) => self.history.apply(update),
            SessionUpdate::Execution(update) => self.work.execution.apply(update),
            SessionUpdate::Work(update) => self.work(update),
            SessionUpdate::Rescue(update) => self.rescue.apply(update),
            SessionUpdate::Replied { text } => self.reply = text,
            SessionUpdate::Delivered { at, live } => {
                let turn = Turn::new(Speaker::Assistant, &self.reply, at).passing(live);
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

impl Embeds<Work> for Session {
    fn part(&self) -> &Work {
        &self.work
    }

    fn embed(update: WorkUpdate) -> SessionUpdate {
        SessionUpdate::Work(update)
    }
}

impl Embeds<React> for Session {
    fn part(&self) -> &React {
        &self.rescue
    }

    fn embed(update: ReactUpdate) -> SessionUpdate {
        SessionUpdate::Rescue(update)
    }
}

impl Embeds<PersonCopy> for Session {
    fn part(&self) -> &PersonCopy {
        &self.person
    }

    fn embed(update: PersonUpdate) -> SessionUpdate {
        SessionUpdate::Person(update)
    }
}

impl TakesOver for Session {
    fn request(&self) -> String {
        self.message.number.to_string()
    }

    fn done(&self) -> &[ToolUse] {
        &self.done
    }
}

impl Informed for Session {
    /// What was asked for and answered, what the steps call, and what is in view already.
    fn about(&self) -> Vec<String> {
        let steps = &self.work.steps;
        let replies = steps.iter().map(|step| step.output_summary.as_str());
        let said = replies.chain([self.goal(), &self.message.text]);
        let topics = said.flat_map(intent::topics);
        let wanted = intent::wish(self.goal()).tool().map(str::to_owned);
        let called = steps.iter().map(|step| step.draft.tool_name.clone());
        let in_view = self.work.execution.snapshots.keys().cloned();
        // What "it" stands for may be gone.
        let meant = self.work.execution.references.keys();
        let meant = meant.filter_map(|kind| facts::of_reference(kind));
        let all = topics.chain(meant).map(|topic| topic.fact().tool.clone());
        let all = all.chain(wanted).chain(called).chain(in_view);
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn snapshots(&self) -> &BTreeMap<String, Snapshot> {
        &self.work.execution.snapshots
    }

    fn seen(kind: String, snapshot: Snapshot) -> SessionUpdate {
        SessionUpdate::Execution(ExecutionUpdate::Seen { kind, snapshot })
    }

    fn unseen(kind: String) -> SessionUpdate {
        SessionUpdate::Execution(ExecutionUpdate::Unseen { kind })
    }
}

impl Layered for Session {
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

/// A word stands for this from now on.
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

/// A preference that a person has stated.
pub fn preferred(name: &str, wish: &str) -> SessionUpdate {
    let (name, wish) = (name.to_owned(), wish.to_owned());
    kept(MemoryUpdate::Preference(PreferenceUpdate::Set {
        name,
        wish,
    }))
}

/// A change of what is known of the person, which is to be stored.
pub fn kept(update: MemoryUpdate) -> SessionUpdate {
    SessionUpdate::Person(PersonUpdate::Changed(update))
}
