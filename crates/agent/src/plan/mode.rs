//! The modes of planning: the questions to the planner, and the rules for its answers.
use fugato_llm::{Contract, Objections, RejectedAnswer};
use fugato_memory::ExecutionStatus;
use fugato_state::{Millis, say};
use fugato_tool::Access;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    step::{StepDraft, StepKind, StepStatus},
    work::{PlanProgress, WorkChange, WorkUpdate},
};

/// The maximum number of steps of a plan.
pub(crate) const MOST_STEPS: usize = 8;
/// The time in which the result of a call is new, in milliseconds.
const NEW: Millis = 60_000;

/// A question to the planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlannerQuestion {
    /// A whole plan.
    Plan,
    /// A check that the plan still holds.
    Replan,
    /// The next batch of steps only.
    Batch,
}

/// The context in which an answer is read.
pub(super) struct AnswerContext<'a> {
    /// The question.
    pub(super) asking: PlannerQuestion,
    /// The progress of the work.
    pub(super) work: &'a PlanProgress,
    /// The time, in milliseconds since the Unix epoch.
    pub(super) now: Millis,
    /// Returns the access of a visible tool; none if there is no such tool.
    pub(super) access: &'a (dyn Fn(&str) -> Option<Access> + Sync),
}

/// The policy for replanning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replan {
    /// After every step.
    Always,
    /// After a step that failed, or may have changed the basis of the plan.
    #[default]
    OnChange,
    /// Only if a step failed or no step is left.
    Never,
}

/// The mode in which work is planned: when the planner is asked, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanningMode {
    /// A whole plan first, and its revision by the policy.
    PlanThenReplan(Replan),
    /// The next batch when no step is left: one step, or several reads.
    NextBatch,
}

