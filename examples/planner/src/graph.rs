//! The graph of the planner.
use std::{sync::Arc, time::Duration};

use fugato::{
    ChatModel, Context, END, Graph,
    agent::{
        PlannedWork, ReactLoop, ReactUpdate, Toolbox,
        memory::{CompactLayers, recall_person, save_person},
        plan::{DirectReply, Preflight, handover},
        trace::{ModelCall, RecordedModel, recorded},
    },
    graph::{BuildError, GraphBuilder},
    llm::{Profile, Timeout},
    memory::PersonLayers,
    state::say,
    store::DocStore,
    tool::RegistryError,
};

use crate::{
    answer,
    context::{context, preferences},
    exchange::Exchange,
    facts,
    intent::{self, UserWish},
    nodes::{FinishNode, Understand},
    rules::PlannerRules,
    session::{Course, PlannerSession, SessionUpdate},
    tools,
};

pub use fugato::agent::plan::PlanningMode;

/// The dependencies of the planner.
#[derive(derive_more::Debug, Clone)]
#[debug(
    "Deps {{ desk: {desk:?}, model: {:?}, manner: {manner:?}, .. }}",
    self.model.as_deref().map(ChatModel::name)
)]
pub struct Deps {
    desk: Exchange,
    users: PersonLayers,
    model: Option<Arc<dyn ChatModel>>,
    manner: PlanningMode,
}

/// The planner cannot be wired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WiringError {
    /// The tools do not fit together.
    #[error("the tools do not fit together")]
    Tools(#[from] RegistryError),
    /// The nodes do not fit together.
    #[error("the nodes do not fit together")]
    Graph(#[from] BuildError),
}

impl Deps {
    /// Creates dependencies from a desk and the store of personal documents. Rules decide.
    pub fn new(desk: Exchange, docs: Arc<dyn DocStore>) -> Self {
        Self {
            desk,
            users: PersonLayers::new(docs).admitting(facts::without_live),
            model: None,
            manner: PlanningMode::default(),
        }
    }

    /// Sets the model that decides. Each stage has its timeout, and the requests are kept in the
    /// log.
    #[must_use]
    pub fn model(mut self, model: impl ChatModel + 'static) -> Self {
        let watched = RecordedModel::new(Timeout::new(model)).keeping(ModelCall::WORDS);
        self.model = Some(Arc::new(watched));
        self
    }

    fugato::state::setters! {
        /// Plans in this manner.
        pub fn manner(manner: PlanningMode) { manner = manner }
    }

    /// Returns the desk.
    pub fn desk(&self) -> &Exchange {
        &self.desk
    }

    /// Returns the memory layers of persons.
    pub fn users(&self) -> &PersonLayers {
        &self.users
    }
}

/// The most rounds of tools in the loop that takes over.
const RESCUE_ROUNDS: u32 = 5;
/// The timeout of each answer in that loop, the same as that of a final answer.
const RESCUE_PATIENCE: Duration = Duration::from_secs(36);

/// Builds the graph, which the README draws.
pub fn graph(deps: &Deps) -> Result<Graph<PlannerSession>, WiringError> {
    let toolbox = tools::toolbox(&deps.desk)?;
    let look = || {
        let desk = deps.desk.clone();
        Preflight::new(facts::declared(), move |kind: String| {
            let desk = desk.clone();
            async move { desk.fetch(&kind).await }
        })
    };
    let whose = |session: &PlannerSession| session.user.clone();
    let (first, last) = match &deps.model {
        Some(_) => ("gate", "compact"),
        None => ("look", "save"),
    };
    let graph = Graph::<PlannerSession>::starting_at("recall")
        .node("recall", recall_person(deps.users.clone(), whose))
        .edge("recall", "understand")
        .node("understand", Understand)
        .label("understand", "reading the message")
        .branch(
            "understand",
            [first, "settle"],
            move |session: &PlannerSession| {
                let is_said = session.message.course == Course::Reply;
                if is_said { "settle" } else { first }
            },
        )
        .node("settle", FinishNode(look()))
        .edge("settle", last)
        .node("save", save_person(deps.users.clone(), whose))
        .edge("save", END)
        .output(|session: &PlannerSession| session.reply.clone());
    let (mode, tools) = (deps.manner, toolbox.clone());
    let graph = match &deps.model {
        None => PlannedWork::by_rules(PlannerRules, mode, tools)
            .context(context)
            .looking(look())
            .add_to(graph, "settle"),
        Some(model) => {
            let work = PlannedWork::new(model.clone(), mode, tools)
                .rules(PlannerRules)
                .context(context)
                .looking(look())
                .on_planner_failure("rescue");
            with_model(work.add_to(graph, "settle"), model, toolbox)
        }
    };
    Ok(graph.build()?)
}

/// Adds the nodes that a model has besides the planned work: the gate for small talk, the loop that
/// takes over if there is no plan, and the summary.
fn with_model(
    graph: GraphBuilder<PlannerSession>,
    model: &Arc<dyn ChatModel>,
    toolbox: Toolbox<PlannerSession>,
) -> GraphBuilder<PlannerSession> {
    let said = |session: &PlannerSession| session.message.text.clone();
    let replied = |text| SessionUpdate::Replied { text };
    let who = || {
        say!(
            "You belong to a paper-trading desk.",
            "你是模拟交易台的助手。"
        )
    };
    let gate = DirectReply::new(model.clone(), who, said, replied)
        .only_if(may_be_talk)
        .told(preferences);
    let rescue = ReactLoop::new(model.clone(), toolbox)
        .system_of(|_| {
            say!(
                "You look after a paper-trading desk. Look up what is true before you answer.",
                "你负责一个模拟交易台。回答之前先查清事实。"
            )
        })
        .max_steps(RESCUE_ROUNDS)
        .profile(Profile {
            timeout: Some(RESCUE_PATIENCE),
            ..Profile::default()
        })
        .explain_silence()
        .silent()
        .words(|asked, reason, _| answer::stopped(reason.why(asked)));
    let compact = CompactLayers::new(model.clone());
    let graph = graph
        .node("gate", recorded(gate))
        .branch("gate", ["look", "settle"], |session: &PlannerSession| {
            let is_said = !session.reply.is_empty();
            if is_said { "settle" } else { "look" }
        })
        .node("rescue", async |cx: Context<PlannerSession>| {
            let told = handover(&cx.state().work, &cx.state().done);
            SessionUpdate::Rescue(ReactUpdate::user(told))
        })
        .branch(
            "rescue",
            ["init_state", "settle"],
            |session: &PlannerSession| {
                let is_late = session.work.timed_out;
                if is_late { "settle" } else { "init_state" }
            },
        )
        .node("compact", recorded(compact))
        .edge("compact", "save");
    rescue.add_to(graph, "settle")
}

/// Returns true if the message contains nothing that code would have to look up or do.
fn may_be_talk(session: &PlannerSession) -> bool {
    let text = &session.message.text;
    session.message.course == Course::Work
        && intent::topics(text).is_empty()
        && intent::wish(text) == UserWish::Told
}
