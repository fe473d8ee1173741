use std::collections::BTreeSet;

use super::SearchSpace;

/// A proposal that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<P, D> {
    /// The proposal; none to change nothing.
    pub proposal: Option<P>,
    /// True if anything other than the problems would be worse.
    pub is_worse: bool,
    /// The score of the proposal.
    pub score: f64,
    /// The diagnosis after the proposal.
    pub after: D,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings<Problem, P, D> {
    /// The problem that the candidates are for; none if there is no problem.
    pub problem: Option<Problem>,
    /// The changes that help, the best first, and last the choice to change nothing.
    pub candidates: Vec<Candidate<P, D>>,
    /// True if there is a problem that no change can repair, and no room for a person's idea.
    pub is_forced: bool,
}

/// The result of a search in a terrain.
type SearchOutcome<T> = Findings<
    <T as SearchSpace>::Problem,
    <T as SearchSpace>::Proposal,
    <T as SearchSpace>::Diagnosis,
>;

/// A candidate of a terrain.
type TriedCandidate<T> = Candidate<<T as SearchSpace>::Proposal, <T as SearchSpace>::Diagnosis>;

/// A problem with the candidates against it.
struct BestCandidates<T: SearchSpace> {
    rank: f64,
    priority: f64,
    problem: T::Problem,
    tried: Vec<TriedCandidate<T>>,
}

/// Tries all proposals against all problems, and returns the candidates of the problem whose
/// best one ranks highest; on a tie, of the problem with the higher priority, and then of the
/// lesser one.
///
/// The choice to change nothing is always the last candidate, and it is the only one if there
/// is no room at all or if nothing helps.
pub fn search<T: SearchSpace>(terrain: &mut T) -> SearchOutcome<T> {
    let before = terrain.diagnose();
    let mut problems = terrain.problems(&before);
    problems.sort();
    problems.dedup();
    let is_searched = !problems.is_empty() && !terrain.is_locked(&before);
    let best = is_searched
        .then(|| best_of(terrain, &before, &problems))
        .flatten();
    let is_stuck = best.is_none() && !problems.is_empty();
    let is_forced = is_stuck && !terrain.is_loose(&before);
    let (problem, mut candidates) = match best {
        Some(best) => (Some(best.problem), best.tried),
        None => (problems.into_iter().next(), vec![]),
    };
    candidates.push(Candidate {
        proposal: None,
        is_worse: false,
        score: 0.0,
        after: before,
    });
    Findings {
        problem,
        candidates,
        is_forced,
    }
}

fn best_of<T: SearchSpace>(
    terrain: &mut T,
    before: &T::Diagnosis,
    problems: &[T::Problem],
) -> Option<BestCandidates<T>> {
    let mut best: Option<BestCandidates<T>> = None;
    for problem in problems {
        let tried = against(terrain, before, problem);
        let Some(rank) = tried.first().map(|first| rank(terrain, first)) else {
            continue;
        };
        let priority = terrain.priority(problem);
        let better = best.as_ref().is_none_or(|known| {
            let order = rank.total_cmp(&known.rank);
            order.then(priority.total_cmp(&known.priority)).is_gt()
        });
        if better {
            best = Some(BestCandidates {
                rank,
                priority,
                problem: problem.clone(),
                tried,
            });
        }
    }
    best
}

/// Returns the candidates against one problem, the best first.
fn against<T: SearchSpace>(
    terrain: &mut T,
    before: &T::Diagnosis,
    problem: &T::Problem,
) -> Vec<TriedCandidate<T>> {
    let proposals: BTreeSet<T::Proposal> = terrain.enumerate(problem).into_iter().collect();
    let mut tried: Vec<(f64, TriedCandidate<T>)> = proposals
        .into_iter()
        .filter_map(|proposal| {
            let candidate = attempt(terrain, before, proposal)?;
            Some((rank(terrain, &candidate), candidate))
        })
        .collect();
    // The sort is stable, and the proposals came in their order.
    tried.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    tried.truncate(terrain.kept());
    tried.into_iter().map(|(_, candidate)| candidate).collect()
}

fn attempt<T: SearchSpace>(
    terrain: &mut T,
    before: &T::Diagnosis,
    proposal: T::Proposal,
) -> Option<TriedCandidate<T>> {
    let after = terrain.simulate(&proposal)?;
    let helps = terrain.problems(&after).len() < terrain.problems(before).len();
    let score = terrain.score(&proposal, before, &after);
    (helps && score >= terrain.least()).then(|| Candidate {
        proposal: Some(proposal),
        is_worse: terrain.is_worse(before, &after),
        score,
        after,
    })
}

/// Returns the rank of a candidate: its score plus the bias of its proposal.
fn rank<T: SearchSpace>(terrain: &T, candidate: &TriedCandidate<T>) -> f64 {
    let bias = |proposal| terrain.bias(proposal);
    candidate.score + candidate.proposal.as_ref().map_or(0.0, bias)
}
