//! The loop of model and tools: a node for one model call, a node for one round of tools, and the
//! edges between them.
//!
//! [`agent`] makes all of it in one expression. [`ReactLoop`] builds the graph, [`Assistant`] talks to it with messages and replies, and
//! [`React`] is its state, or the part of a larger one. A [`CycleDetector`] ends a run that only
//! repeats itself.
mod act;
mod agent;
mod cycle;
mod entry;
mod finish;
mod init;
mod receipts;
mod state;
mod think;
mod view;
mod words;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{
    BoxError, BuildError, Context, END, Graph, GraphBuilder, IntoNode, Node, Outcome,
};
use fugato_llm::{ChatModel, ChatRequest, DecisionStyle, Profile, Timeout};
use fugato_state::Message;

use crate::{
    Embeds, Toolbox,
    decision::ModelFailure,
    trace::{RecordedModel, recorded},
};

pub use agent::{Agent, agent};
pub use cycle::CycleDetector;
pub use entry::{Assistant, ReplyError};
pub use state::{React, ReactMetadata, ReactReply, ReactRun, ReactUpdate, StopReason};

/// The names of the nodes.
#[derive(Debug)]
struct NodeNames {
    init: String,
    memory: String,
    agent: String,
    tools: String,
    finalize: String,
}

impl NodeNames {
    fn new(prefix: &str) -> Self {
        let named = |name: &str| format!("{prefix}{name}");
        Self {
            init: named("init_state"),
            memory: named("memory_trigger"),
            agent: named("agent"),
            tools: named("tools"),
            finalize: named("finalize"),
        }
    }
}

/// The default timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(180);

/// A `ReAct` agent: `init_state`, then `agent` and `tools` in turns, then `finalize`.
///
/// ```text
/// init_state → (memory_trigger →) agent ⇄ tools
///                         finalize ←┴──────┘
/// ```
///
/// `agent` asks the model once. `tools` carries out the calls of that answer, and nothing else. A
/// tool can end the run: with its result as the reply, or for another agent
/// ([`NextStep`](fugato_tool::NextStep)).
/// After the maximum number of rounds the model answers without tools. Repeated calls with the same
/// results end the run, and so do repeated empty answers. Every end has a reply. If something was
/// written, or was to be written and was not, the reply begins with the [`RunReport`](crate::reply::RunReport)
/// of it.
///
/// The crate's README has an example. [`build`](Self::build) makes a graph of the loop, and
/// [`add_to`](Self::add_to) adds it to a larger one.
#[derive(derive_more::Debug)]
#[debug(
    "ReactLoop {{ model: {:?}, toolbox: {toolbox:?}, style: {:?}, max_steps: {:?}, .. }}",
    self.model.as_deref().map(ChatModel::name),
    self.manner.style,
    self.manner.max_steps
)]
pub struct ReactLoop<S: Embeds<React> = React> {
    model: Option<Arc<dyn ChatModel>>,
    rules: Option<Arc<Rules>>,
    toolbox: Toolbox<S>,
    memory: Option<Arc<dyn Node<S>>>,
    prefix: String,
    manner: LoopOptions<S>,
}

/// The rules that decide without a model.
type Rules = dyn Fn(&ChatRequest, Option<&ModelFailure>) -> Message + Send + Sync;
type Words = dyn Fn(&str, StopReason, &ReactMetadata) -> String + Send + Sync;
type Prepare<S> = dyn Fn(&S, ChatRequest) -> ChatRequest + Send + Sync;

/// The options of the loop.
struct LoopOptions<S> {
    system: Box<dyn Fn(&S) -> String + Send + Sync>,
    style: DecisionStyle,
    profile: Profile,
    prepare: Box<Prepare<S>>,
    max_steps: u32,
    rejections: u32,
    detector: CycleDetector,
    answers_after_loop: bool,
    explains_silence: bool,
    speaks: bool,
    words: Box<Words>,
}

impl<S: Embeds<React>> ReactLoop<S> {
    /// Creates a loop of this model and these tools, with at most 8 rounds of tools in a run. The
    /// timeout of each answer is three minutes, which retries and backups share.
    pub fn new(model: impl ChatModel + 'static, toolbox: Toolbox<S>) -> Self {
        let model = RecordedModel::new(Timeout::new(model));
        Self::with(Some(Arc::new(model)), toolbox)
    }

    /// Creates a loop of these rules and tools: no model is asked.
    pub fn by_rules(
        rules: impl Fn(&ChatRequest, Option<&ModelFailure>) -> Message + Send + Sync + 'static,
        toolbox: Toolbox<S>,
    ) -> Self {
        Self::with(None, toolbox).rules(rules)
    }

