use std::collections::BTreeSet;

use super::{Effect, Room, Terrain};

/// The options of a search for candidates.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Search {
    /// The maximum number of candidates for a problem.
    pub kept: usize,
    /// The minimum score of a candidate.
    pub least: f64,
}

/// A proposal that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<P, D> {
    /// The proposal; none to change nothing.
    pub proposal: Option<P>,
    /// The effect of the proposal.
    pub effect: Effect,
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
    /// The recommendation that follows from the candidates.
    pub advice: Advice,
}

/// The recommendation after a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// There is a change that helps.
    Change,
    /// There is no problem, or no change helps and there is room for a person's idea.
    Close,
    /// There is a problem that no change can repair.
    Forced,
}

/// The result of a search in a terrain.
type Found<T> =
    Findings<<T as Terrain>::Problem, <T as Terrain>::Proposal, <T as Terrain>::Diagnosis>;

/// A candidate of a terrain.
type Tried<T> = Candidate<<T as Terrain>::Proposal, <T as Terrain>::Diagnosis>;

/// A problem with the candidates against it.
struct Best<T: Terrain> {
    rank: f64,
    priority: f64,
    problem: T::Problem,
    tried: Vec<Tried<T>>,
}

impl Default for Search {
    /// Five candidates, each worth at least 1.
    fn default() -> Self {
        Self {
            kept: 5,
            least: 1.0,
        }
    }
}

impl Search {
    /// Sets the maximum number of candidates for a problem.
    #[must_use]
    pub fn kept(mut self, most: usize) -> Self {
        self.kept = most;
        self
    }

    /// Sets the minimum score of a candidate.
    #[must_use]
    pub fn least(mut self, worth: f64) -> Self {
        self.least = worth;
        self
    }

    /// Tries all proposals against all problems, and returns the candidates of the problem whose
    /// best one ranks highest; on a tie, of the problem with the higher priority, and then of the
    /// lesser one.
    ///
    /// The choice to change nothing is always the last candidate, and it is the only one if there
    /// is no room at all or if nothing helps.
    pub fn run<T: Terrain>(&self, terrain: &mut T) -> Found<T> {
        let before = terrain.diagnose();
        let mut problems = terrain.problems(&before);
        problems.sort();
        problems.dedup();
        let room = (!problems.is_empty()).then(|| terrain.room(&before));
        let best = match room {
            None | Some(Room::Locked) => None,
            Some(_) => self.best(terrain, &before, &problems),
        };
        let advice = match (&best, room) {
            (Some(_), _) => Advice::Change,
            (None, Some(Room::Tight | Room::Locked)) => Advice::Forced,
            (None, _) => Advice::Close,
        };
        let (problem, mut candidates) = match best {
            Some(best) => (Some(best.problem), best.tried),
            None => (problems.into_iter().next(), vec![]),
        };
        candidates.push(Candidate {
            proposal: None,
            effect: Effect::Close,
            score: 0.0,
            after: before,
        });
        Findings {
            problem,
            candidates,
            advice,
        }
    }

    fn best<T: Terrain>(
        &self,
        terrain: &mut T,
        before: &T::Diagnosis,
        problems: &[T::Problem],
    ) -> Option<Best<T>> {
        let mut best: Option<Best<T>> = None;
        for problem in problems {
            let tried = self.against(terrain, before, problem);
            let Some(rank) = tried.first().map(|first| rank(terrain, first)) else {
                continue;
            };
            let priority = terrain.priority(problem);
            let better = best.as_ref().is_none_or(|known| {
                let order = rank.total_cmp(&known.rank);
                order.then(priority.total_cmp(&known.priority)).is_gt()
            });
            if better {
                best = Some(Best {
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
    fn against<T: Terrain>(
        &self,
        terrain: &mut T,
        before: &T::Diagnosis,
        problem: &T::Problem,
    ) -> Vec<Tried<T>> {
        let proposals: BTreeSet<T::Proposal> = terrain.enumerate(problem).into_iter().collect();
        let mut tried: Vec<(f64, Tried<T>)> = proposals
            .into_iter()
            .filter_map(|proposal| {
                let candidate = self.attempt(terrain, before, proposal)?;
                Some((rank(terrain, &candidate), candidate))
            })
            .collect();
        // The sort is stable, and the proposals came in their order.
        tried.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        tried.truncate(self.kept);
        tried.into_iter().map(|(_, candidate)| candidate).collect()
    }

    fn attempt<T: Terrain>(
        &self,
        terrain: &mut T,
        before: &T::Diagnosis,
        proposal: T::Proposal,
    ) -> Option<Tried<T>> {
        let after = terrain.simulate(&proposal)?;
        let worse = terrain.is_worse(before, &after);
        let effect = Effect::of(terrain.problems(before), terrain.problems(&after), worse);
        let score = terrain.score(&proposal, before, &after);
        (effect.helps() && score >= self.least).then_some(Candidate {
            proposal: Some(proposal),
            effect,
            score,
            after,
        })
    }
}

/// Returns the rank of a candidate: its score plus the bias of its proposal.
fn rank<T: Terrain>(terrain: &T, candidate: &Tried<T>) -> f64 {
    let bias = |proposal| terrain.bias(proposal);
    candidate.score + candidate.proposal.as_ref().map_or(0.0, bias)
}
