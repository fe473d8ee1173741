//! What to do next: the one judgement that ends or continues the optimisation.
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::candidates::{After, Candidate, Effect, Proposal, Standing, Tried, scan, trial};
use super::diagnosis::Diagnosis;
use super::series::heavy_pairs;
use super::{Feasibility, Profile, Tightness, TightnessLevel};
use crate::schedule::{Board, Task, WriteOptions};

/// What to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Whether there is a change that helps.
    pub should_continue_optimize: bool,
    /// What is wrong; none if nothing is.
    pub primary_problem: Option<String>,
    /// Where it is wrong.
    pub problem_scope: Option<ProblemScope>,
    /// Whether something is wrong that no change can repair.
    pub is_forced_imperfection: bool,
    /// What to do.
    pub recommended_operation: Operation,
    /// The state of the problems in one line. Two equal ones in a row mean that nothing helped.
    pub improvement_signal: String,
    /// Changes that help, the best first, and last the choice to change nothing.
    pub candidates: Vec<Candidate>,
}

/// Where something is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemScope {
    /// The first and the last day.
    pub day_range: [u16; 2],
    /// The tasks.
    pub task_ids: Vec<u32>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Let two tasks change places.
    Swap,
    /// Give a task another place.
    Move,
    /// Leave everything as it is.
    Close,
    /// Only the person can decide.
    AskUser,
}

impl Operation {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Swap => "swap",
            Self::Move => "move",
            Self::Close => "close",
            Self::AskUser => "ask_user",
        }
    }
}

/// What holds of a schedule however its tasks lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) feasibility: Feasibility,
    pub(super) profile: Profile,
}

/// A decision, what led to it, and the change that it recommends first.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(super) diagnosis: Diagnosis,
    pub(super) facts: Facts,
    pub(super) tightness: Tightness,
    pub(crate) decision: Decision,
    pub(crate) best: Option<Proposal>,
}

