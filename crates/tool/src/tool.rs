use std::collections::BTreeMap;

use async_trait::async_trait;
use fugato_state::JsonType;
use schemars::JsonSchema;

use crate::{ToolContext, ToolFailure, ToolOutput, ToolSpec};

/// A tool that a model can call.
///
/// `S` is the state that the tool reads, and `U` the type of the updates that it can ask for. A
/// tool never changes the state itself; it returns updates, which the caller applies. A short tool
/// is a function: see [`tool_fn`](crate::tool_fn).
///
/// # Example
/// ```
/// use fugato_tool::{Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec, async_trait};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// struct Weather;
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
///         Ok(ToolOutput::new(format!("{}: sunny", place.city)))
///     }
/// }
/// ```
///
/// # Wrong
/// A tool that changes the state does not compile; it has to return an update:
/// ```compile_fail,E0594
/// # use fugato_tool::{NoArguments, ToolSpec, tool_fn};
/// struct Parking { free: u16 }
///
/// tool_fn::<Parking, (), _, _, _>(ToolSpec::write("take", "Takes a place."), |cx, _: NoArguments| {
///     cx.state()?.free -= 1;
///     Ok("taken")
/// });
/// ```
/// A change through a `Mutex` compiles and is lost after a crash, because it is not in the log. An
/// action behind [`ToolSpec::read`] is wrong too: reads run at the same time, pass gates such as
/// [`confirm_writes`](crate::confirm_writes), and are repeated after a crash.
///
/// # Contract
/// - The spec is asked for once, at registration, and says the same each time.
/// - `call` sees arguments that fit the schema of `Input`.
/// - A call that fails asks for no updates.
/// - A call whose agreed version is no longer that of what it acts on changes nothing, unless it is a
///   [repeat](ToolContext::is_repeat) that finds its own work done: then it says so.
/// - What is wrong is told twice: to the model in [`ToolFailure::text`], to the operator in the
///   source.
///
/// # What follows
/// An output is the result that the model reads next. [`ToolOutput::ask`] puts a question to a
/// person instead, whose answer becomes the result; [`final_output`](ToolOutput::final_output)
/// makes the result the reply of the run, and [`handoff`](ToolOutput::handoff) ends the run for
/// another agent: see [`NextStep`](crate::NextStep). [`ToolContext::user_id`] and
/// [`ToolContext::thread_id`] say who calls.
///
/// # Errors
/// A failure becomes a result for the model: [`failed`](ToolFailure::failed) for an attempt without
/// effect, [`blocked`](ToolFailure::blocked()) for a rule, [`internal`](ToolFailure::internal) for
/// errors that the model cannot correct. A tool that may have acted adds
/// [`in_doubt`](ToolFailure::in_doubt()). A panic of `call` is caught, and is an internal failure.
///
/// # Cancellation safety
/// `call` can be dropped at every `.await`: at its time limit, and when the run is cancelled. A
/// late call is in doubt; for [`EffectClass::Once`](crate::EffectClass::Once),
/// [`act`](crate::AdmittedCall::act) then returns [`UnknownOutcome`](crate::UnknownOutcome) in place of a result.
///
/// # Cost
/// The schema of `Input` is built at registration. A call is validated and deserialised once, and
/// allocates two futures; the state is borrowed. `refusal`, `consequence`, `version` and `labels` run only
/// for calls to be confirmed.
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool that reads `{S}` and returns `{U}`",
    note = "implement `Tool<S, U>`, or give a function to `RegistryBuilder::function`, an async one to `RegistryBuilder::function_with`"
)]
pub trait Tool<S = (), U = ()>: Send + Sync
where
    S: Sync,
{
    /// The arguments: a struct, whose schema the model is shown.
    type Input: JsonType + Send;

    /// Returns the spec of the tool.
    fn spec(&self) -> ToolSpec;

    /// Returns the consequence of a call that its arguments do not show, such as what it replaces
    /// or when it acts, for the confirmation card. It only reads, and is quick.
    fn consequence(&self, input: &Self::Input) -> Option<String> {
        let _ = input;
        None
    }

    /// Returns the version of what a call acts on, such as a digest of the file that it replaces; none
    /// if it acts on nothing that somebody else can change. Agreement to a card is to this version, and
    /// `call` compares it with [`ToolContext::agreed_version`] where nobody can change it in between:
    /// in its transaction, or under a lock. It only reads, and is quick.
    fn version(&self, input: &Self::Input) -> Option<String> {
        let _ = input;
        None
    }

    /// Returns the reason for which a call fails in any case, such as a path that leads out of the
    /// folder: nobody is asked to agree to what cannot be done. It only reads, and is quick.
    fn refusal(&self, input: &Self::Input) -> Option<String> {
        let _ = input;
        None
    }

    /// Returns what people call values of the arguments of a call, by the names of these: for the
    /// confirmation card, which shows them in place of the values.
    fn labels(&self, input: &Self::Input) -> BTreeMap<String, String> {
        let _ = input;
        BTreeMap::new()
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
#[schemars(extend("x-zh" = "不需要参数。"))]
pub struct NoArguments {}
