//! The loop of model and tools: one model call a node, one round of tools a node, and the loop
//! between them in the graph.
mod act;
mod entry;
mod finish;
mod init;
mod receipts;
mod rules;
mod state;
mod think;
mod view;
mod words;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{
    BoxError, BuildError, Context, END, Graph, GraphBuilder, IntoNode, Node, Outcome,
};
use fugato_llm::{ChatModel, DecisionStyle, Profile, Timeout};

use crate::{
    Corrections, CycleDetector, Embeds, Toolbox,
    trace::{Watched, recorded},
};

pub use entry::{Assistant, Unreplied};
pub use rules::ReactRules;
pub use state::{React, ReactMetadata, ReactReply, ReactRun, ReactUpdate, StopReason};
pub use words::StopWords;

/// The names of the nodes.
pub(crate) const INIT: &str = "init_state";
pub(crate) const MEMORY: &str = "memory_trigger";
pub(crate) const AGENT: &str = "agent";
pub(crate) const TOOLS: &str = "tools";
pub(crate) const FINALIZE: &str = "finalize";

/// How long an answer may take, unless a profile says otherwise.
const PATIENCE: Duration = Duration::from_secs(180);

/// A `ReAct` agent: `init_state`, then `agent` and `tools` in turns, then `finalize`.
///
/// ```text
/// init_state → (memory_trigger →) agent ⇄ tools
///                                   └→ finalize
/// ```
///
/// `agent` asks the model once. `tools` carries out what it called, and nothing else. The model
/// answers without tools once there were as many rounds as there may be; calls that come again and
/// again with the same results end the run, and so do answers that say nothing. Each end has a
/// reply. Where something was written, or was to be and was not, the reply begins with the
/// [`Report`](crate::Report) of it.
///
/// The crate's README shows one. [`build`](Self::build) makes a whole graph of it, and
/// [`add_to`](Self::add_to) a part of a larger one.
pub struct ReactLoop<S: Embeds<React> = React> {
    model: Option<Arc<dyn ChatModel>>,
    rules: Option<Arc<dyn ReactRules>>,
    toolbox: Toolbox<S>,
    memory: Option<Arc<dyn Node<S>>>,
    manner: Manner<S>,
}

type Words = dyn Fn(&str) -> StopWords + Send + Sync;

/// In which manner the loop asks and stops.
struct Manner<S> {
    system: Box<dyn Fn(&S) -> String + Send + Sync>,
    style: DecisionStyle,
    profile: Profile,
    max_steps: u32,
    corrections: Corrections,
    detector: CycleDetector,
    answers_after_loop: bool,
    explains_silence: bool,
    speaks: bool,
    words: Box<Words>,
}

impl<S: Embeds<React>> ReactLoop<S> {
    /// A loop of this model and these tools, of at most 8 rounds of tools a run. The model has
    /// three minutes for each answer, which retries and backups share.
    pub fn new(model: impl ChatModel + 'static, toolbox: Toolbox<S>) -> Self {
        let model = Watched::new(Timeout::new(model));
        Self::with(Some(Arc::new(model)), toolbox)
    }

    /// A loop of these rules and tools: no model is asked.
    pub fn by_rules(rules: impl ReactRules + 'static, toolbox: Toolbox<S>) -> Self {
        Self::with(None, toolbox).rules(rules)
    }

    fn with(model: Option<Arc<dyn ChatModel>>, toolbox: Toolbox<S>) -> Self {
        Self {
            model,
            rules: None,
            toolbox: toolbox.or_visible(|state: &S| state.part().visibility.clone()),
            memory: None,
            manner: Manner {
                system: Box::new(|_| String::new()),
                style: DecisionStyle::Native,
                profile: Profile {
                    timeout: Some(PATIENCE),
                    ..Profile::default()
                },
                max_steps: 8,
                corrections: Corrections::default(),
                detector: CycleDetector::default(),
                answers_after_loop: false,
                explains_silence: false,
                speaks: true,
                words: Box::new(StopWords::of),
            },
        }
    }

    /// What goes on for the rest of a run in which the model does not answer, or not usably. The
    /// person is told at once, with the reason. Rules are no model: no call of one is counted.
    #[must_use]
    pub fn rules(mut self, rules: impl ReactRules + 'static) -> Self {
        self.rules = Some(Arc::new(rules));
        self
    }