impl Default for PlanningMode {
    fn default() -> Self {
        Self::PlanThenReplan(Replan::default())
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct PlanDraft {
    /// What the work is for.
    #[serde(default)]
    goal: String,
    /// The steps, first to last.
    steps: Vec<StepDraft>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ReplanDraft {
    /// What to do about the plan.
    action: ReplanAction,
    /// What the work is for, if that has changed.
    #[serde(default)]
    goal: String,
    /// For `finish`: what to answer.
    #[serde(default)]
    instruction: String,
    /// For `ask_user`: what to ask.
    #[serde(default)]
    question: String,
    /// For `replace_remaining`: the new steps.
    #[serde(default)]
    steps: Vec<StepDraft>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ReplanAction {
    Continue,
    ReplaceRemaining,
    AskUser,
    Finish,
}

impl PlanningMode {
    /// Returns the question to the planner; none if the next step is due.
    pub(super) fn asks(self, work: &PlanProgress) -> Option<PlannerQuestion> {
        let (status, turn) = (work.status(), work.turn);
        let goes_on = matches!(status, ExecutionStatus::Planning | ExecutionStatus::Running);
        let is_first = status == ExecutionStatus::Planning;
        let (question, due) = match self {
            Self::NextBatch => (PlannerQuestion::Batch, turn == Some(WorkChange::Failed)),
            Self::PlanThenReplan(_) if is_first => (PlannerQuestion::Plan, true),
            Self::PlanThenReplan(replan) => (PlannerQuestion::Replan, replan.is_due(turn)),
        };
        (goes_on && (due || work.pending().is_none())).then_some(question)
    }

    /// Reads an answer into updates, or rejects it.
    pub(super) fn take(
        self,
        answer: &str,
        reading: &AnswerContext<'_>,
    ) -> Result<Vec<WorkUpdate>, RejectedAnswer> {
        match (self, reading.asking) {
            (Self::NextBatch, _) => next_batch(answer, reading),
            (_, PlannerQuestion::Plan) => {
                let PlanDraft { goal, steps } = plan().read(answer)?;
                known(answer, &steps, reading)?;
                Ok(vec![WorkUpdate::Planned { goal, steps }])
            }
            _ => Ok(vec![replanned(answer, reading)?]),
        }
    }

    /// Returns the required form of an answer, one line per key.
    pub(super) fn outline(self, asking: PlannerQuestion) -> String {
        match (self, asking) {
            (Self::NextBatch, _) => batch().outline(),
            (_, PlannerQuestion::Replan) => replan().outline(),
            _ => plan().outline(),
        }
    }
}

impl Replan {
    /// Returns true if the plan is revised after the last step.
    fn is_due(self, turn: Option<WorkChange>) -> bool {
        match (self, turn) {
            (_, Some(WorkChange::Failed)) | (Self::Always, Some(_)) => true,
            (Self::OnChange, turn) => turn == Some(WorkChange::Changed),
            _ => false,
        }
    }
}

fn next_batch(
    answer: &str,
    reading: &AnswerContext<'_>,
) -> Result<Vec<WorkUpdate>, RejectedAnswer> {
    let PlanDraft { goal, steps } = batch().read(answer)?;
    known(answer, &steps, reading)?;
    alone_or_reads(answer, &steps, reading)?;
    let mut updates = vec![];
    let (fresh, again): (Vec<_>, Vec<_>) = steps
        .into_iter()
        .partition(|step| !is_repeated(step, reading));
    let at = reading.now;
    updates.extend(again.into_iter().map(|step| {
        let name = step.tool_name;
        let note = say!(
            "{name} was not called again: its result is less than 60 s old",
            "没有再次调用 {name}：它的结果还不到 60 秒"
        );
        WorkUpdate::Noted { note, at }
    }));
    let is_loop = is_same_thought(&fresh, reading.work);
    let steps = if is_loop { vec![] } else { fresh };
    updates.push(WorkUpdate::Planned { goal, steps });
    let circles = || {
        say!(
            "loop: the same thought came again",
            "循环：同样的想法又出现了"
        )
    };
    updates.extend(is_loop.then(|| WorkUpdate::failed(circles())));
    Ok(updates)
}

fn plan() -> Contract<PlanDraft> {
    Contract::new("plan").check(|plan: &PlanDraft, objections| ends(&plan.steps, objections))
}

fn batch() -> Contract<PlanDraft> {
    Contract::new("next_batch").check(|batch: &PlanDraft, objections| {
        counted(&batch.steps, objections);
    })
}

fn replan() -> Contract<ReplanDraft> {
    Contract::new("replan").check(|replan: &ReplanDraft, objections| {
        if replan.action == ReplanAction::ReplaceRemaining {
            ends(&replan.steps, objections);
        }
    })
}

fn counted(steps: &[StepDraft], objections: &mut Objections) {
    if steps.is_empty() || steps.len() > MOST_STEPS {
        let many = steps.len();
        objections.push(
            "/steps",
            say!(
                "{many} steps; allowed are 1 to {MOST_STEPS}",
                "有 {many} 步；允许 1 到 {MOST_STEPS} 步"
            ),
        );
    }
}

fn ends(steps: &[StepDraft], objections: &mut Objections) {
    counted(steps, objections);
    let last = steps.last().map(|step| step.kind);
    if last.is_some_and(|kind| !matches!(kind, StepKind::AskUser | StepKind::Respond)) {
        let place = format!("/steps/{}/type", steps.len().saturating_sub(1));
        let why = say!(
            "the last step must be \"ask_user\" or \"respond\"",
            "最后一步必须是 \"ask_user\" 或 \"respond\""
        );
        objections.push(place, why);
    }
}

/// Rejects a plan with a tool that does not exist or is not visible.
fn known(
    answer: &str,
    steps: &[StepDraft],
    reading: &AnswerContext<'_>,
) -> Result<(), RejectedAnswer> {
    for (at, step) in steps.iter().enumerate() {
        if step.kind == StepKind::Tool && (reading.access)(&step.tool_name).is_none() {
            let path = format!("/steps/{at}/tool_name");
            let why = say!(
                "there is no tool {:?}; choose from the catalogue",
                "没有工具 {:?}；请从目录中选择",
                step.tool_name
            );
            return Err(RejectedAnswer::sense(answer, path, why));
        }
    }
    Ok(())
}

/// Rejects a batch that is neither a single step nor reads that are independent of each other.
fn alone_or_reads(
    answer: &str,
    steps: &[StepDraft],
    reading: &AnswerContext<'_>,
) -> Result<(), RejectedAnswer> {
    if steps.len() < 2 {
        return Ok(());
    }
    let is_read = |step: &StepDraft| {
        step.kind == StepKind::Tool && (reading.access)(&step.tool_name) == Some(Access::Read)
    };
    match steps.iter().position(|step| !is_read(step)) {
        None => Ok(()),
        Some(at) => {
            let why = say!(
                "several steps may only be tools that read; anything else comes alone",
                "只有读取的工具才能一次写多步；其他步骤要单独写"
            );
            Err(RejectedAnswer::sense(
                answer,
                format!("/steps/{at}/type"),
                why,
            ))
        }
    }
}

/// Returns true if the same call was completed recently.
fn is_repeated(draft: &StepDraft, reading: &AnswerContext<'_>) -> bool {
    let is_new = |at: Option<Millis>| at.is_some_and(|at| reading.now.saturating_sub(at) <= NEW);
    draft.kind == StepKind::Tool
        && reading.work.steps.iter().any(|step| {
            step.status == StepStatus::Completed
                && step.draft.tool_name == draft.tool_name
                && step.draft.tool_args == draft.tool_args
                && is_new(step.ended_at)
        })
}

fn is_same_thought(steps: &[StepDraft], work: &PlanProgress) -> bool {
    let [only] = steps else { return false };
    let is_thought = |kind| kind == StepKind::Reason;
    let mut ended = work.steps.iter().rev();
    let last =
        ended.find(|step| step.status == StepStatus::Completed && is_thought(step.draft.kind));
    is_thought(only.kind) && last.is_some_and(|last| last.draft.is_like(only))
}

fn replanned(answer: &str, reading: &AnswerContext<'_>) -> Result<WorkUpdate, RejectedAnswer> {
    let ReplanDraft {
        action,
        goal,
        instruction,
        question,
        steps,
    } = replan().read(answer)?;
    let steps = match action {
        ReplanAction::Continue if reading.work.pending().is_some() => {
            return Ok(WorkUpdate::GoesOn);
        }
        ReplanAction::Continue => {
            let why = say!(
                "no step is left to continue with; replace the remaining ones, ask or finish",
                "没有可以继续的步骤；请替换剩下的步骤、询问或结束"
            );
            return Err(RejectedAnswer::sense(answer, "/action", why));
        }
        ReplanAction::ReplaceRemaining => {
            known(answer, &steps, reading)?;
            steps
        }
        ReplanAction::AskUser => vec![StepDraft::of(StepKind::AskUser, question)],
        ReplanAction::Finish => vec![StepDraft::of(StepKind::Respond, instruction)],
    };
    Ok(WorkUpdate::Planned { goal, steps })
}
