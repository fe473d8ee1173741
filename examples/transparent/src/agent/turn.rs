use fugato::{
    cron::{Job, LIST},
    memory::FoundNote,
    state::{Message, Millis, ToolCall, ToolStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Lang, Move, Request, Update};
use crate::{intent::Intent, plan::TurnStep};

/// One request, from the message to the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnState {
    /// The request, of a person or of a job.
    pub request: Request,
    /// The time of its begin, in milliseconds since the Unix epoch.
    pub began_at: Millis,
    /// The name of the person's time zone.
    pub zone: String,
    /// The phase of the turn.
    pub phase: TurnPhase,
    /// The intent of the person, once it is known.
    pub intent: Option<Intent>,
    /// The plan; empty if none was made. It guides the turn, but is not binding.
    pub plan: Vec<TurnStep>,
    /// The index of the next step of the plan.
    pub followed: usize,
    /// The number of replans.
    pub replans: u32,
    /// True if a note was stored because the person asked for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub remembered: bool,
    /// The document whose text was noted because the person asked for it; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The notes that were found in the memory.
    pub memories: Vec<FoundNote>,
    /// The queries to the memory.
    pub queries: Vec<String>,
    /// The calls that were made, each attempt separately.
    pub uses: Vec<CallRecord>,
    /// The call that is due, or was made and failed.
    pub wanted: Option<PendingCall>,
    /// The number of decisions about the next move.
    pub moves: u32,
    /// The number of failed calls in a row.
    pub failures: u32,
    /// The number of moves in a row without a new result.
    pub stuck: u32,
    /// The steps that were skipped, each with its reason.
    pub skipped: Vec<String>,
    /// The model's unusable answers in this phase, each with its correction.
    pub corrected: Vec<Message>,
    /// The reason why rules decide although there is a model.
    pub by_rule: Option<String>,
    /// The reason why the turn stopped early; none if it did not.
    pub stop: Option<TurnStop>,
    /// The answer to the person.
    pub answer: String,
}

/// A phase of a turn. Each is a node of the graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    /// The intent is found out.
    #[default]
    Intent,
    /// A plan is made.
    Plan,
    /// The next move is decided.
    Think,
    /// The memory is searched.
    Retrieve,
    /// A tool is called.
    Act,
    /// A failed call is repaired.
    Repair,
    /// The person is answered.
    Answer,
}

impl TurnPhase {
    /// Returns the name of the phase's node.
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
pub struct CallRecord {
    /// The call.
    pub call: ToolCall,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The status of the result.
    pub status: ToolStatus,
    /// The result as the model reads it.
    pub text: String,
    /// The result as people are told it, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// The result as data.
    pub data: Value,
}

impl CallRecord {
    /// Returns the result as people are told it.
    pub fn for_people(&self) -> &str {
        self.told.as_ref().unwrap_or(&self.text)
    }
}

/// A call that is due, or was made and failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// The call of the present attempt.
    pub call: ToolCall,
    /// The id of its first attempt.
    pub id: String,
    /// The number of the present attempt, from 1.
    pub attempt: u32,
    /// The error of the last attempt.
    pub cause: Option<String>,
}

/// The reason why a turn stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStop {
    /// The maximum number of moves was reached.
    Moves,
}

impl TurnState {
    pub(super) fn of(request: Request) -> Self {
        Self {
            request,
            ..Self::default()
        }
    }

    /// Returns how often the same call was made before, successful or not.
    pub fn repeats(&self, name: &str, params: &Value) -> usize {
        let same = |made: &&CallRecord| made.call.name == name && made.call.arguments == *params;
        self.uses.iter().filter(same).count()
    }

    /// Returns the successful calls.
    pub fn done(&self) -> impl Iterator<Item = &CallRecord> {
        self.uses
            .iter()
            .filter(|made| made.status == ToolStatus::Ok)
    }

    /// Returns the jobs as they were listed last in this turn; none if they were not listed.
    pub fn listed_jobs(&self) -> Option<Vec<Job>> {
        let listed = self.done().filter(|made| made.call.name == LIST).last()?;
        serde_json::from_value(listed.data.get("jobs")?.clone()).ok()
    }