    /// Shows no words and makes no report: whoever comes after the loop reads its
    /// [`ReactRun::final_reply`], and says what came of it.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.manner.speaks = false;
        self
    }

    /// What the model is told before everything else.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.system_of(move |_| text.clone())
    }

    /// The same, made of the state.
    #[must_use]
    pub fn system_of(mut self, text: impl Fn(&S) -> String + Send + Sync + 'static) -> Self {
        self.manner.system = Box::new(text);
        self
    }

    /// How the model says what it calls: by the protocol's tool calls, by default. The other styles
    /// are for models that have none: the tools are told in the prompt.
    #[must_use]
    pub fn style(mut self, style: DecisionStyle) -> Self {
        self.manner.style = style;
        self
    }

    /// How the model is asked. The time for an answer holds whatever the model makes of it.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.manner.profile = profile;
        self
    }

    /// How many rounds of tools a run may have: 8 by default. Then the model is asked once more,
    /// without tools.
    #[must_use]
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.manner.max_steps = steps;
        self
    }

    /// How often in a row an answer may be unusable.
    #[must_use]
    pub fn corrections(mut self, corrections: Corrections) -> Self {
        self.manner.corrections = corrections;
        self
    }

    /// What counts as a loop.
    #[must_use]
    pub fn detector(mut self, detector: CycleDetector) -> Self {
        self.manner.detector = detector;
        self
    }

    /// Asks the model once more, without tools, when it was found in a loop. Without this, the run
    /// ends at once with an explanation.
    #[must_use]
    pub fn answer_after_loop(mut self) -> Self {
        self.manner.answers_after_loop = true;
        self
    }

    /// Ends the run with an explanation, too, when the model fails or takes too long. Without this
    /// the run fails, and a retry asks the model again.
    #[must_use]
    pub fn explain_silence(mut self) -> Self {
        self.manner.explains_silence = true;
        self
    }

    /// What the person is told when a run stops and the model has said nothing, by what they said
    /// last: [`StopWords::of`] unless this is said.
    #[must_use]
    pub fn words(mut self, words: impl Fn(&str) -> StopWords + Send + Sync + 'static) -> Self {
        self.manner.words = Box::new(words);
        self
    }

    /// What looks for something to remember when a run begins. Its failure does not stop the run.
    #[must_use]
    pub fn memory_trigger<M>(mut self, node: impl IntoNode<S, M>) -> Self {
        self.memory = Some(Arc::new(node.into_node()));
        self
    }

    /// The loop as a graph of its own, which puts out a [`ReactReply`].
    pub fn build(self) -> Result<Graph<S>, BuildError>
    where
        S: Default,
    {
        let graph = Graph::<S>::starting_at(INIT).output(|state: &S| state.part().reply());
        self.add_to(graph, END).build()
    }

    /// Adds the loop to a graph: whoever leads to `init_state` begins it, and after `finalize`
    /// comes `next`.
    pub fn add_to(self, graph: GraphBuilder<S>, next: &str) -> GraphBuilder<S> {
        let manner = Arc::new(self.manner);
        let think = think::Think {
            model: self.model,
            rules: self.rules,
            toolbox: self.toolbox.clone(),
            manner: Arc::clone(&manner),
            remembers: self.memory.is_some(),
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
                .node(MEMORY, Harmless(memory))
                .edge(INIT, MEMORY)
                .edge(MEMORY, AGENT),
        }
    }
}

/// A stop comes first, then what is to be corrected, then calls.
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

/// A node whose failure is noticed, and changes nothing.
struct Harmless<S: Embeds<React>>(Arc<dyn Node<S>>);

#[async_trait]
impl<S: Embeds<React>> Node<S> for Harmless<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let task = cx.task();
        let outcome = self.0.run(cx).await;
        Ok(outcome.unwrap_or_else(|error| {
            tracing::warn!(task, %error, "{}", crate::log_key::THE_RUN_GOES_ON_WITHOUT_IT);
            Outcome::done([])
        }))
    }
}

impl<S: Embeds<React>> fmt::Debug for ReactLoop<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReactLoop")
            .field("model", &self.model.as_deref().map(ChatModel::name))
            .field("toolbox", &self.toolbox)
            .field("style", &self.manner.style)
            .field("max_steps", &self.manner.max_steps)
            .finish_non_exhaustive()
    }
}