    fn with(model: Option<Arc<dyn ChatModel>>, toolbox: Toolbox<S>) -> Self {
        Self {
            model,
            rules: None,
            toolbox: toolbox
                .or_visible(|state: &S| state.part().visibility.clone())
                .or_user(|state: &S| state.part().run.context.user.clone()),
            memory: None,
            prefix: String::new(),
            manner: LoopOptions {
                system: Box::new(|_| String::new()),
                style: DecisionStyle::Native,
                profile: Profile {
                    timeout: Some(PATIENCE),
                    ..Profile::default()
                },
                prepare: Box::new(|_, request| request),
                max_steps: 8,
                rejections: 3,
                detector: CycleDetector::default(),
                answers_after_loop: false,
                explains_silence: false,
                speaks: true,
                words: Box::new(|said, reason, metadata| reason.told(said, metadata)),
            },
        }
    }

    fugato_state::setters! {
        /// Sets the rules for the rest of a run in which the model gives no usable answer. They
        /// need no model and no network, and return a text or a call for every request, or say that
        /// they do not understand it. The failure of the named model is none if there
        /// is no model; it is announced at once, with the reason. Rules do not count as calls of a
        /// model.
        pub fn rules(
            rules: impl Fn(&ChatRequest, Option<&ModelFailure>) -> Message + Send + Sync + 'static,
        ) {
            rules = Some(Arc::new(rules))
        }

        /// Sets a system prompt that is made from the state.
        pub fn system_of(text: impl Fn(&S) -> String + Send + Sync + 'static) {
            manner.system = Box::new(text)
        }

        /// Sets the form of the model's calls: the protocol's tool calls by default. The other
        /// styles are for models without tool calls, and describe the tools in the prompt.
        pub fn style(style: DecisionStyle) { manner.style = style }

        /// Sets the profile of the requests. Its timeout is for the whole answer.
        pub fn profile(profile: Profile) { manner.profile = profile }

        /// Prepares each request to the model from the state, after everything else: its model, its
        /// sampling, its metadata. Without it, a request has the model and the metadata of the
        /// run's [`RunContext`](fugato_state::RunContext).
        ///
        /// ```
        /// # use fugato_agent::{React, ReactLoop, Toolbox};
        /// # use fugato_llm::{ChatModel, Models};
        /// # use fugato_tool::Registry;
        /// # fn lead(quick: impl ChatModel + 'static, deep: impl ChatModel + 'static) -> Result<(), fugato_tool::RegistryError> {
        /// let models = Models::new("quick", quick).with("deep", deep);
        /// let toolbox = Toolbox::new(Registry::builder().build()?);
        /// ReactLoop::<React>::new(models, toolbox).prepare(|react, request| {
        ///     let rounds = react.run.current_step;
        ///     let request = request.metadata("round", rounds.to_string());
        ///     if rounds < 3 { request } else { request.model("deep").temperature(0.2) }
        /// });
        /// # Ok(())
        /// # }
        /// ```
        pub fn prepare(prepare: impl Fn(&S, ChatRequest) -> ChatRequest + Send + Sync + 'static) {
            manner.prepare = Box::new(prepare)
        }

        /// Sets the beginning of the names of the nodes, so that a graph can have several loops:
        /// with `billing_`, the first node is `billing_init_state`.
        pub fn prefix(prefix: impl Into<String>) { prefix = prefix.into() }

        /// Sets the maximum number of rounds of tools in a run: 8 by default. After them the model
        /// is asked once more, without tools.
        pub fn max_steps(steps: u32) { manner.max_steps = steps }

        /// Sets how many unusable answers in a row end the run; at least one, 3 by default.
        pub fn rejections(rejections: u32) { manner.rejections = rejections }

        /// Sets the detector of repeated calls.
        pub fn detector(detector: CycleDetector) { manner.detector = detector }

        /// Sets the explanation of a run that stops without words of the model. The function gets
        /// the person's last message, and the tools that were called by their titles; the default is
        /// [`StopReason::told`].
        pub fn words(
            words: impl Fn(&str, StopReason, &ReactMetadata) -> String + Send + Sync + 'static,
        ) {
            manner.words = Box::new(words)
        }
    }

