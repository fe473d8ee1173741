//! The front door: an agent in one expression.
use std::{future::Future, sync::Arc};

use fugato_graph::{Graph, Run, Runner};
use fugato_llm::ChatModel;
use fugato_state::ThreadId;
use fugato_store::{MemoryLog, ThreadStore};
use fugato_tool::{
    GateChain, Registry, RegistryBuilder, RegistryError, Tool, ToolContext, ToolFailure,
    ToolOutput, ToolSpec,
};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{Assistant, React, ReactLoop, ReactUpdate, ReplyError};
use crate::Toolbox;

/// An agent of a model and its tools, in the making.
///
/// [`run`](Self::run) sends one message and returns the reply. What comes next is one line away: a
/// [`store`](Self::store) that outlives the process, a [`thread`](Self::thread) for each
/// conversation, a [`stream`](Self::stream) of events, an [`Assistant`] for many messages, and the
/// [loop](Self::into_loop) or the [graph](Self::into_graph) itself.
#[derive(derive_more::Debug)]
#[debug("Agent {{ tools: {tools:?}, .. }}")]
pub struct Agent {
    model: Arc<dyn ChatModel>,
    tools: RegistryBuilder<React, ReactUpdate>,
    system: String,
    gates: GateChain<React>,
    store: Arc<dyn ThreadStore>,
    thread: Option<ThreadId>,
}

/// Creates an agent that a model leads, without tools, on a log in memory.
///
/// ```
/// # use std::sync::Arc;
/// # use fugato_llm::ChatModel;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), fugato_agent::ReplyError> {
/// # let model: Arc<dyn ChatModel> = Arc::new(fugato_testkit::Scripted::new(["At noon."]));
/// let reply = fugato_agent::agent(model)
///     .system("You know when lunch is.")
///     .run("When do we eat?")
///     .await?;
/// assert_eq!(reply, "At noon.");
/// # Ok(())
/// # }
/// ```
pub fn agent(model: impl ChatModel + 'static) -> Agent {
    Agent {
        model: Arc::new(model),
        tools: Registry::builder(),
        system: String::new(),
        gates: GateChain::new(),
        store: Arc::new(MemoryLog::default()),
        thread: None,
    }
}

impl Agent {
    fugato_state::setters! {
        /// Sets the system prompt.
        pub fn system(system: impl Into<String>) { system = system.into() }

        /// Sets the gates of the calls, such as [`confirm_writes`](fugato_tool::confirm_writes).
        pub fn gates(gates: GateChain<React>) { gates = gates }

        /// Sets the store of the conversations, such as an `SqliteLog`.
        pub fn store(store: impl ThreadStore + 'static) { store = Arc::new(store) }

        /// Sets the conversation that [`run`](Self::run) and [`stream`](Self::stream) go on with:
        /// `agent` by default.
        pub fn thread(thread: ThreadId) { thread = Some(thread) }
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool<T>(mut self, tool: T) -> Self
    where
        T: Tool<React, ReactUpdate, Input: 'static> + 'static,
    {
        self.tools = self.tools.tool(tool);
        self
    }

    /// Adds a tool that is a function, which returns at once.
    #[must_use]
    pub fn function<I, O, F>(mut self, spec: ToolSpec, function: F) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Into<ToolOutput<ReactUpdate>> + 'static,
        F: Fn(ToolContext<'_, React>, I) -> Result<O, ToolFailure> + Send + Sync + 'static,
    {
        self.tools = self.tools.function(spec, function);
        self
    }

    /// Adds a tool that is an async function of what it depends on, and of its arguments.
    #[must_use]
    pub fn function_with<D, I, O, F, Fut>(mut self, spec: ToolSpec, deps: D, function: F) -> Self
    where
        D: Clone + Send + Sync + 'static,
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Into<ToolOutput<ReactUpdate>>,
        F: Fn(D, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolFailure>> + Send + 'static,
    {
        self.tools = self.tools.function_with(spec, deps, function);
        self
    }

    /// Sends a message, and returns the reply.
    ///
    /// # Errors
    /// The tools or the graph are refused, the run fails, or a person has to answer first.
    pub async fn run(self, text: &str) -> Result<String, ReplyError> {
        let reply = Assistant::<React>::reply(self.stream(text)?.await?)?;
        Ok(reply.final_reply)
    }

    /// Sends a message. Returns the run: a stream of its events, and a future of its end.
    ///
    /// # Errors
    /// The tools or the graph are refused.
    pub fn stream(self, text: &str) -> Result<Run<React>, ReplyError> {
        let thread = self.thread.clone().unwrap_or_else(default_thread);
        Ok(self.build()?.chat_stream(&thread, text))
    }

    /// Returns the agent for many messages, in any number of conversations.
    ///
    /// # Errors
    /// The tools or the graph are refused.
    pub fn build(self) -> Result<Assistant, ReplyError> {
        let store = self.store.clone();
        let runner = Runner::new(self.into_graph()?, Arc::new(store));
        Ok(Assistant::new(runner))
    }

    /// Returns the loop, for further settings or as a part of a larger graph.
    ///
    /// # Errors
    /// The tools do not fit together.
    pub fn into_loop(self) -> Result<ReactLoop, RegistryError> {
        let toolbox = Toolbox::new(self.tools.build()?).gates(self.gates);
        Ok(ReactLoop::new(self.model, toolbox).system(self.system))
    }

    /// Returns the graph.
    ///
    /// # Errors
    /// The tools or the graph are refused.
    pub fn into_graph(self) -> Result<Graph<React>, ReplyError> {
        Ok(self.into_loop()?.build()?)
    }
}

fn default_thread() -> ThreadId {
    ThreadId::new("agent").expect("a short name without control characters")
}
