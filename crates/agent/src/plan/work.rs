use std::collections::BTreeMap;

use fugato_memory::{Execution, ExecutionStatus, ExecutionUpdate, Observation, Waiting, cut};
use fugato_state::{Message, Millis, Plan, PlanStep, State};
use serde::{Deserialize, Serialize};

use crate::ModelFailure;

use super::step::{Step, StepDraft, StepKind, StepOutcome, StepStatus};

/// How far planned work is: the execution layer of memory, and its steps in detail.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Goal, status, observations, and what it waits for.
    pub execution: Execution,
    /// All steps, those that ended first.
    pub steps: Vec<Step>,
    /// How many steps were begun since the person spoke.
    pub iterations: u32,
    /// When it was looked at what is true, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked: Option<Millis>,
    /// The tools that the plan was made for, with a digest of each; empty where nothing is looked at.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
    /// Whether something came up that the planner may want to know; none once it was asked.
    pub turn: Option<Turn>,
    /// The planner's answers in a row that could not be used, and what it was told.
    pub corrected: Vec<Message>,
    /// Why there is no plan; none if there is one.
    pub planner_failure: Option<String>,
    /// Why rules go on in the place of a model that was named; none while it decides, and where
    /// none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ModelFailure>,
    /// Whether it cannot go on because a model took too long.
    pub timed_out: bool,
    /// What the person is told in the end.
    pub answer: String,
}

/// What came up since the planner was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Turn {
    /// A step ended as planned.
    AsPlanned,
    /// A step may have changed what the plan rests on.
    Changed,
    /// A step was blocked or failed.
    Failed,
}

/// A change of how far work is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkUpdate {
    /// New work; what there was of another is gone.
    Requested {
        /// What the person wants.
        goal: String,
    },
    /// It was looked at what is true.
    Looked {
        /// When, in milliseconds since the Unix epoch.
        at: Millis,
    },
    /// The tools are these by now.
    Tooled(BTreeMap<String, String>),
    /// The planner says what comes next. What had ended is kept, what had not begun is replaced.
    Planned {
        /// What the work is for now; empty if it is what it was.
        goal: String,
        /// The steps to come.
        steps: Vec<StepDraft>,
    },
    /// The planner wants to go on as planned.
    GoesOn,
    /// The planner's answer could not be used.
    Corrected(Box<[Message; 2]>),
    /// The model that was named does not answer: rules go on until the person speaks again.
    Ruled {
        /// Why.
        failure: ModelFailure,
    },
    /// There is no plan.
    PlannerFailed {
        /// Why.
        why: String,
        /// Whether the planner took too long.
        #[serde(default)]
        timed_out: bool,
    },
    /// A step begins.
    Begun {
        /// Which.
        id: String,
    },
    /// Before the step that has begun, a person is asked whether they agree.
    AskedToConfirm(Waiting),
    /// They have answered.
    Confirmed,
    /// A step ended.
    Ended {
        /// Which.
        id: String,
        /// How.
        outcome: StepOutcome,
        /// When, in milliseconds since the Unix epoch.
        at: Millis,
    },
    /// Somebody was waited for: why steps were refused before need not hold any more.
    Expired,
    /// The step that has begun is a question to the person.
    Asked(Waiting),
    /// The person has answered it.
    Replied {
        /// What they said.
        text: String,
        /// When, in milliseconds since the Unix epoch.
        at: Millis,
    },
    /// Something about the planning is worth knowing.
    Noted {
        /// What.
        note: String,
        /// When, in milliseconds since the Unix epoch.
        at: Millis,
    },
    /// It cannot go on.
    Failed {
        /// Why.
        error: String,
        /// Whether a model took too long.
        #[serde(default)]
        timed_out: bool,
    },
}

/// What stands for a refusal that need not hold any more.
const REFUSED: &str = "it was refused then; things may have changed since";

impl WorkUpdate {
    /// The work cannot go on, for reasons other than time.
    pub(super) fn failed(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
            timed_out: false,
        }
    }
}

impl Work {
    /// The next step that has not begun.
    pub fn pending(&self) -> Option<&Step> {
        let mut steps = self.steps.iter();
        steps.find(|step| step.status == StepStatus::Pending)
    }

    /// The step that is being done.
    pub fn running(&self) -> Option<&Step> {
        let mut steps = self.steps.iter();
        steps.find(|step| step.status == StepStatus::Running)
    }

    /// Where it stands.
    pub fn status(&self) -> ExecutionStatus {
        self.execution.status
    }

    fn step(&mut self, id: &str) -> Option<&mut Step> {
        self.steps.iter_mut().find(|step| step.id == id)
    }

    fn plan(&mut self, goal: String, drafts: Vec<StepDraft>) {
        if !goal.trim().is_empty() {
            self.execution.goal = goal;
        }
        self.steps.retain(|step| step.status != StepStatus::Pending);
        // An empty batch is a turn, too, or two parties that want nothing would go on for ever.
        self.iterations += u32::from(drafts.is_empty());
        let known = self.steps.len();
        let numbered = drafts.into_iter().zip(known + 1..);
        let new = numbered.map(|(draft, n)| Step::new(format!("s{n}"), draft));
        self.steps.extend(new);
        let plan = self.as_plan();
        if self.status() == ExecutionStatus::Planning {
            self.execution.apply(ExecutionUpdate::Planned(plan));
        } else {
            self.execution.plan = plan;
        }
        self.turn = None;
        self.corrected.clear();
    }

