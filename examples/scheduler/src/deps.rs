//! The external dependencies of the nodes. Any may be absent; the agent then does less, and says
//! so.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    agent::{
        Toolbox,
        trace::{ModelCall, RecordedModel},
    },
    graph::BoxError,
    llm::ChatModel,
    state::ThreadId,
    tool::Registry,
    web::Web,
};

use crate::{
    agent::{AgentState, Update},
    calendar::Sections,
    gates::toolbox,
    llm_config::LlmConfig,
    schedule::ScheduleState,
    store::Calendars,
    tools::ToolView,
};

/// A source of schedules.
#[async_trait]
pub trait ScheduleProvider: Send + Sync {
    /// Returns the schedule with its placed and pending tasks. Called once per conversation.
    async fn load(&self, thread: &ThreadId) -> Result<ScheduleState, BoxError>;
}

/// The external dependencies of the nodes.
#[derive(derive_more::Debug, Clone)]
#[debug("Deps {{ mind: {mind:?}, .. }}")]
pub struct Deps {
    /// The rules or the model that decides.
    pub mind: LlmConfig,
    /// The tools behind their gates.
    pub toolbox: Toolbox<AgentState>,
    registry: Registry<ToolView, Update>,
    /// True if items that were kept before may be moved again.
    pub(crate) existing_may_move: bool,
    /// The times of the sections of a day, for times of the clock in a request.
    pub sections: Sections,
    /// The source of the schedule; without one there is only talk.
    pub provider: Option<Arc<dyn ScheduleProvider>>,
    /// The store of agreed changes; without it, they stay in the conversation.
    pub calendars: Option<Calendars>,
    /// The number of unusable answers in a row after which rules decide.
    pub rejections: u32,
}

impl Deps {
    /// Creates the dependencies without a model and without a schedule.
    pub fn new() -> Result<Self, fugato::tool::RegistryError> {
        let registry = crate::tools::registry()?;
        Ok(Self {
            mind: LlmConfig::default(),
            toolbox: toolbox(&registry, false, &Sections::default()),
            registry,
            existing_may_move: false,
            sections: Sections::default(),
            provider: None,
            calendars: None,
            rejections: 3,
        })
    }

    fugato::state::setters! {
        /// Loads schedules from here.
        pub fn provider(provider: impl ScheduleProvider + 'static) {
            provider = Some(Arc::new(provider))
        }
    }

    /// Sets the times of the sections of a day.
    #[must_use]
    pub fn sections(mut self, sections: Sections) -> Self {
        self.sections = sections;
        self.equipped()
    }

    /// Lets items that were kept before be moved again.
    #[must_use]
    pub fn existing_may_move(mut self, allowed: bool) -> Self {
        self.existing_may_move = allowed;
        self.equipped()
    }

    fn equipped(mut self) -> Self {
        self.toolbox = toolbox(&self.registry, self.existing_may_move, &self.sections);
        self
    }

    /// Loads schedules from here, and stores agreed changes here.
    #[must_use]
    pub fn calendars(mut self, calendars: Calendars) -> Self {
        self.provider = Some(Arc::new(calendars.clone()));
        self.calendars = Some(calendars);
        self
    }

    /// Lets tools ask the web, most likely through [`AllowedHosts`](fugato::web::AllowedHosts).
    pub fn web(mut self, web: impl Web + 'static) -> Result<Self, fugato::tool::RegistryError> {
        self.registry = crate::tools::registry_with(Some(Arc::new(web)))?;
        Ok(self.equipped())
    }

    /// Sets the mind that decides. The prompts of its model are kept in the log.
    #[must_use]
    pub fn mind(mut self, mut mind: LlmConfig) -> Self {
        let watched = |model| {
            Arc::new(RecordedModel::new(model).keeping(ModelCall::WORDS)) as Arc<dyn ChatModel>
        };
        mind.model = mind.model.map(watched);
        self.mind = mind;
        self
    }
}
