use std::collections::BTreeMap;

use fugato_memory::{
    Execution, ExecutionStatus, ExecutionUpdate, Observation, PendingQuestion, cut,
};
use fugato_state::{Lang, Message, Millis, Plan, PlanStep, State, say};
use serde::{Deserialize, Serialize};

use crate::{
    decision::{CorrectionState, ModelFailure},
    toolbox::is_declined,
};

use super::{
    MOST_ITERATIONS,
    step::{StepDraft, StepKind, StepOutcome, StepStatus, WorkStep},
};

/// The progress of planned work: the execution layer of memory, and its steps in detail.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanProgress {
    /// The goal, the status, the observations and the open question.
    pub execution: Execution,
    /// All steps, those that have ended first.
    pub steps: Vec<WorkStep>,
    /// The number of steps that have begun, and of empty plans, since the person's last message.
    pub iterations: u32,
    /// The time of the last look, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked: Option<Millis>,
    /// The tools that the plan was made for, with a digest of each; empty without a look.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
    /// The result of the last step, if the planner has not been asked since.
    pub(super) turn: Option<WorkChange>,
    /// The planner's unusable answers in a row, each with its correction.
    pub corrected: Vec<Message>,
    /// The reason why there is no plan; none if there is one.
    pub planner_failure: Option<String>,
    /// The failure of the named model that rules replace; none while the model decides, and if
    /// there is no model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ModelFailure>,
    /// True if the work cannot go on because a model timed out.
    pub timed_out: bool,
    /// The final answer to the person.
    pub answer: String,
}

/// The result of a step since the planner was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WorkChange {
    /// A step ended as planned.
    AsPlanned,
    /// A step may have changed the basis of the plan.
    Changed,
    /// A step was blocked or failed.
    Failed,
}

/// An update of the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkUpdate {
    /// New work; earlier work is dropped.
    Requested {
        /// The goal of the person.
        goal: String,
    },
    /// A look was taken.
    Looked {
        /// The time, in milliseconds since the Unix epoch.
        at: Millis,
    },
    /// The present tools, with a digest of each.
    Tooled(BTreeMap<String, String>),
    /// A new plan. Finished steps are kept, and pending ones are replaced.
    Planned {
        /// The goal; empty if it is unchanged.
        goal: String,
        /// The next steps.
        steps: Vec<StepDraft>,
    },
    /// The planner continues the plan.
    GoesOn,
    /// The planner's answer was unusable; the pair is the answer and its correction.
    Corrected(Box<[Message; 2]>),
    /// The named model does not answer: rules go on until the person's next message.
    Ruled {
        /// The failure of the model.
        failure: ModelFailure,
    },
    /// There is no plan, and there will be none.
    PlannerFailed {
        /// The reason.
        why: String,
        /// True if the planner timed out.
        #[serde(default)]
        timed_out: bool,
    },
    /// A step begins.
    Begun {
        /// The identifier of the step.
        id: String,
    },
    /// A person is asked to confirm the step that has begun.
    AskedToConfirm(PendingQuestion),
    /// The person has answered the confirmation.
    Confirmed,
    /// A step ended.
    Ended {
        /// The identifier of the step.
        id: String,
        /// The outcome.
        outcome: StepOutcome,
        /// The time, in milliseconds since the Unix epoch.
        at: Millis,
    },
    /// A wait for a person has ended: the reasons of earlier refusals may no longer hold.
    Expired,
    /// The step that has begun is a question to the person.
    Asked(PendingQuestion),
    /// The person has answered the question.
    Replied {
        /// The answer.
        text: String,
        /// The time, in milliseconds since the Unix epoch.
        at: Millis,
    },
    /// A note about the planning.
    Noted {
        /// The text of the note.
        note: String,
        /// The time, in milliseconds since the Unix epoch.
        at: Millis,
    },
    /// The work cannot go on.
    Failed {
        /// The error.
        error: String,
        /// True if a model timed out.
        #[serde(default)]
        timed_out: bool,
    },
}

/// Returns the text that replaces the reason of an expired refusal.
fn refused() -> String {
    say!(
        "it was refused then; things may have changed since",
        "当时被拒绝了；此后情况可能已变"
    )
}

