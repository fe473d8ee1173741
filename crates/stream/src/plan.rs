//! What wires make of custom events with names that are well known.

/// What the models used, with the names that OpenAI gives to counts of tokens.
pub(crate) const USAGE: &str = "usage";

/// Whether it tells of a plan.
pub(crate) fn is_plan(name: &str) -> bool {
    matches!(
        name,
        "planning" | "plan" | "step_start" | "step_complete" | "replan"
    )
}

/// Whether it tells of a search for what is known.
pub(crate) fn is_retrieval(name: &str) -> bool {
    matches!(name, "rag_query" | "rag_result")
}
