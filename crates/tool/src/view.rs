//! Tools that read a view of a larger state.
use std::{collections::BTreeMap, sync::Arc};

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{
    Registry, ToolContext, ToolFailure, ToolOutput,
    dynamic::{DynTool, PreparedCall},
    registry::{Entry, Inner},
};

impl<V: Send + Sync + 'static, U: 'static> Registry<V, U> {
    /// Returns the same tools for a larger state: a call makes the view of the state at that moment,
    /// and the tool reads it. While there is no view, tools that require a state are blocked.
    ///
    /// So tools know only what they need, and are tested without the agent around them.
    ///
    /// ```
    /// use fugato_state::ToolCall;
    /// use fugato_tool::{NoArguments, Registry, ToolContext, ToolSpec};
    /// use serde_json::json;
    ///
    /// struct Garden { trees: u32 }
    /// struct Agent { garden: Option<u32> }
    ///
    /// let count = ToolSpec::read("count", "Counts the trees.").requires_state();
    /// let tools = Registry::<Garden, ()>::builder()
    ///     .function(count, |cx, _: NoArguments| Ok(format!("{} trees", cx.state()?.trees)))
    ///     .build()?
    ///     .viewed(|agent: &Agent| Some(Garden { trees: agent.garden? }));
    ///
    /// let called = |agent: Agent| {
    ///     let call = ToolCall::new("c1", "count", json!({}));
    ///     let cx = ToolContext::new(&agent);
    ///     futures::executor::block_on(tools.call(&call, cx)).text
    /// };
    /// assert_eq!(called(Agent { garden: Some(3) }), "3 trees");
    /// assert_eq!(called(Agent { garden: None }), ToolContext::<()>::without_state().state().unwrap_err().to_string());
    /// # Ok::<(), fugato_tool::RegistryError>(())
    /// ```
    #[must_use]
    pub fn viewed<S: Sync + 'static>(
        &self,
        view: impl Fn(&S) -> Option<V> + Send + Sync + 'static,
    ) -> Registry<S, U> {
        let view: Arc<View<S, V>> = Arc::new(view);
        let lifted = |(name, entry): (&String, &Arc<Entry<V, U>>)| {
            let tool = ViewTool {
                entry: Arc::clone(entry),
                view: Arc::clone(&view),
            };
            let entry = Entry {
                spec: entry.spec.clone(),
                parameters: entry.parameters.clone(),
                chinese: entry.chinese.clone(),
                tool: Box::new(tool),
            };
            (name.clone(), Arc::new(entry))
        };
        Registry(Arc::new(Inner {
            tools: self.0.tools.iter().map(lifted).collect(),
            aliases: self.0.aliases.clone(),
            domains: self.0.domains.clone(),
        }))
    }
}

type View<S, V> = dyn Fn(&S) -> Option<V> + Send + Sync;

/// A tool over the view of a state.
struct ViewTool<S, V, U> {
    entry: Arc<Entry<V, U>>,
    view: Arc<View<S, V>>,
}

impl<S, V, U> DynTool<S, U> for ViewTool<S, V, U>
where
    S: Sync + 'static,
    V: Send + Sync + 'static,
    U: 'static,
{
    fn prepare(&self, arguments: Value) -> Result<Box<dyn PreparedCall<S, U>>, serde_json::Error> {
        Ok(Box::new(ViewCall {
            call: self.entry.tool.prepare(arguments)?,
            requires_state: self.entry.spec.requires_state,
            view: Arc::clone(&self.view),
        }))
    }
}

struct ViewCall<S, V, U> {
    call: Box<dyn PreparedCall<V, U>>,
    requires_state: bool,
    view: Arc<View<S, V>>,
}

impl<S, V, U> PreparedCall<S, U> for ViewCall<S, V, U>
where
    S: Sync,
    V: Send + Sync + 'static,
    U: 'static,
{
    fn consequence(&self) -> Option<String> {
        self.call.consequence()
    }

    fn version(&self) -> Option<String> {
        self.call.version()
    }

    fn refusal(&self) -> Option<String> {
        self.call.refusal()
    }

    fn labels(&self) -> BTreeMap<String, String> {
        self.call.labels()
    }

    fn run<'a>(
        self: Box<Self>,
        cx: ToolContext<'a, S>,
    ) -> BoxFuture<'a, Result<ToolOutput<U>, ToolFailure>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let seen = cx.state().ok().and_then(|state| (self.view)(state));
            if self.requires_state && seen.is_none() {
                return Err(ToolFailure::no_state());
            }
            self.call.run(cx.over(seen.as_ref())).await
        })
    }
}
