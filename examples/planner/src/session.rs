//! What one session of a person with the desk keeps, and every change of it.
mod redact;

use std::collections::{BTreeMap, BTreeSet};

use fugato::{
    agent::{
        Embeds, React, ReactUpdate, ToolUse,
        compact::Layered,
        plan::{StepKind, StepStatus, Work, WorkUpdate},
        preflight::Informed,
    },
    memory::{
        ExecutionStatus, ExecutionUpdate, History, HistoryUpdate, MemoryUpdate, PreferenceUpdate,
        Preferences, Reference, Snapshot, Speaker, TaskState, TaskUpdate, Turn,
    },
    state::{Millis, State, ToolStatus},
};
use serde::{Deserialize, Serialize};

use crate::{
    facts,
    intent::{self, Wish},
    tools,
};

/// A session. A thread is one; a person may have several at once.
///
/// `history`, `task`, `work.execution` and `preferences` are the layers of memory, and they do not
/// mix. `task` and `preferences` belong to the person: what is here is a copy, which each run takes
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
    /// Answers that told what was true then, by when they were given: nobody believes them now.
    pub told: BTreeSet<Millis>,
    /// What the person is about, over all sessions.
    pub task: TaskState,
    /// What they want in general.
    pub preferences: Preferences,
    /// What of the two has changed and is not stored yet.
    pub unsaved: Vec<MemoryUpdate>,
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
    /// What is stored of the person was looked at.
    Recalled {
        /// What they are about.
        task: TaskState,
        /// What they want in general.
        preferences: Preferences,
    },
    /// A change of what is stored of the person.
    Kept(MemoryUpdate),
    /// So many of these changes are stored.
    Stored(usize),
    /// A change of what was said.
    History(HistoryUpdate),
    /// A change of how far the work is.
    Execution(ExecutionUpdate),
    /// A change of the work.
    Work(WorkUpdate),
    /// A change of the loop that takes over.
    Rescue(ReactUpdate),
    /// The loop takes over, and begins with this.
    RescueBegan {
        /// What it is told.
        told: String,
    },
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

    /// What was looked at, by kind.
    pub fn seen<T: serde::de::DeserializeOwned>(&self, kind: &str) -> Option<T> {
        let snapshot = self.work.execution.snapshots.get(kind)?;
        T::deserialize(&snapshot.value).ok()
    }

    /// The recent conversation as a model may read it: what was true at some time is left out.
    pub fn recent(&self) -> Vec<(Speaker, String)> {
        let turns = self.history.turns().iter();
        turns.map(|turn| (turn.by, self.turn(turn))).collect()
    }

    /// What the present work has written, whoever decided it.
    pub fn written(&self) -> Vec<ToolUse> {
        let steps = self.work.steps.iter();
        let ended = steps.filter(|step| step.status == StepStatus::Completed);
        let tools = ended.filter(|step| step.draft.kind == StepKind::Tool);
        let mut written: Vec<ToolUse> = tools
            .map(|step| {
                let call = step.call();
                ToolUse::new(call.name, call.arguments, &step.output_summary)
            })
            .collect();
        for used in &self.rescue.run.uses {
            // The loop is given the receipt of what the plan has done.
            let is_new = written.iter().all(|one| one.result != used.result);
            if used.status == ToolStatus::Ok && is_new {
                written.push(used.clone());
            }
        }
        written.retain(|used| !tools::is_read(&used.name));
        written
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

    fn deliver(&mut self, at: Millis, live: bool) {
        let (by, text) = (Speaker::Assistant, self.reply.clone());
        self.history
            .apply(HistoryUpdate::Said(Turn { by, text, at }));
        if live {
            self.told.insert(at);
        }
        let oldest = self.history.turns().first().map_or(at, |turn| turn.at);
        self.told.retain(|at| *at >= oldest);
    }

    fn keep(&mut self, update: MemoryUpdate) {
        match update.clone() {
            MemoryUpdate::Task(update) => self.task.apply(facts::without_live(update)),
            MemoryUpdate::Preference(update) => self.preferences.apply(update),
            _ => return,
        }
        self.unsaved.push(update);
    }

    fn work(&mut self, update: WorkUpdate) {
        let is_new = matches!(update, WorkUpdate::Requested { .. });
        if is_new {
            self.keep_done();
        }
        let references = std::mem::take(&mut self.work.execution.references);
        // Whoever was waited for comes back to another world.
        let waited = matches!(update, WorkUpdate::Replied { .. } | WorkUpdate::Confirmed);
        if waited {
            redact::refusals(&mut self.work);
        }
        let ended = match &update {
            WorkUpdate::Ended { id, .. } => Some(id.clone()),
            _ => None,
        };
        self.work.apply(update);
        if let Some(id) = ended {
            redact::look(&mut self.work, &id);
        }
        self.work.execution.references = references;
        if is_new {
            self.rescue = React::default();
        }
    }

    fn clear(&mut self) {
        self.history.apply(HistoryUpdate::Cleared);
        self.told.clear();
        self.work = Work::default();
        self.done.clear();
        self.rescue = React::default();
    }
}

