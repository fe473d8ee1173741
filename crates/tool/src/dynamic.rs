use std::{collections::BTreeMap, sync::Arc};

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{Tool, ToolContext, ToolFailure, ToolOutput};

/// A tool with its input type erased.
pub(crate) trait DynTool<S, U>: Send + Sync {
    /// Deserialises the arguments.
    fn prepare(&self, arguments: Value) -> Result<Box<dyn PreparedCall<S, U>>, serde_json::Error>;
}

/// A call with deserialised arguments.
pub(crate) trait PreparedCall<S, U>: Send {
    fn consequence(&self) -> Option<String>;

    fn version(&self) -> Option<String>;

    fn refusal(&self) -> Option<String>;

    fn labels(&self) -> BTreeMap<String, String>;

    fn run<'a>(
        self: Box<Self>,
        cx: ToolContext<'a, S>,
    ) -> BoxFuture<'a, Result<ToolOutput<U>, ToolFailure>>
    where
        Self: 'a;
}

pub(crate) struct ErasedTool<T>(pub(crate) Arc<T>);

impl<S, U, T> DynTool<S, U> for ErasedTool<T>
where
    S: Sync + 'static,
    U: 'static,
    T: Tool<S, U, Input: 'static> + 'static,
{
    fn prepare(&self, arguments: Value) -> Result<Box<dyn PreparedCall<S, U>>, serde_json::Error> {
        let input = serde_json::from_value(arguments)?;
        Ok(Box::new(Call::<T, T::Input> {
            tool: Arc::clone(&self.0),
            input,
        }))
    }
}

struct Call<T, I> {
    tool: Arc<T>,
    input: I,
}

impl<S, U, T> PreparedCall<S, U> for Call<T, T::Input>
where
    S: Sync,
    T: Tool<S, U>,
{
    fn consequence(&self) -> Option<String> {
        self.tool.consequence(&self.input)
    }

    fn version(&self) -> Option<String> {
        self.tool.version(&self.input)
    }

    fn refusal(&self) -> Option<String> {
        self.tool.refusal(&self.input)
    }

    fn labels(&self) -> BTreeMap<String, String> {
        self.tool.labels(&self.input)
    }

    fn run<'a>(
        self: Box<Self>,
        cx: ToolContext<'a, S>,
    ) -> BoxFuture<'a, Result<ToolOutput<U>, ToolFailure>>
    where
        Self: 'a,
    {
        Box::pin(async move { self.tool.call(cx, self.input).await })
    }
}