    /// Returns the last attempt of each call that failed. The attempts of a call are adjacent.
    pub fn failed(&self) -> impl Iterator<Item = &CallRecord> {
        let next = self.uses.iter().skip(1).map(|next| next.attempt);
        let next = next.chain([1]);
        let last = |(made, next): &(&CallRecord, u32)| made.status != ToolStatus::Ok && *next == 1;
        self.uses
            .iter()
            .zip(next)
            .filter(last)
            .map(|(made, _)| made)
    }

    pub(super) fn apply(&mut self, update: Update) {
        match update {
            Update::Remembered => self.remembered = true,
            Update::Quoted { source } => (self.remembered, self.source) = (true, source),
            Update::NotRemembered { why } => {
                let lang = self
                    .request
                    .lang
                    .unwrap_or_else(|| Lang::of(&self.request.text));
                let lost = lang.pick("the note was not written", "没能记下来");
                self.skipped
                    .push(lang.pick(format!("{lost}: {why}"), format!("{lost}：{why}")));
            }
            Update::Understood(intent) => {
                let planned = intent.is_complex();
                self.intent = Some(intent);
                self.enter(if planned {
                    TurnPhase::Plan
                } else {
                    TurnPhase::Think
                });
            }
            Update::Planned { steps, again } => {
                self.plan = steps;
                self.followed = 0;
                self.replans += u32::from(again);
                (self.failures, self.stuck) = (0, 0);
                self.enter(TurnPhase::Think);
            }
            Update::Retrieved { query, found } => self.retrieved(query, found),
            Update::Called {
                status,
                text,
                told,
                data,
                repairable,
            } => {
                self.called(status, (text, told), data, repairable);
            }
            Update::Repaired { params } => self.repaired(params),
            Update::GaveUp => {
                self.wanted = None;
                self.stuck += 1;
                self.enter(TurnPhase::Think);
            }
            Update::Corrected(pair) => self.corrected.extend(*pair),
            Update::ByRule { why } => self.by_rule = Some(why),
            Update::Stopped(stop) => {
                self.stop = Some(stop);
                self.enter(TurnPhase::Answer);
            }
            // These update the whole conversation.
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
                TurnPhase::Retrieve
            }
            Move::Call { name, params } => {
                let id = format!("c{calls}");
                let call = ToolCall::new(&id, name, Value::Object(params));
                self.wanted = Some(PendingCall {
                    call,
                    id,
                    attempt: 1,
                    cause: None,
                });
                TurnPhase::Act
            }
            Move::Skip { why } => {
                self.skipped.push(why);
                self.failures += 1;
                self.stuck += 1;
                TurnPhase::Think
            }
            Move::Replan => TurnPhase::Plan,
            Move::Finish => TurnPhase::Answer,
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
        self.enter(TurnPhase::Think);
    }

    fn called(
        &mut self,
        status: ToolStatus,
        (text, told): (String, Option<String>),
        data: Value,
        repairable: bool,
    ) {
        let Some(mut wanted) = self.wanted.take() else {
            return;
        };
        let (call, attempt) = (wanted.call.clone(), wanted.attempt);
        let new = self.repeats(&call.name, &call.arguments) == 0;
        let cause = text.clone();
        self.uses.push(CallRecord {
            call,
            attempt,
            status,
            text,
            told,
            data,
        });
        if status == ToolStatus::Ok {
            self.failures = 0;
            self.progressed(new);
            self.enter(TurnPhase::Think);
            return;
        }
        self.failures += 1;
        if repairable {
            wanted.cause = Some(cause);
            self.wanted = Some(wanted);
            self.enter(TurnPhase::Repair);
        } else {
            self.stuck += 1;
            self.enter(TurnPhase::Think);
        }
    }

    fn repaired(&mut self, params: serde_json::Map<String, Value>) {
        if let Some(wanted) = &mut self.wanted {
            wanted.attempt += 1;
            wanted.cause = None;
            wanted.call.arguments = Value::Object(params);
            wanted.call.id = format!("{}.{}", wanted.id, wanted.attempt);
        }
        self.enter(TurnPhase::Act);
    }

    fn progressed(&mut self, progressed: bool) {
        self.stuck = if progressed { 0 } else { self.stuck + 1 };
    }

    fn enter(&mut self, phase: TurnPhase) {
        self.phase = phase;
        self.corrected.clear();
    }
}
