use serde_json::Value;

use super::{Asking, Step};

/// What is decided and said without a model.
///
/// A rule speaks where there is no model, or the model cannot be reached; one that is sure speaks
/// first. Where a model took too long nobody speaks for it: the work says so, and is kept.
pub trait PlanRules<S>: Send + Sync {
    /// What comes next, in the form that a model would have to use; none where no rule knows. It is
    /// checked like the answer of a model.
    fn decide(&self, state: &S, asking: Asking) -> Option<Value>;

    /// What a step thinks or answers; none where no rule knows.
    fn say(&self, state: &S, step: &Step) -> Option<String>;

    /// Whether something is to be done, and not only said: an answer in which nothing was written
    /// says so then, whatever a model makes of it.
    fn wants_action(&self, state: &S) -> bool {
        let _ = state;
        false
    }

    /// What is asked for and was looked up: it is read out before any words of a model.
    fn facts(&self, state: &S) -> Option<String> {
        let _ = state;
        None
    }

    /// Whether what [`say`](Self::say) says is better than what a model would, so that none is
    /// asked: such as when it reads out what was just looked up.
    fn knows(&self, state: &S, step: &Step) -> bool {
        let _ = (state, step);
        false
    }
}

const _: () = {
    const fn object_safe(_: Option<&dyn PlanRules<()>>) {}
    object_safe(None);
};
