use fugato::{
    memory::FoundNote,
    state::{Message, Millis, ToolCall, ToolStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Move, Request, Update};
use crate::{intent::Intent, plan::Step};

/// One request, from the words to the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// What was asked, and by whom.
    pub request: Request,
    /// When it began, in milliseconds since the Unix epoch.
    pub began_at: Millis,
    /// The name of the person's time zone.
    pub zone: String,
    /// Where it is.
    pub phase: Phase,
    /// What the person wants, once that is known.
    pub intent: Option<Intent>,
    /// The plan; empty if none was made. It guides and does not bind.
    pub plan: Vec<Step>,
    /// Up to which step the plan was followed.
    pub followed: usize,
    /// How often another plan was made.
    pub replans: u32,
    /// What was found in the memory.
    pub memories: Vec<FoundNote>,
    /// What was searched for.
    pub queries: Vec<String>,
    /// The calls that were made, each attempt for itself.
    pub uses: Vec<Use>,
    /// The call that is made, or was made and failed.
    pub wanted: Option<Wanted>,
    /// How often it was decided what comes next.
    pub moves: u32,
    /// How many calls failed in a row.
    pub failures: u32,
    /// How many moves in a row brought nothing.
    pub stuck: u32,
    /// What could not be done, in words.
    pub skipped: Vec<String>,
    /// Answers of the model that could not be used in this phase, and what it was told.
    pub corrected: Vec<Message>,
    /// Why rules decide although there is a model.
    pub by_rule: Option<String>,
    /// Why no more was tried.
    pub stop: Option<Stop>,
    /// What the person was told.
    pub answer: String,
}

/// Where a turn is. Each is a node of the graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// What is wanted?
    #[default]
    Intent,
    /// By which steps?
    Plan,
    /// What comes next?
    Think,
    /// The memory is searched.
    Retrieve,
    /// A tool is called.
    Act,
    /// A call that failed is mended.
    Repair,
    /// The person is answered.
    Answer,
}

impl Phase {
    /// The node.
    pub fn node(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Plan => "plan",
            Self::Think => "think",
            Self::Retrieve => "retrieve",
            Self::Act => "act",
            Self::Repair => "repair",
            Self::Answer => "answer",
        }
    }
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Use {
    /// The call.
    pub call: ToolCall,
    /// Which attempt of it this was, from 1.
    pub attempt: u32,
    /// How it ended.
    pub status: ToolStatus,
    /// What the model reads.
    pub text: String,
    /// The same for programs.
    pub data: Value,
}

/// A call on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// The call as it is made now.
    pub call: ToolCall,
    /// The id of its first attempt.
    pub id: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Why the last attempt failed.
    pub cause: Option<String>,
}

/// Why no more was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// There were as many moves as there may be.
    Moves,
}

impl Turn {
    pub(super) fn of(request: Request) -> Self {
        Self {
            request,
            ..Self::default()
        }
    }

    /// How often this call was made before, whatever came of it.
    pub fn repeats(&self, name: &str, params: &Value) -> usize {
        let same = |made: &&Use| made.call.name == name && made.call.arguments == *params;
        self.uses.iter().filter(same).count()
    }

    /// The calls that did what they should.
    pub fn done(&self) -> impl Iterator<Item = &Use> {
        self.uses
            .iter()
            .filter(|made| made.status == ToolStatus::Ok)
    }

    /// The last attempt of each call that came to nothing. The attempts of a call follow each other.
    pub fn failed(&self) -> impl Iterator<Item = &Use> {
        let next = self.uses.iter().skip(1).map(|next| next.attempt);
        let next = next.chain([1]);
        let last = |(made, next): &(&Use, u32)| made.status != ToolStatus::Ok && *next == 1;
        self.uses
            .iter()
            .zip(next)
            .filter(last)
            .map(|(made, _)| made)
    }

