//! The front door: an agent in one expression.
use std::{future::Future, sync::Arc};

use fugato_graph::{Context, END, Graph, GraphBuilder, Run, Runner};
use fugato_llm::ChatModel;
use fugato_state::{JsonType, Lang, RunContext, ThreadId, say};
use fugato_store::{MemoryLog, ThreadStore};
use fugato_tool::{
    GateChain, NoArguments, Registry, RegistryBuilder, RegistryError, Tool, ToolCaller,
    ToolContext, ToolFailure, ToolOutput, ToolSpec,
};

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
    context: RunContext,
    handoffs: Vec<(String, Self)>,
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
        context: RunContext::new(),
        handoffs: vec![],
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

        /// Sets the user and the model of [`run`](Self::run) and [`stream`](Self::stream).
        pub fn context(context: RunContext) { context = context }
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

    /// Adds a tool that is a function, which returns at once. An async function goes to
    /// [`function_with`](Self::function_with).
    #[must_use]
    pub fn function<I, O, F>(mut self, spec: ToolSpec, function: F) -> Self
    where
        I: JsonType + Send + 'static,
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
        I: JsonType + Send + 'static,
        O: Into<ToolOutput<ReactUpdate>>,
        F: Fn(D, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolFailure>> + Send + 'static,
    {
        self.tools = self.tools.function_with(spec, deps, function);
        self
    }

    /// Does the same as [`function_with`](Self::function_with), for a function that is told who
    /// calls, too.
    #[must_use]
    pub fn function_with_caller<D, I, O, F, Fut>(
        mut self,
        spec: ToolSpec,
        deps: D,
        function: F,
    ) -> Self
    where
        D: Clone + Send + Sync + 'static,
        I: JsonType + Send + 'static,
        O: Into<ToolOutput<ReactUpdate>>,
        F: Fn(D, ToolCaller, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolFailure>> + Send + 'static,
    {
        self.tools = self.tools.function_with_caller(spec, deps, function);
        self
    }

    /// Lets the model hand the conversation over to another agent, by a tool that is called
    /// `transfer_to_` and the name: 1 to 52 of `A-Z a-z 0-9 _ -`. `when` tells the model what the
    /// other is for. The other agent goes on in the same run, with its own model, tools and system
    /// prompt; its store and thread are not used. The next message comes to this agent again.
    ///
    /// ```
    /// # use fugato_testkit::{Scripted, ScriptedReply};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), fugato_agent::ReplyError> {
    /// # let call = fugato_state::ToolCall::new("c1", "transfer_to_billing", serde_json::json!({}));
    /// # let (model, other) = (Scripted::new([ScriptedReply::tool_calls([call])]), Scripted::new(["Refunded."]));
    /// let billing = fugato_agent::agent(other).system("You know all about bills.");
    /// let reply = fugato_agent::agent(model)
    ///     .system("You greet people.")
    ///     .handoff("billing", "Bills and refunds.", billing)
    ///     .run("I was charged twice.")
    ///     .await?;
    /// assert_eq!(reply, "Refunded.");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn handoff(mut self, name: impl Into<String>, when: &str, agent: Self) -> Self {
        let name = name.into();
        let what = |lang: Lang| {
            lang.scope(|| {
                say!(
                    "Hands the conversation over to {name}: {when}",
                    "把对话交给 {name}：{when}"
                )
            })
        };
        let spec = ToolSpec::read(format!("transfer_to_{name}"), what(Lang::En));
        let (spec, to) = (spec.chinese(what(Lang::Zh)), name.clone());
        self.tools = self.tools.function(spec, move |_, _: NoArguments| {
            Ok(ToolOutput::new(say!("{to} goes on", "由 {to} 接手")).handoff(&to))
        });
        self.handoffs.push((name, agent));
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
        let context = self.context.clone();
        Ok(self.build()?.chat_stream_with(&thread, text, context))
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

    /// Returns the loop, for further settings or as a part of a larger graph. The agents that it
    /// hands over to are not part of it.
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
    pub fn into_graph(mut self) -> Result<Graph<React>, ReplyError> {
        let handoffs = std::mem::take(&mut self.handoffs);
        let own = self.into_loop()?;
        if handoffs.is_empty() {
            return Ok(own.build()?);
        }
        let graph = Graph::starting_at(own.entry()).output(|react: &React| react.reply());
        let (mut graph, mut entries) = (own.add_to(graph, HANDOFF), vec![]);
        for (name, agent) in handoffs {
            graph = agent.add_under(name, graph, &mut entries)?;
        }
        let targets: Vec<_> = entries.iter().map(|(_, entry)| entry.clone()).collect();
        let next = move |react: &React| {
            let to = react.run.handoff.as_ref().map(|handoff| &handoff.to);
            let entry = entries.iter().find(|(name, _)| Some(name) == to);
            entry.map_or_else(|| END.to_owned(), |(_, entry)| entry.clone())
        };
        let targets = targets.into_iter().chain([END.to_owned()]);
        let graph = graph
            .node(HANDOFF, async |_: Context<React>| ())
            .branch(HANDOFF, targets, next);
        Ok(graph.build()?)
    }

    /// Adds this agent and those that it hands over to, under their names.
    fn add_under(
        mut self,
        name: String,
        mut graph: GraphBuilder<React>,
        entries: &mut Vec<(String, String)>,
    ) -> Result<GraphBuilder<React>, ReplyError> {
        let handoffs = std::mem::take(&mut self.handoffs);
        let own = self.into_loop()?.prefix(format!("{name}_"));
        entries.push((name, own.entry()));
        graph = own.add_to(graph, HANDOFF);
        for (name, agent) in handoffs {
            graph = agent.add_under(name, graph, entries)?;
        }
        Ok(graph)
    }
}

/// The node that leads to the agent to which a run was handed over.
const HANDOFF: &str = "handoff";

fn default_thread() -> ThreadId {
    ThreadId::new("agent").expect("a short name without control characters")
}
