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
pub(crate) const INIT: &str = "init_state";
pub(crate) const MEMORY: &str = "memory_trigger";
pub(crate) const AGENT: &str = "agent";
pub(crate) const TOOLS: &str = "tools";
pub(crate) const FINALIZE: &str = "finalize";

/// The default timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(180);

/// A `ReAct` agent: `init_state`, then `agent` and `tools` in turns, then `finalize`.
///
/// ```text
/// init_state → (memory_trigger →) agent ⇄ tools
///                                   └→ finalize
/// ```
///
/// `agent` asks the model once. `tools` carries out the calls of that answer, and nothing else.
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
    manner: LoopOptions<S>,
}

/// The rules that decide without a model.
type Rules = dyn Fn(&ChatRequest, Option<&ModelFailure>) -> Message + Send + Sync;
type Words = dyn Fn(&str, StopReason, &ReactMetadata) -> String + Send + Sync;

/// The options of the loop.
struct LoopOptions<S> {
    system: Box<dyn Fn(&S) -> String + Send + Sync>,
    style: DecisionStyle,
    profile: Profile,
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
            toolbox: toolbox.or_visible(|state: &S| state.part().visibility.clone()),
            memory: None,
            manner: LoopOptions {
                system: Box::new(|_| String::new()),
                style: DecisionStyle::Native,
                profile: Profile {
                    timeout: Some(PATIENCE),
                    ..Profile::default()
                },
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

        /// Sets the maximum number of rounds of tools in a run: 8 by default. After them the model
        /// is asked once more, without tools.
        pub fn max_steps(steps: u32) { manner.max_steps = steps }

        /// Sets how many unusable answers in a row end the run; at least one, 3 by default.
        pub fn rejections(rejections: u32) { manner.rejections = rejections }

        /// Sets the detector of repeated calls.
        pub fn detector(detector: CycleDetector) { manner.detector = detector }

        /// Sets the explanation of a run that stops without words of the model. The function gets
        /// the person's last message; the default is [`StopReason::told`].
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
        let graph = Graph::<S>::starting_at(INIT).output(|state: &S| state.part().reply());
        self.add_to(graph, END).build()
    }

    /// Adds the loop to a graph: an edge to `init_state` begins it, and `finalize` leads to `next`.
    pub fn add_to(self, graph: GraphBuilder<S>, next: &str) -> GraphBuilder<S> {
        let manner = Arc::new(self.manner);
        let think = think::Think {
            model: self.model,
            rules: self.rules,
            toolbox: self.toolbox.clone(),
            manner: Arc::clone(&manner),
        };
        let max_steps = manner.max_steps;
        let report = self.toolbox.clone();
        let graph = graph
            .node(INIT, init::Init { max_steps })
            .node(AGENT, recorded(think))
            .node(TOOLS, act::Act(self.toolbox))
            .node(FINALIZE, finish::Finish(manner, report))
            .branch(AGENT, [TOOLS, FINALIZE, AGENT], |state: &S| {
                after_agent(state.part())
            })
            .edge(TOOLS, AGENT)
            .edge(FINALIZE, next);
        match self.memory {
            None => graph.edge(INIT, AGENT),
            Some(memory) => graph
                .node(MEMORY, OptionalNode(memory))
                .edge(INIT, MEMORY)
                .edge(MEMORY, AGENT),
        }
    }
}

/// Returns the node after `agent`: a stop comes first, then a correction, then calls.
fn after_agent(react: &React) -> &'static str {
    if react.run.stop_reason.is_some() {
        return FINALIZE;
    }
    if react.run.corrections > 0 {
        return AGENT;
    }
    let last = react.conversation.history.last();
    if last.is_some_and(|message| !message.tool_calls.is_empty()) {
        TOOLS
    } else {
        FINALIZE
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
