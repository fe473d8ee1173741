use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{ToolContext, ToolFailure, ToolOutput, ToolSpec};

/// Something that a model can ask for.
///
/// `S` is what the tool reads, `U` the changes that it can ask for: a tool never changes the state
/// itself, it returns updates. A short tool is a function: see [`tool_fn`](crate::tool_fn).
///
/// # Contract
/// - The spec is asked for once, at registration, and says the same each time.
/// - `call` sees arguments that fit the schema of `Input`.
/// - A call that fails asks for no updates.
/// - What is wrong is told twice: to the model in [`ToolFailure::text`], to the operator in the
///   source.
///
/// ```
/// use fugato_tool::{Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec, async_trait};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// struct Weather {
///     degrees: i32,
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Place {
///     city: String,
/// }
///
/// #[async_trait]
/// impl Tool for Weather {
///     type Input = Place;
///
///     fn spec(&self) -> ToolSpec {
///         ToolSpec::read("weather", "The weather of a city.")
///     }
///
///     async fn call(&self, _: ToolContext<'_>, place: Place) -> Result<ToolOutput, ToolFailure> {
///         Ok(ToolOutput::new(format!("{}: {} °C", place.city, self.degrees)))
///     }
/// }
/// ```
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool that reads `{S}` and returns `{U}`",
    note = "implement `Tool<S, U>`, or wrap a function with `tool_fn`"
)]
pub trait Tool<S = (), U = ()>: Send + Sync
where
    S: Sync,
{
    /// The arguments: a struct, whose schema the model is shown.
    type Input: DeserializeOwned + JsonSchema + Send;

    /// What is known about the tool without calling it.
    fn spec(&self) -> ToolSpec;

    /// Returns what would come of a call beside what its arguments say, such as what it replaces or
    /// when it acts, for the card of a person who is asked. Looks only, and is quick.
    fn consequence(&self, input: &Self::Input) -> Option<String> {
        let _ = input;
        None
    }

    /// Executes the tool.
    async fn call(
        &self,
        cx: ToolContext<'_, S>,
        input: Self::Input,
    ) -> Result<ToolOutput<U>, ToolFailure>;
}

/// The arguments of a tool that takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
pub struct NoArguments {}
