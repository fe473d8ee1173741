//! Small changes that are known to help, found by trying them: a model only chooses among them.
mod effect;
mod search;
mod signal;

pub use effect::Effect;
pub use search::{Advice, Candidate, Findings, Search};
pub use signal::{Signal, Stagnation};

/// What small changes can repair: a schedule, a plan, a layout.
///
/// A [`Search`] asks it for proposals, tries each of them, and keeps those that help.
///
/// # Contract
/// - **trying leaves no trace**: after [`simulate`](Self::simulate) everything is as before. A clone
///   is the plain way; what can take a change back exactly does so where clones are dear.
/// - **trying is the real thing**: what would be refused in earnest is refused here, so that no
///   candidate is offered that cannot be had.
/// - **the same question has the same answer**: nothing is random and nothing depends on the time,
///   so that equal states have equal candidates in an equal order.
pub trait Terrain {
    /// Something that is wrong. Of two that are as bad, the lesser one goes first.
    type Problem: Clone + Ord;
    /// A change that could be tried. Of two that are worth as much, the lesser one goes first, and
    /// equal ones are the same change.
    type Proposal: Clone + Ord;
    /// What is seen when one looks: whatever effect and worth are judged by.
    type Diagnosis;

    /// How it stands.
    fn diagnose(&self) -> Self::Diagnosis;

    /// What is wrong and worth repairing; nothing if all is well.
    fn problems(&self, diagnosis: &Self::Diagnosis) -> Vec<Self::Problem>;

    /// What could be tried against a problem, within bounds: every proposal is tried.
    fn enumerate(&self, problem: &Self::Problem) -> Vec<Self::Proposal>;

    /// How it would stand after a proposal; none if that is refused.
    fn simulate(&mut self, proposal: &Self::Proposal) -> Option<Self::Diagnosis>;

    /// What a proposal is worth: what gets better, less what it costs. It is compared with
    /// [`Search::least`], and ranks the candidates.
    fn score(
        &self,
        proposal: &Self::Proposal,
        before: &Self::Diagnosis,
        after: &Self::Diagnosis,
    ) -> f64;

    /// Whether something beside the problems would be worse.
    fn is_worse(&self, before: &Self::Diagnosis, after: &Self::Diagnosis) -> bool;

    /// How much a proposal is preferred among those of about the same worth. It ranks, and makes
    /// nothing worth trying that is not.
    fn bias(&self, _proposal: &Self::Proposal) -> f64 {
        0.0
    }

    /// How bad a problem is. Of two problems whose best candidates rank the same, the worse one is
    /// repaired first.
    fn priority(&self, _problem: &Self::Problem) -> f64 {
        0.0
    }

    /// How much room there is for changes. It is asked when something is wrong.
    fn room(&self, _diagnosis: &Self::Diagnosis) -> Room {
        Room::Tight
    }
}

/// How much room there is for changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// So much that a person may find a way where no candidate helps.
    Loose,
    /// Some.
    Tight,
    /// None: nothing needs to be tried.
    Locked,
}
