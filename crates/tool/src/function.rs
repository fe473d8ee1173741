use std::marker::PhantomData;

use async_trait::async_trait;
use fugato_state::JsonType;
use futures::future::BoxFuture;

use crate::{Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};

/// Creates a tool from a function that returns at once.
///
/// ```
/// use fugato_tool::{ToolContext, ToolSpec, tool_fn};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Range {
///     day: u16,
/// }
///
/// struct Week {
///     free: Vec<u16>,
/// }
///
/// let is_free = tool_fn::<Week, (), _, _, _>(
///     ToolSpec::read("is_free", "Whether a day is free."),
///     |cx, range: Range| Ok(cx.state()?.free.contains(&range.day).to_string()),
/// );
/// ```
pub fn tool_fn<S, U, I, O, F>(spec: ToolSpec, function: F) -> FunctionTool<F, I, O>
where
    S: Sync,
    F: Fn(ToolContext<'_, S>, I) -> Result<O, ToolFailure> + Send + Sync,
    I: JsonType + Send,
    O: Into<ToolOutput<U>>,
{
    FunctionTool {
        spec,
        function,
        types: PhantomData,
    }
}

/// Creates a tool from an asynchronous function. It returns a boxed future, because the type of a
/// future that borrows from its context cannot be written otherwise.
pub fn async_tool_fn<S, U, I, F>(spec: ToolSpec, function: F) -> AsyncFunctionTool<F, I>
where
    S: Sync,
    F: for<'a> Fn(ToolContext<'a, S>, I) -> BoxFuture<'a, Result<ToolOutput<U>, ToolFailure>>
        + Send
        + Sync,
    I: JsonType + Send,
{
    AsyncFunctionTool {
        spec,
        function,
        types: PhantomData,
    }
}

/// A tool made by [`tool_fn`].
#[derive(derive_more::Debug)]
#[debug("FunctionTool {{ spec: {spec:?}, .. }}")]
pub struct FunctionTool<F, I, O> {
    spec: ToolSpec,
    function: F,
    types: PhantomData<fn(I) -> O>,
}

#[async_trait]
impl<S, U, I, O, F> Tool<S, U> for FunctionTool<F, I, O>
where
    S: Sync,
    F: Fn(ToolContext<'_, S>, I) -> Result<O, ToolFailure> + Send + Sync,
    I: JsonType + Send,
    O: Into<ToolOutput<U>>,
{
    type Input = I;

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, cx: ToolContext<'_, S>, input: I) -> Result<ToolOutput<U>, ToolFailure> {
        (self.function)(cx, input).map(Into::into)
    }
}

/// A tool made by [`async_tool_fn`].
#[derive(derive_more::Debug)]
#[debug("AsyncFunctionTool {{ spec: {spec:?}, .. }}")]
pub struct AsyncFunctionTool<F, I> {
    spec: ToolSpec,
    function: F,
    types: PhantomData<fn(I)>,
}

#[async_trait]
impl<S, U, I, F> Tool<S, U> for AsyncFunctionTool<F, I>
where
    S: Sync,
    F: for<'a> Fn(ToolContext<'a, S>, I) -> BoxFuture<'a, Result<ToolOutput<U>, ToolFailure>>
        + Send
        + Sync,
    I: JsonType + Send,
{
    type Input = I;

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, cx: ToolContext<'_, S>, input: I) -> Result<ToolOutput<U>, ToolFailure> {
        (self.function)(cx, input).await
    }
}
