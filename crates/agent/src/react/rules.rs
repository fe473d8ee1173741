use fugato_llm::ChatRequest;
use fugato_state::Message;

use crate::ModelFailure;

/// What decides in a loop of model and tools where no model does.
///
/// *Contract*
/// - **always an answer**: it needs no model and no network, and has a text or a call for everything.
/// - **honest**: it says that it did not understand, rather than guess.
pub trait ReactRules: Send + Sync {
    /// The answer to what a model would be asked, with the tools that there are. `failure` says why
    /// the model that was named does not answer; none where none was named.
    fn answer(&self, request: &ChatRequest, failure: Option<&ModelFailure>) -> Message;
}

const _: () = {
    const fn object_safe(_: Option<&dyn ReactRules>) {}
    object_safe(None);
};
