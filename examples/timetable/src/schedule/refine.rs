//! The optimisation without a model: always the best candidate, until nothing helps.
use super::health::{HealthDecision, Operation, decide};
use super::{Board, Change, ScheduleState, WriteOptions};

/// The result of an optimisation.
#[derive(Debug, Clone, PartialEq)]
pub struct OptimisationReport {
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The number of candidates applied.
    pub rounds: usize,
    /// The reason for its end.
    pub end: RefineEnd,
    /// The last decision.
    pub decision: HealthDecision,
}

/// The reasons for the end of an optimisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefineEnd {
    /// Nothing is left to repair, or nothing that is worth it.
    Closed,
    /// There is a problem that no change can repair.
    Forced,
    /// Only the person can decide.
    AskUser,
    /// A change left everything as good or bad as it was.
    Stagnated,
    /// All rounds are used up.
    RoundsUsed,
}

/// Applies the best candidate of every round until there is none.
pub fn refine(
    state: &mut ScheduleState,
    max_rounds: usize,
    options: &WriteOptions,
) -> OptimisationReport {
    let mut board = Board::new(state);
    let mut changes = Vec::new();
    let mut rounds = 0;
    let mut last = String::new();
    let (decision, end) = loop {
        let verdict = decide(&mut board, options);
        let (decision, best) = (verdict.decision, verdict.best);
        if let Some(end) = ended(&decision) {
            break (decision, end);
        }
        if decision.improvement_signal == last {
            break (decision, RefineEnd::Stagnated);
        }
        last.clone_from(&decision.improvement_signal);
        if rounds == max_rounds {
            break (decision, RefineEnd::RoundsUsed);
        }
        // The candidate was tried a moment ago, so a refusal now means that it no longer helps:
        // stagnation.
        match best.map(|best| best.apply(&mut board, options)) {
            Some(Ok(applied)) => changes.extend(applied.changes),
            _ => break (decision, RefineEnd::Stagnated),
        }
        rounds += 1;
    };
    for change in &changes {
        state.apply(change);
    }
    OptimisationReport {
        changes,
        rounds,
        end,
        decision,
    }
}

fn ended(decision: &HealthDecision) -> Option<RefineEnd> {
    if decision.should_continue_optimize {
        return None;
    }
    Some(match decision.recommended_operation {
        Operation::AskUser => RefineEnd::AskUser,
        _ if decision.is_forced_imperfection => RefineEnd::Forced,
        _ => RefineEnd::Closed,
    })
}