    /// The steps in the words of the execution layer.
    fn as_plan(&self) -> Plan {
        let of = |step: &Step| PlanStep {
            content: if step.draft.title.is_empty() {
                step.draft.instruction.clone()
            } else {
                step.draft.title.clone()
            },
            done_when: String::new(),
        };
        let mut plan = Plan::new(self.steps.iter().map(of).collect());
        let is_over = |step: &&Step| step.status != StepStatus::Pending;
        plan.current = self.steps.iter().take_while(is_over).count();
        plan
    }

    fn end(&mut self, id: &str, outcome: StepOutcome, at: Millis) {
        let Some(step) = self.step(id) else { return };
        step.ended_at = Some(at);
        let (status, text, turn) = match outcome {
            StepOutcome::Completed { output, changed } => {
                let turn = if changed {
                    Turn::Changed
                } else {
                    Turn::AsPlanned
                };
                (StepStatus::Completed, output, turn)
            }
            StepOutcome::Blocked { why } | StepOutcome::Failed { why } => {
                step.error.clone_from(&why);
                (StepStatus::Failed, why, Turn::Failed)
            }
        };
        step.status = status;
        step.output_summary = cut(&text, Execution::MOST_CHARACTERS);
        let (kind, of) = (step.draft.kind, step.id.clone());
        self.turn = Some(turn);
        self.execution.apply(ExecutionUpdate::Advanced);
        if kind == StepKind::Respond && status == StepStatus::Completed {
            self.answer = text;
            self.execution.apply(ExecutionUpdate::Completed);
            return;
        }
        let kind = if kind == StepKind::Reason {
            "reason"
        } else {
            "tool"
        };
        self.observe(of, kind, &text, at);
    }

    fn observe(&mut self, step: String, kind: &str, summary: &str, at: Millis) {
        let (kind, summary, raw) = (kind.to_owned(), summary.to_owned(), None);
        self.execution.apply(ExecutionUpdate::Observed(Observation {
            step,
            kind,
            summary,
            raw,
            at,
        }));
    }

    fn expire(&mut self) {
        let steps = self.steps.iter_mut();
        let failed = steps.filter(|step| step.status == StepStatus::Failed);
        for step in failed {
            REFUSED.clone_into(&mut step.error);
            step.output_summary.clear();
            let observed = self.execution.observed.iter_mut();
            let own = observed.filter(|observation| observation.step == step.id);
            own.for_each(|observation| REFUSED.clone_into(&mut observation.summary));
        }
        let notes = &mut self.execution.notes;
        notes.retain(|note| !note.starts_with("tool: "));
    }

    fn reply(&mut self, text: &str, at: Millis) {
        let asked = self.execution.waiting.as_ref();
        let asked = asked.map_or(String::new(), |waiting| waiting.question.clone());
        let id = self.running().map_or(String::new(), |step| step.id.clone());
        if let Some(step) = self.step(&id) {
            step.status = StepStatus::Completed;
            step.output_summary = cut(text, Execution::MOST_CHARACTERS);
            step.ended_at = Some(at);
        }
        self.execution.apply(ExecutionUpdate::Answered);
        self.observe(id, "user_reply", &format!("{asked} → {text}"), at);
        self.turn = Some(Turn::Changed);
        self.failure = None;
        // The limit is for work that nobody looks at.
        self.iterations = 0;
    }
}

impl State for Work {
    type Update = WorkUpdate;

    fn apply(&mut self, update: WorkUpdate) {
        match update {
            WorkUpdate::Requested { goal } => {
                *self = Self {
                    tools: std::mem::take(&mut self.tools),
                    ..Self::default()
                };
                self.execution.apply(ExecutionUpdate::Began { goal });
            }
            WorkUpdate::Looked { at } => self.looked = Some(at),
            WorkUpdate::Tooled(tools) => self.tools = tools,
            WorkUpdate::Planned { goal, steps } => self.plan(goal, steps),
            WorkUpdate::GoesOn => {
                self.turn = None;
                self.corrected.clear();
            }
            WorkUpdate::Corrected(pair) => self.corrected.extend(*pair),
            WorkUpdate::Ruled { failure } => self.failure = Some(failure),
            WorkUpdate::PlannerFailed { why, timed_out } => {
                (self.planner_failure, self.timed_out) = (Some(why), timed_out);
            }
            WorkUpdate::Begun { id } => {
                if let Some(step) = self.step(&id) {
                    step.status = StepStatus::Running;
                    self.iterations += 1;
                }
            }
            WorkUpdate::AskedToConfirm(waiting) => {
                self.execution
                    .apply(ExecutionUpdate::AskedToConfirm(waiting));
            }
            WorkUpdate::Confirmed => self.execution.apply(ExecutionUpdate::Confirmed),
            WorkUpdate::Ended { id, outcome, at } => self.end(&id, outcome, at),
            WorkUpdate::Expired => self.expire(),
            WorkUpdate::Asked(waiting) => self.execution.apply(ExecutionUpdate::Asked(waiting)),
            WorkUpdate::Replied { text, at } => self.reply(&text, at),
            WorkUpdate::Noted { note, at } => {
                self.observe(String::new(), "decision_note", &note, at);
            }
            WorkUpdate::Failed { error, timed_out } => {
                self.timed_out = timed_out;
                self.execution.apply(ExecutionUpdate::Failed { error });
            }
        }
    }
}