impl WorkUpdate {
    /// Returns the update for a failure other than a timeout.
    pub(super) fn failed(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
            timed_out: false,
        }
    }

    /// Returns the update for work that takes too many steps.
    pub(super) fn too_long() -> Self {
        Self::failed(say!(
            "the work took more than {MOST_ITERATIONS} steps",
            "这项工作超过了 {MOST_ITERATIONS} 步"
        ))
    }
}

impl PlanProgress {
    /// Returns the next step that has not begun.
    pub fn pending(&self) -> Option<&WorkStep> {
        let mut steps = self.steps.iter();
        steps.find(|step| step.status == StepStatus::Pending)
    }

    /// Returns the step that has begun and not ended.
    pub fn running(&self) -> Option<&WorkStep> {
        let mut steps = self.steps.iter();
        steps.find(|step| step.status == StepStatus::Running)
    }

    /// Returns the status of the work.
    pub fn status(&self) -> ExecutionStatus {
        self.execution.status
    }

    fn step(&mut self, id: &str) -> Option<&mut WorkStep> {
        self.steps.iter_mut().find(|step| step.id == id)
    }

    fn plan(&mut self, goal: String, drafts: Vec<StepDraft>) {
        if !goal.trim().is_empty() {
            self.execution.goal = goal;
        }
        self.steps.retain(|step| step.status != StepStatus::Pending);
        // An empty batch counts too, or a planner without steps could be asked for ever.
        self.iterations += u32::from(drafts.is_empty());
        let known = self.steps.len();
        let numbered = drafts.into_iter().zip(known + 1..);
        let new = numbered.map(|(draft, n)| WorkStep::new(format!("s{n}"), draft));
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

    /// Returns the steps as a plan of the execution layer.
    fn as_plan(&self) -> Plan {
        let of = |step: &WorkStep| PlanStep {
            content: if step.draft.title.is_empty() {
                step.draft.instruction.clone()
            } else {
                step.draft.title.clone()
            },
            done_when: String::new(),
        };
        let mut plan = Plan::new(self.steps.iter().map(of).collect());
        let is_over = |step: &&WorkStep| step.status != StepStatus::Pending;
        plan.current = self.steps.iter().take_while(is_over).count();
        plan
    }

    fn end(&mut self, id: &str, outcome: StepOutcome, at: Millis) {
        let Some(step) = self.step(id) else { return };
        step.ended_at = Some(at);
        let (status, text, turn) = match outcome {
            StepOutcome::Completed { output, changed } => {
                let turn = if changed {
                    WorkChange::Changed
                } else {
                    WorkChange::AsPlanned
                };
                (StepStatus::Completed, output, turn)
            }
            StepOutcome::Blocked { why } | StepOutcome::Failed { why } => {
                step.error.clone_from(&why);
                (StepStatus::Failed, why, WorkChange::Failed)
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
        let refused = self.lang().scope(refused);
        let steps = self.steps.iter_mut();
        // That a person did not agree stays true.
        let failed =
            steps.filter(|step| step.status == StepStatus::Failed && !is_declined(&step.error));
        for step in failed {
            step.error.clone_from(&refused);
            step.output_summary.clear();
            let observed = self.execution.observed.iter_mut();
            let own = observed.filter(|observation| observation.step == step.id);
            own.for_each(|observation| observation.summary.clone_from(&refused));
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
        self.turn = Some(WorkChange::Changed);
        self.failure = None;
        // The limit is for work without a person's attention.
        self.iterations = 0;
    }
}

impl State for PlanProgress {
    type Update = WorkUpdate;

    /// Returns the language of the goal.
    fn lang(&self) -> Lang {
        Lang::of(&self.execution.goal)
    }

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

impl CorrectionState for PlanProgress {
    fn corrections(&self) -> u32 {
        u32::try_from(self.corrected.len() / 2).unwrap_or(u32::MAX)
    }

    fn corrected(pair: [Message; 2]) -> Vec<WorkUpdate> {
        vec![WorkUpdate::Corrected(Box::new(pair))]
    }
}