    pub(super) fn apply(&mut self, update: Update) {
        match update {
            Update::Understood(intent) => {
                let planned = intent.is_complex();
                self.intent = Some(intent);
                self.enter(if planned { Phase::Plan } else { Phase::Think });
            }
            Update::Planned { steps, again } => {
                self.plan = steps;
                self.followed = 0;
                self.replans += u32::from(again);
                (self.failures, self.stuck) = (0, 0);
                self.enter(Phase::Think);
            }
            Update::Retrieved { query, found } => self.retrieved(query, found),
            Update::Called {
                status,
                text,
                data,
                repairable,
            } => {
                self.called(status, text, data, repairable);
            }
            Update::Repaired { params } => self.repaired(params),
            Update::GaveUp => {
                self.wanted = None;
                self.stuck += 1;
                self.enter(Phase::Think);
            }
            Update::Corrected(pair) => self.corrected.extend(*pair),
            Update::ByRule { why } => self.by_rule = Some(why),
            Update::Stopped(stop) => {
                self.stop = Some(stop);
                self.enter(Phase::Answer);
            }
            // These are changes of the whole conversation.
            Update::Asked(_)
            | Update::Began { .. }
            | Update::Compacted(_)
            | Update::Moved { .. }
            | Update::Answered { .. } => {}
        }
    }

    pub(super) fn moved(&mut self, next: Move, step: Option<usize>, calls: u64) {
        self.moves += 1;
        if let Some(step) = step {
            self.followed = step + 1;
        }
        let phase = match next {
            Move::Retrieve { query } => {
                self.queries.push(query);
                Phase::Retrieve
            }
            Move::Call { name, params } => {
                let id = format!("c{calls}");
                let call = ToolCall::new(&id, name, Value::Object(params));
                self.wanted = Some(Wanted {
                    call,
                    id,
                    attempt: 1,
                    cause: None,
                });
                Phase::Act
            }
            Move::Skip { why } => {
                self.skipped.push(why);
                self.failures += 1;
                self.stuck += 1;
                Phase::Think
            }
            Move::Replan => Phase::Plan,
            Move::Finish => Phase::Answer,
        };
        self.enter(phase);
    }

    fn retrieved(&mut self, query: String, found: Vec<FoundNote>) {
        let known = self.memories.len();
        for memory in found {
            if !self.memories.iter().any(|there| there.id == memory.id) {
                self.memories.push(memory);
            }
        }
        self.progressed(self.memories.len() > known);
        self.queries.retain(|there| *there != query);
        self.queries.push(query);
        self.enter(Phase::Think);
    }

    fn called(&mut self, status: ToolStatus, text: String, data: Value, repairable: bool) {
        let Some(mut wanted) = self.wanted.take() else {
            return;
        };
        let (call, attempt) = (wanted.call.clone(), wanted.attempt);
        let new = self.repeats(&call.name, &call.arguments) == 0;
        let cause = text.clone();
        self.uses.push(Use {
            call,
            attempt,
            status,
            text,
            data,
        });
        if status == ToolStatus::Ok {
            self.failures = 0;
            self.progressed(new);
            self.enter(Phase::Think);
            return;
        }
        self.failures += 1;
        if repairable {
            wanted.cause = Some(cause);
            self.wanted = Some(wanted);
            self.enter(Phase::Repair);
        } else {
            self.stuck += 1;
            self.enter(Phase::Think);
        }
    }

    fn repaired(&mut self, params: serde_json::Map<String, Value>) {
        if let Some(wanted) = &mut self.wanted {
            wanted.attempt += 1;
            wanted.cause = None;
            wanted.call.arguments = Value::Object(params);
            wanted.call.id = format!("{}.{}", wanted.id, wanted.attempt);
        }
        self.enter(Phase::Act);
    }

    fn progressed(&mut self, progressed: bool) {
        self.stuck = if progressed { 0 } else { self.stuck + 1 };
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.corrected.clear();
    }
}