    /// Streams no words and makes no report: the node after the loop reads its
    /// [`ReactRun::final_reply`], and is responsible for the reply.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.manner.speaks = false;
        self
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.system_of(move |_| text.clone())
    }

    /// Asks the model once more, without tools, after a loop was detected. Without this option the
    /// run ends at once with an explanation.
    #[must_use]
    pub fn answer_after_loop(mut self) -> Self {
        self.manner.answers_after_loop = true;
        self
    }

    /// Ends the run with an explanation if the model fails or times out. Without this option the
    /// run fails, and a retry asks the model again.
    #[must_use]
    pub fn explain_silence(mut self) -> Self {
        self.manner.explains_silence = true;
        self
    }

    /// Sets a node that stores notes when a run begins, such as
    /// [`remember`](crate::memory::remember). Its failure does not stop the run. Words that claim a
    /// note need its [`ReactUpdate::Remembered`].
    #[must_use]
    pub fn memory_trigger<M>(mut self, node: impl IntoNode<S, M>) -> Self {
        self.memory = Some(Arc::new(node.into_node()));
        self
    }

    /// Builds the loop as a graph of its own, with a [`ReactReply`] as its output.
    pub fn build(self) -> Result<Graph<S>, BuildError>
    where
        S: Default,
    {
        let graph = Graph::<S>::starting_at(self.entry());
        let graph = graph.output(|state: &S| state.part().reply());
        self.add_to(graph, END).build()
    }

    /// Returns the name of the first node: `init_state`, after the [prefix](Self::prefix).
    pub fn entry(&self) -> String {
        NodeNames::new(&self.prefix).init
    }

    /// Adds the loop to a graph: an edge to its [entry](Self::entry) begins it, and `finalize` leads
    /// to `next`. Loops over one state share the conversation; where one
    /// [hands over](ReactRun::handoff), a branch after it leads to the other.
    pub fn add_to(self, graph: GraphBuilder<S>, next: &str) -> GraphBuilder<S> {
        let names = NodeNames::new(&self.prefix);
        let manner = Arc::new(self.manner);
        let think = think::Think {
            stage: names.agent.clone(),
            model: self.model,
            rules: self.rules,
            toolbox: self.toolbox.clone(),
            manner: Arc::clone(&manner),
        };
        let act = act::Act {
            toolbox: self.toolbox.clone(),
            speaks: manner.speaks,
        };
        let max_steps = manner.max_steps;
        let targets = |turn: fn(&React) -> Turn| {
            let [tools, agent, finalize] =
                [&names.tools, &names.agent, &names.finalize].map(String::clone);
            move |state: &S| match turn(state.part()) {
                Turn::Tools => tools.clone(),
                Turn::Agent => agent.clone(),
                Turn::Finalize => finalize.clone(),
            }
        };
        let after_agent = [&*names.tools, &*names.finalize, &*names.agent];
        let after_tools = [&*names.agent, &*names.finalize];
        let graph = graph
            .node(&names.init, init::Init { max_steps })
            .node(&names.agent, recorded(think))
            .node(&names.tools, act)
            .node(&names.finalize, finish::Finish(manner, self.toolbox))
            .branch(&names.agent, after_agent, targets(Turn::after_agent))
            .branch(&names.tools, after_tools, targets(Turn::after_tools))
            .edge(&names.finalize, next);
        match self.memory {
            None => graph.edge(&names.init, &names.agent),
            Some(memory) => graph
                .node(&names.memory, OptionalNode(memory))
                .edge(&names.init, &names.memory)
                .edge(&names.memory, &names.agent),
        }
    }
}

/// The node that follows.
enum Turn {
    Tools,
    Agent,
    Finalize,
}

impl Turn {
    /// Returns the node after `agent`: a stop comes first, then a correction, then calls.
    fn after_agent(react: &React) -> Self {
        if react.run.stop_reason.is_some() {
            return Self::Finalize;
        }
        if react.run.corrections > 0 {
            return Self::Agent;
        }
        let last = react.conversation.history.last();
        if last.is_some_and(|message| !message.tool_calls.is_empty()) {
            Self::Tools
        } else {
            Self::Finalize
        }
    }

    /// Returns the node after `tools`, one of which may have ended the run.
    fn after_tools(react: &React) -> Self {
        match react.run.stop_reason {
            Some(_) => Self::Finalize,
            None => Self::Agent,
        }
    }
}

/// A node whose failure is logged and changes nothing.
struct OptionalNode<S: Embeds<React>>(Arc<dyn Node<S>>);

#[async_trait]
impl<S: Embeds<React>> Node<S> for OptionalNode<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let task = cx.task();
        Ok(self.0.run(cx).await.unwrap_or_else(|error| {
            tracing::warn!(task, %error, "optional node failed");
            Outcome::done([])
        }))
    }
}
