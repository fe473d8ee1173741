use fugato_llm::{ChatRequest, RejectedAnswer, ToolSchema};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A question that either a model or rules can answer.
///
/// The model's function call is read into a verdict by code, which rejects invalid arguments. The
/// rules return the same kind of verdict without a model.
///
/// # Contract
/// - `rules` needs no model and no network, and always returns a verdict.
/// - `read` rejects with a reason that says what is allowed: the model gets it, and is asked again.
/// - All three depend only on the situation and the fields of the judge.
pub trait Judge: Send + Sync + 'static {
    /// The input of a judgement: plain data, which can be stored and sent.
    type Situation: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The decision.
    type Verdict: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Returns the request to a model, and the function that it calls to answer. Traces name the
    /// question by the `stage` in the request's metadata.
    fn question(&self, situation: &Self::Situation) -> (ChatRequest, ToolSchema);

    /// Reads the arguments of the function call into a verdict, or rejects them.
    fn read(
        &self,
        at: &Self::Situation,
        arguments: &Value,
    ) -> Result<Self::Verdict, RejectedAnswer>;

    /// Returns the verdict of the rules.
    fn rules(&self, situation: &Self::Situation) -> Self::Verdict;
}