/// Diagnoses a schedule and decides what to do next. The board is as before afterwards.
pub(crate) fn decide(board: &mut Board<'_>, options: &WriteOptions) -> Verdict {
    let mut diagnosis = Diagnosis::of(board);
    let facts = Facts {
        feasibility: Feasibility::of(board),
        profile: Profile::of(&board.state().task_classes),
    };
    let problems = diagnosis.problem_days();
    let tightness = Tightness::of(board, &diagnosis, &problems, options);
    let base = base(&facts, &problems, &tightness);
    let scanned = base
        .goes_on
        .then(|| best_day(board, &mut diagnosis, &problems, options))
        .flatten();
    let day = scanned
        .as_ref()
        .map(|(day, _)| *day)
        .or_else(|| problems.first().copied());
    let tried = scanned.map(|(_, tried)| tried).unwrap_or_default();
    let best = tried.first().map(|tried| tried.proposal);
    // Going on was right only if something helps. What is left then is forced, unless there is
    // so much room that the person may well find a better way.
    let stuck = base.goes_on && best.is_none();
    let is_loose = tightness.tightness_level == TightnessLevel::Loose;
    let operation = match best {
        Some(proposal) => proposal.operation(),
        None if stuck => Operation::Close,
        None => base.operation,
    };
    let problem = base
        .problem
        .or_else(|| day.map(|day| problem_text(board, day)));
    let mut candidates: Vec<Candidate> = tried
        .iter()
        .filter_map(|tried| candidate(board, &mut diagnosis, *tried, &facts, options))
        .collect();
    candidates.push(close(&diagnosis, problem.clone(), operation));
    let decision = Decision {
        should_continue_optimize: best.is_some(),
        primary_problem: problem,
        problem_scope: day.map(|day| scope(board, day)),
        is_forced_imperfection: base.forced || (stuck && !is_loose),
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

/// What follows before any candidate is looked at.
struct Base {
    goes_on: bool,
    forced: bool,
    operation: Operation,
    /// A problem that is not about a day.
    problem: Option<String>,
}

fn base(facts: &Facts, problems: &[u16], tightness: &Tightness) -> Base {
    let stop = |operation, forced, problem| Base {
        goes_on: false,
        forced,
        operation,
        problem,
    };
    if let Some(problem) = blocker(facts) {
        return stop(
            Operation::AskUser,
            !facts.feasibility.is_feasible,
            Some(problem),
        );
    }
    if problems.is_empty() {
        return stop(Operation::Close, false, None);
    }
    if tightness.tightness_level == TightnessLevel::Locked {
        return stop(Operation::Close, true, None);
    }
    let operation = if tightness.cross_class_swap_options > 0 {
        Operation::Swap
    } else {
        Operation::Move
    };
    Base {
        goes_on: true,
        forced: false,
        operation,
        problem: None,
    }
}

/// What only the person can change.
fn blocker(facts: &Facts) -> Option<String> {
    if !facts.feasibility.is_feasible {
        let gap = facts.feasibility.capacity_gap;
        return Some(format!(
            "{gap} sections are missing to place everything that is pending"
        ));
    }
    let missing = facts.profile.missing();
    (missing > 0).then(|| format!("{missing} facts about the classes are missing"))
}

/// The problem day whose best candidate helps most; among equals the worse problem, then the
/// earlier day.
fn best_day(
    board: &mut Board<'_>,
    diagnosis: &mut Diagnosis,
    problems: &[u16],
    options: &WriteOptions,
) -> Option<(u16, Vec<Tried>)> {
    let before = Standing::of(diagnosis);
    let mut best: Option<(f64, f64, u16, Vec<Tried>)> = None;
    for day in problems {
        let tried = scan(board, diagnosis, &before, *day, options);
        let Some(rank) = tried.first().map(Tried::rank) else {
            continue;
        };
        let priority = priority(board, diagnosis, *day);
        let better = best.as_ref().is_none_or(|(known, prior, ..)| {
            rank.total_cmp(known)
                .then(priority.total_cmp(prior))
                .is_gt()
        });
        if better {
            best = Some((rank, priority, *day, tried));
        }
    }
    best.map(|(_, _, day, tried)| (day, tried))
}

/// How bad a problem day is.
pub(super) fn priority(board: &Board<'_>, diagnosis: &Diagnosis, day: u16) -> f64 {
    let stats = diagnosis.day(day);
    let pairs = heavy_pairs(board, day);
    let differ = pairs
        .iter()
        .any(|(a, b)| a.task_class_id != b.task_class_id);
    300.0
        + f64::from(stats.switches) * 8.0
        + stats.fragmentation() * 20.0
        + if differ { 15.0 } else { 0.0 }
}

fn candidate(
    board: &mut Board<'_>,
    diagnosis: &mut Diagnosis,
    tried: Tried,
    facts: &Facts,
    options: &WriteOptions,
) -> Option<Candidate> {
    let proposal = tried.proposal;
    let summary = summary(board, proposal);
    let after = trial(board, diagnosis, proposal, options, |board, diagnosis| {
        let problems = diagnosis.problem_days();
        let tightness = Tightness::of(board, diagnosis, &problems, options);
        let base = base(facts, &problems, &tightness);
        let day = problems.first().map(|day| problem_text(board, *day));
        after(diagnosis, base.problem.or(day), base.operation)
    })?;
    Some(Candidate {
        candidate_id: proposal.id(),
        tool: proposal.operation().as_str().to_owned(),
        arguments: proposal.arguments(),
        summary,
        effect: tried.effect,
        after,
    })
}

/// The choice to change nothing is always there.
fn close(diagnosis: &Diagnosis, problem: Option<String>, operation: Operation) -> Candidate {
    Candidate {
        candidate_id: "close".to_owned(),
        tool: String::new(),
        arguments: json!({}),
        summary: "leave everything as it is".to_owned(),
        effect: Effect::Close,
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
        let place = task.and_then(Task::start).unwrap_or_default();
        let name = task.map(|task| task.name.as_str()).unwrap_or_default();
        format!(
            "task {id} \"{name}\" (day {}, section {})",
            place.0, place.1
        )
    };
    match proposal {
        Proposal::Swap { task_a, task_b } => {
            format!("swap {} with {}", name(task_a), name(task_b))
        }
        Proposal::Move {
            task, day, start, ..
        } => {
            format!("move {} to day {day}, section {start}", name(task))
        }
    }
}

fn problem_text(board: &Board<'_>, day: u16) -> String {
    let pairs = heavy_pairs(board, day);
    let names = pairs
        .first()
        .map(|(a, b)| format!("{} next to {}", a.category, b.category));
    format!("day {day}: {}, both demanding", names.unwrap_or_default())
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

/// Everything that a change can improve, without the numbers of days: the same problem on
/// another day is no improvement.
fn signal(
    diagnosis: &Diagnosis,
    facts: &Facts,
    tightness: &Tightness,
    operation: Operation,
) -> String {
    let totals = diagnosis.totals();
    let problems = u32::try_from(diagnosis.problem_days().len()).unwrap_or(u32::MAX);
    format!(
        "problem_days={problems};heavy_adjacent_days={};max_switch_count={};\
         same_type_ratio={:.2};non_forced_heavy_days={};local_moves={};swap_options={};\
         tightness={};operation={};missing_profile={};capacity_gap={}",
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
