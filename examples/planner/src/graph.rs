//! How the planner is wired.
use std::{sync::Arc, time::Duration};

use fugato::{
    ChatModel, END, Graph,
    agent::{
        ReactLoop,
        compact::CompactLayers,
        plan::{Executor, NextBatch, PlanThenReplan, PlannedWork, Replan},
        preflight::{FactError, Preflight},
        trace::{ModelCall, Watched, recorded},
    },
    graph::BuildError,
    llm::{Profile, Timeout},
    memory::PersonLayers,
    store::DocStore,
    tool::RegistryError,
};

use crate::{
    answer,
    context::{Thirds, context},
    desk::Desk,
    facts,
    nodes::{Gate, Recall, Rescue, Save, Settle, Understand},
    rules::Rules,
    session::{Course, Session},
    tools,
};

/// What the planner needs from outside.
#[derive(Clone)]
pub struct Deps {
    desk: Desk,
    users: PersonLayers,
    model: Option<Arc<dyn ChatModel>>,
    manner: Manner,
}

/// In which manner work is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// A whole plan first, which is looked at again as the policy says.
    PlanThenReplan(Replan),
    /// The next few steps only.
    NextBatch,
}

impl Default for Manner {
    fn default() -> Self {
        Self::PlanThenReplan(Replan::default())
    }
}

/// The planner cannot be wired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WiringError {
    /// The tools do not fit together.
    #[error("the tools do not fit together")]
    Tools(#[from] RegistryError),
    /// The live facts are not declared as they are needed.
    #[error("the live facts are not declared as they are needed")]
    Facts(#[from] FactError),
    /// The nodes do not fit together.
    #[error("the nodes do not fit together")]
    Graph(#[from] BuildError),
}

impl Deps {
    /// A desk, and where it is kept what belongs to people. Rules decide.
    pub fn new(desk: Desk, docs: Arc<dyn DocStore>) -> Self {
        Self {
            desk,
            users: PersonLayers::new(docs).admitting(facts::without_live),
            model: None,
            manner: Manner::default(),
        }
    }

    /// Lets a model decide. It is given the time of its stage, and what it is asked is kept in the
    /// log.
    #[must_use]
    pub fn model(mut self, model: impl ChatModel + 'static) -> Self {
        self.model = Some(Arc::new(
            Watched::new(Timeout::new(model)).keeping(ModelCall::WORDS),
        ));
        self
    }

    /// Plans in this manner.
    #[must_use]
    pub fn manner(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }

    /// Who is remembered here.
    pub fn users(&self) -> &PersonLayers {
        &self.users
    }
}

impl std::fmt::Debug for Deps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deps")
            .field("desk", &self.desk)
            .field("model", &self.model.as_deref().map(ChatModel::name))
            .field("manner", &self.manner)
            .finish_non_exhaustive()
    }
}

/// How many rounds of tools the loop may have that takes over.
const RESCUE_ROUNDS: u32 = 5;
/// How long each answer in it may take: as long as a final answer.
const RESCUE_PATIENCE: Duration = Duration::from_secs(36);

/// The graph.
///
/// ```text
/// understand → recall → gate → look → planner ⇄ begin_step ⇄ step, ask_user
///      │                 │               └→ rescue → init_state … finalize
///      └─────────────────┴→ settle ← ───────────────────────────────┘
///                             └→ compact → save
/// ```
pub fn graph(deps: &Deps) -> Result<Graph<Session>, WiringError> {
    let toolbox = tools::toolbox(&deps.desk)?;
    let look = || {
        let facts = facts::declared()?;
        Ok::<_, FactError>(Preflight::new(facts, deps.desk.clone()))
    };
    let settles = |session: &Session| !session.reply.is_empty();
    let has_model = deps.model.is_some();
    let graph = Graph::<Session>::starting_at("understand")
        .node("understand", Understand)
        .label("understand", "reading the message")
        .branch("understand", ["recall", "settle"], |session: &Session| {
            if session.message.course == Course::Reply {
                "settle"
            } else {
                "recall"
            }
        })
        .node("recall", Recall(deps.users.clone()))
        .edge("recall", "gate")
        .node("gate", recorded(Gate(deps.model.clone())))
        .branch("gate", ["look", "settle"], move |session: &Session| {
            if settles(session) { "settle" } else { "look" }
        })
        .node("settle", Settle(look()?))
        .edge("settle", if has_model { "compact" } else { "save" })
        .node("save", Save(deps.users.clone()))
        .edge("save", END)
        .output(|session: &Session| session.reply.clone());
    let work = match &deps.model {
        None => PlannedWork::by_rules(Rules, executor(deps.manner), toolbox.clone()),
        Some(model) => {
            PlannedWork::new(model.clone(), executor(deps.manner), toolbox.clone()).rules(Rules)
        }
    };
    let work = work.context(context).looking(look()?);
    let Some(model) = &deps.model else {
        return Ok(work.add_to(graph, "settle").build()?);
    };
    let rescue = ReactLoop::new(model.clone(), toolbox)
        .system("You look after a paper-trading desk. Look up what is true before you answer.")
        .max_steps(RESCUE_ROUNDS)
        .profile(Profile {
            timeout: Some(RESCUE_PATIENCE),
            ..Profile::default()
        })
        .explain_silence()
        .words(answer::stopped);
    let graph = graph
        .node("rescue", Rescue)
        .branch("rescue", ["init_state", "settle"], |session: &Session| {
            if session.work.timed_out {
                "settle"
            } else {
                "init_state"
            }
        })
        .node(
            "compact",
            recorded(CompactLayers::new(model.clone()).count(Thirds)),
        )
        .edge("compact", "save");
    let graph = work.on_planner_failure("rescue").add_to(graph, "settle");
    Ok(rescue.add_to(graph, "settle").build()?)
}

fn executor(manner: Manner) -> Arc<dyn Executor> {
    match manner {
        Manner::PlanThenReplan(replan) => Arc::new(PlanThenReplan(replan)),
        Manner::NextBatch => Arc::new(NextBatch),
    }
}
