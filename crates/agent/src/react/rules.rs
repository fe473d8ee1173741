use fugato_llm::ChatRequest;
use fugato_state::Message;

use crate::ModelFailure;

/// Rules that decide in a loop of model and tools without a model.
///
/// *Contract*
/// - **always an answer**: the rules need no model and no network, and return a text or a call for
///   every request.
/// - **honest**: an answer to a request that is not understood says so, rather than guess.
pub trait ReactRules: Send + Sync {
    /// Returns the answer to a model's request, with the available tools. `failure` is the failure
    /// of the named model; none if there is no model.
    fn answer(&self, request: &ChatRequest, failure: Option<&ModelFailure>) -> Message;
}

const _: () = {
    const fn object_safe(_: Option<&dyn ReactRules>) {}
    object_safe(None);
};