impl State for Session {
    type Update = SessionUpdate;

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
                let (by, text) = (Speaker::User, self.message.text.clone());
                self.history
                    .apply(HistoryUpdate::Said(Turn { by, text, at }));
            }
            SessionUpdate::Recalled { task, preferences } => {
                (self.task, self.preferences) = (task, preferences);
                for update in std::mem::take(&mut self.unsaved) {
                    self.keep(update);
                }
            }
            SessionUpdate::Kept(update) => self.keep(update),
            SessionUpdate::Stored(many) => {
                self.unsaved.drain(..many.min(self.unsaved.len()));
            }
            SessionUpdate::History(update) => self.history.apply(update),
            SessionUpdate::Execution(update) => self.work.execution.apply(update),
            SessionUpdate::Work(update) => self.work(update),
            SessionUpdate::Rescue(update) => {
                let wrote = matches!(&update, ReactUpdate::Used { tool, .. } if !tools::is_read(&tool.name));
                self.rescue.apply(update);
                if wrote {
                    redact::reads(&mut self.rescue);
                }
            }
            SessionUpdate::RescueBegan { told } => {
                self.rescue = React::default();
                self.rescue.apply(ReactUpdate::user(told));
            }
            SessionUpdate::Replied { text } => self.reply = text,
            SessionUpdate::Delivered { at, live } => self.deliver(at, live),
            SessionUpdate::Cleared => {
                self.clear();
                self.keep(MemoryUpdate::Task(TaskUpdate::Cleared));
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

impl Informed for Session {
    /// What was asked for and answered, what the steps call, and what is in view already.
    fn about(&self) -> Vec<String> {
        let steps = &self.work.steps;
        let replies = steps.iter().map(|step| step.output_summary.as_str());
        let said = replies.chain([self.goal(), &self.message.text]);
        let topics = said
            .flat_map(intent::topics)
            .map(|topic| topic.as_str().to_owned());
        let wanted = match intent::wish(self.goal()) {
            Wish::Told => None,
            Wish::Trader(_) => Some("create_trader"),
            Wish::Order { .. } => Some("place_order"),
            Wish::Cancellation(_) => Some("cancel_order"),
        };
        let called = steps.iter().map(|step| step.draft.tool_name.clone());
        let in_view = self.work.execution.snapshots.keys().cloned();
        // What "it" stands for may be gone.
        let meant = self.work.execution.references.keys();
        let in_view = in_view.chain(
            meant
                .filter_map(|kind| facts::of_reference(kind))
                .map(str::to_owned),
        );
        let all = topics
            .chain(wanted.map(str::to_owned))
            .chain(called)
            .chain(in_view);
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
        &self.task
    }

    fn turn(&self, turn: &Turn) -> String {
        if turn.by == Speaker::Assistant && self.told.contains(&turn.at) {
            "(what was looked up then; it may have changed since)".to_owned()
        } else {
            turn.text.clone()
        }
    }

    fn compacted(task: TaskUpdate, history: HistoryUpdate) -> Vec<SessionUpdate> {
        vec![
            SessionUpdate::Kept(MemoryUpdate::Task(task)),
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
    SessionUpdate::Kept(MemoryUpdate::Preference(PreferenceUpdate::Set {
        name,
        wish,
    }))
}
