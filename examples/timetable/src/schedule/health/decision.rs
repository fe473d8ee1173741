//! The decision that ends or continues the optimisation.
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::candidates::{After, Findings, HealthCandidate, Proposal, Repair};
use super::diagnosis::Diagnosis;
use super::effect::ChangeEffect;
use super::series::heavy_pairs;
use super::{ClassProfile, Feasibility, Tightness, TightnessLevel};
use crate::schedule::{Board, ScheduleTask, WriteOptions};

/// The next step of the optimisation, with the candidates for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthDecision {
    /// True if there is a change that helps.
    pub should_continue_optimize: bool,
    /// The main problem; none if there is none.
    pub primary_problem: Option<String>,
    /// The days and tasks of the problem.
    pub problem_scope: Option<ProblemScope>,
    /// True if there is a problem that no change can repair.
    pub is_forced_imperfection: bool,
    /// The recommended operation.
    pub recommended_operation: Operation,
    /// The state of the problems in one line. Two equal lines in a row mean that nothing helped.
    pub improvement_signal: String,
    /// Changes that help, the best first, and last the choice to change nothing.
    pub candidates: Vec<HealthCandidate>,
}

/// The days and tasks of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemScope {
    /// The first and the last day.
    pub day_range: [u16; 2],
    /// The tasks.
    pub task_ids: Vec<u32>,
}

/// The operations that a decision can recommend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Exchange the places of two tasks.
    Swap,
    /// Give a task another place.
    Move,
    /// Leave everything as it is.
    Close,
    /// Only the person can decide.
    AskUser,
}

impl Operation {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Swap => "swap",
            Self::Move => "move",
            Self::Close => "close",
            Self::AskUser => "ask_user",
        }
    }
}

/// The facts about a schedule that do not depend on the places of its tasks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) feasibility: Feasibility,
    pub(super) profile: ClassProfile,
}

/// A decision, its grounds, and the change that it recommends first.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(super) diagnosis: Diagnosis,
    pub(super) facts: Facts,
    pub(super) tightness: Tightness,
    pub(crate) decision: HealthDecision,
    pub(crate) best: Option<Proposal>,
}

/// Diagnoses a schedule and decides what to do next. The board is the same afterwards.
pub(crate) fn decide(board: &mut Board<'_>, options: &WriteOptions) -> Verdict {
    let mut diagnosis = Diagnosis::of(board);
    let facts = Facts {
        feasibility: Feasibility::of(board),
        profile: ClassProfile::of(&board.state().task_classes),
    };
    let problems = diagnosis.problem_days();
    let tightness = Tightness::of(board, &diagnosis, &problems, options);
    let blocker = blocker(&facts);
    let mut repair = Repair {
        board,
        diagnosis: &mut diagnosis,
        options,
        tightness: tightness.tightness_level,
    };
    let found = match blocker {
        Some(_) => Findings {
            day: problems.first().copied(),
            is_forced: !facts.feasibility.is_feasible,
            ..Findings::default()
        },
        None => repair.search(),
    };
    let mut candidates: Vec<HealthCandidate> = found
        .changes
        .iter()
        .filter_map(|(proposal, effect)| candidate(&mut repair, *proposal, *effect, &facts))
        .collect();
    let best = found.changes.first().map(|(proposal, _)| *proposal);
    let operation = match best {
        Some(proposal) => proposal.operation(),
        None if blocker.is_some() => Operation::AskUser,
        None => Operation::Close,
    };
    let problem = blocker.or_else(|| found.day.map(|day| problem_text(board, day)));
    candidates.push(close(&diagnosis, problem.clone(), operation));
    let decision = HealthDecision {
        should_continue_optimize: best.is_some(),
        primary_problem: problem,
        problem_scope: found.day.map(|day| scope(board, day)),
        is_forced_imperfection: found.is_forced,
        recommended_operation: operation,
        improvement_signal: signal(&diagnosis, &facts, &tightness, operation),
        candidates,
    };
    Verdict {
        diagnosis,
        facts,
        tightness,
        decision,
        best,
    }
}

/// Returns the likely next operation, as far as it is known before any candidate is tried.
fn expected(blocked: bool, problems: &[u16], tightness: &Tightness) -> Operation {
    if blocked {
        Operation::AskUser
    } else if problems.is_empty() || tightness.tightness_level == TightnessLevel::Locked {
        Operation::Close
    } else if tightness.cross_class_swap_options > 0 {
        Operation::Swap
    } else {
        Operation::Move
    }
}

