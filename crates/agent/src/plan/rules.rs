use serde_json::Value;

use super::{PlannerQuestion, WorkStep};

/// Rules that plan and answer without a model.
///
/// Rules are used if there is no model or it cannot be reached, and before the model where
/// [`knows`](Self::knows) returns true. After a timeout of the model no rule is used: the work
/// fails with the timeout, and is kept.
pub trait PlanRules<S>: Send + Sync {
    /// Returns the decision in the form of a model's answer; none if no rule applies. It is checked
    /// like the answer of a model.
    fn decide(&self, state: &S, asking: PlannerQuestion) -> Option<Value>;

    /// Returns the text of a step that reasons or responds; none if no rule applies.
    fn say(&self, state: &S, step: &WorkStep) -> Option<String>;

    /// Returns true if the request is for an action. An answer of a model after which nothing was
    /// written then begins with a line that says so.
    fn wants_action(&self, state: &S) -> bool {
        let _ = state;
        false
    }

    /// Returns the facts that were requested and looked up; they come before the words of a model.
    fn facts(&self, state: &S) -> Option<String> {
        let _ = state;
        None
    }

    /// Returns true if the words of [`say`](Self::say) are better than a model's, so that no model
    /// is asked, for example if they read out facts that were just looked up.
    fn knows(&self, state: &S, step: &WorkStep) -> bool {
        let _ = (state, step);
        false
    }
}

const _: () = {
    const fn object_safe(_: Option<&dyn PlanRules<()>>) {}
    object_safe(None);
};
