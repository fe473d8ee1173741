//! A search for small changes that help: each is tried, and a model only chooses among them.
//!
//! A [`SearchSpace`] enumerates changes against its problems and simulates each of them exactly.
//! [`search`] keeps those that help, the best first, and last the choice to change nothing.
//! [`Stagnation`] counts how often a [`signal`] of the state stayed the same.
mod search;
mod signal;

pub use search::{Candidate, Findings, search};
pub use signal::{Stagnation, signal};

/// The space of small changes that may repair a schedule, a plan, a layout.
///
/// A [`search`] asks it for proposals, tries each of them, and keeps those that help.
///
/// # Contract
/// - **trying leaves no trace**: after [`simulate`](Self::simulate) the terrain is as before.
///   Trying on a clone is the simplest way; where a clone is expensive, apply the change and undo
///   it exactly.
/// - **trying is exact**: a proposal that the real change would refuse is refused here too, so
///   every candidate can be carried out.
/// - **deterministic**: nothing depends on randomness or time, so equal states have equal
///   candidates in an equal order.
pub trait SearchSpace {
    /// A problem to repair. Of two with the same rank and priority, the lesser one goes first.
    type Problem: Clone + Ord;
    /// A change that can be tried. Of two with the same rank, the lesser one goes first, and equal
    /// ones are the same change.
    type Proposal: Clone + Ord;
    /// A measurement of the terrain, from which problems and score are computed.
    type Diagnosis;

    /// Returns the diagnosis of the present state.
    fn diagnose(&self) -> Self::Diagnosis;

    /// Returns the problems that are worth repairing; empty if there are none.
    fn problems(&self, diagnosis: &Self::Diagnosis) -> Vec<Self::Problem>;

    /// Returns the proposals against a problem. All of them are tried, so there must not be too
    /// many.
    fn enumerate(&self, problem: &Self::Problem) -> Vec<Self::Proposal>;

    /// Returns the diagnosis after a proposal; none if the proposal is refused.
    fn simulate(&mut self, proposal: &Self::Proposal) -> Option<Self::Diagnosis>;

    /// Returns the score of a proposal: its gain less its cost. It is compared with
    /// [`least`](Self::least), and ranks the candidates.
    fn score(
        &self,
        proposal: &Self::Proposal,
        before: &Self::Diagnosis,
        after: &Self::Diagnosis,
    ) -> f64;

    /// Returns true if anything other than the problems would be worse.
    fn is_worse(&self, before: &Self::Diagnosis, after: &Self::Diagnosis) -> bool;

    /// Returns the maximum number of candidates for a problem.
    fn kept(&self) -> usize {
        5
    }

    /// Returns the minimum score of a candidate.
    fn least(&self) -> f64 {
        1.0
    }

    /// Returns a bonus that is added to the score when candidates are ranked. It does not count
    /// towards [`least`](Self::least).
    fn bias(&self, _proposal: &Self::Proposal) -> f64 {
        0.0
    }

    /// Returns the priority of a problem. Of two problems whose best candidates rank the same, the
    /// one with the higher priority is repaired first.
    fn priority(&self, _problem: &Self::Problem) -> f64 {
        0.0
    }

    /// Returns true if there is no room for any change: nothing is tried. It is called only if
    /// there are problems.
    fn is_locked(&self, _diagnosis: &Self::Diagnosis) -> bool {
        false
    }

    /// Returns true if there is enough room that a person may find a way if no candidate helps. It
    /// is called only if none does.
    fn is_loose(&self, _diagnosis: &Self::Diagnosis) -> bool {
        false
    }
}