/// Returns the problem that only the person can solve, if there is one.
fn blocker(facts: &Facts) -> Option<String> {
    if !facts.feasibility.is_feasible {
        let gap = facts.feasibility.capacity_gap;
        return Some(say!(
            "{gap} sections are missing to place everything that is pending",
            "要安排所有待安排的内容还缺 {gap} 节"
        ));
    }
    let missing = facts.profile.missing();
    (missing > 0).then(|| {
        say!(
            "{missing} facts about the classes are missing",
            "类别还缺 {missing} 项资料"
        )
    })
}

fn candidate(
    repair: &mut Repair<'_, '_>,
    proposal: Proposal,
    effect: ChangeEffect,
    facts: &Facts,
) -> Option<HealthCandidate> {
    let summary = summary(repair.board, proposal);
    let options = repair.options;
    let after = repair.trial(proposal, |board, diagnosis| {
        let problems = diagnosis.problem_days();
        let tightness = Tightness::of(board, diagnosis, &problems, options);
        let blocker = blocker(facts);
        let operation = expected(blocker.is_some(), &problems, &tightness);
        let day = problems.first().map(|day| problem_text(board, *day));
        after(diagnosis, blocker.or(day), operation)
    })?;
    Some(HealthCandidate {
        candidate_id: proposal.id(),
        tool: proposal.operation().as_str().to_owned(),
        arguments: proposal.arguments(),
        summary,
        effect,
        after,
    })
}

/// Returns the choice to change nothing, which is always among the candidates.
fn close(diagnosis: &Diagnosis, problem: Option<String>, operation: Operation) -> HealthCandidate {
    HealthCandidate {
        candidate_id: "close".to_owned(),
        tool: String::new(),
        arguments: json!({}),
        summary: say!("leave everything as it is", "保持现状"),
        effect: ChangeEffect::Close,
        after: after(diagnosis, problem, operation),
    }
}

fn after(diagnosis: &Diagnosis, problem: Option<String>, operation: Operation) -> After {
    let totals = diagnosis.totals();
    After {
        can_close: operation == Operation::Close,
        primary_problem: problem,
        recommended_operation: operation,
        heavy_adjacent_days: totals.heavy_days,
        max_switch_count: totals.max_switches,
        same_type_transition_ratio: totals.same_type_ratio(),
    }
}

fn summary(board: &Board<'_>, proposal: Proposal) -> String {
    let name = |id| {
        let task = board.state().task(id);
        let place = task.and_then(ScheduleTask::start).unwrap_or_default();
        let name = task.map(|task| task.name.as_str()).unwrap_or_default();
        say!(
            "task {id} \"{name}\" (day {}, section {})",
            "任务 {id}「{name}」（第 {} 天第 {} 节）",
            place.0,
            place.1
        )
    };
    match proposal {
        Proposal::Swap { task_a, task_b } => {
            say!("swap {} with {}", "互换{}和{}", name(task_a), name(task_b))
        }
        Proposal::Move {
            task, day, start, ..
        } => {
            say!(
                "move {} to day {day}, section {start}",
                "把{}移到第 {day} 天第 {start} 节",
                name(task)
            )
        }
    }
}

fn problem_text(board: &Board<'_>, day: u16) -> String {
    let pairs = heavy_pairs(board, day);
    let names = pairs
        .first()
        .map(|(a, b)| say!("{} next to {}", "「{}」紧挨「{}」", a.category, b.category));
    say!(
        "day {day}: {}, both demanding",
        "第 {day} 天：{}，都很费神",
        names.unwrap_or_default()
    )
}

fn scope(board: &Board<'_>, day: u16) -> ProblemScope {
    let pairs = heavy_pairs(board, day);
    let mut task_ids: Vec<u32> = pairs
        .iter()
        .flat_map(|(a, b)| [a.state_id, b.state_id])
        .collect();
    task_ids.sort_unstable();
    task_ids.dedup();
    ProblemScope {
        day_range: [day, day],
        task_ids,
    }
}

/// Returns a line of everything that a change can improve, without the numbers of days: the same
/// problem on another day is no improvement.
fn signal(
    diagnosis: &Diagnosis,
    facts: &Facts,
    tightness: &Tightness,
    operation: Operation,
) -> String {
    let totals = diagnosis.totals();
    let problems = u32::try_from(diagnosis.problem_days().len()).unwrap_or(u32::MAX);
    format!(
        "problem_days={problems};heavy_adjacent_days={};max_switch_count={};same_type_ratio={:.2};\
         non_forced_heavy_days={};local_moves={};swap_options={};tightness={};operation={};\
         missing_profile={};capacity_gap={}",
        totals.heavy_days,
        totals.max_switches,
        totals.same_type_ratio(),
        problems.saturating_sub(tightness.forced_heavy_adjacent_days),
        tightness.locally_movable_task_count,
        tightness.cross_class_swap_options,
        tightness.tightness_level.as_str(),
        operation.as_str(),
        facts.profile.missing(),
        facts.feasibility.capacity_gap,
    )
}
