//! The well-known names of custom events.

/// The event with the models' token counts, under OpenAI's names.
pub(crate) const USAGE: &str = "usage";

/// Returns true for an event of a plan.
pub(crate) fn is_plan(name: &str) -> bool {
    matches!(
        name,
        "planning" | "plan" | "step_start" | "step_complete" | "replan"
    )
}

/// Returns true for an event of a retrieval.
pub(crate) fn is_retrieval(name: &str) -> bool {
    matches!(name, "rag_query" | "rag_result")
}
