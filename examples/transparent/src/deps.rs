//! The dependencies of the nodes, and the limits of a turn.
use std::sync::Arc;

use fugato::{
    agent::{
        Toolbox,
        decision::OnFailure,
        memory::Compact,
        trace::{ModelCall, RecordedModel},
    },
    cron::Jobs,
    llm::ChatModel,
    tool::RegistryError,
    web::Web,
};

use crate::{
    agent::AgentState, plugins::LoadedPlugins, reminders::Reminders, tools, workspace::Workspace,
};

/// The minimum importance of a line that is kept in a summary by rule.
const LEAST: f32 = 0.3;

/// The dependencies of the nodes.
#[derive(derive_more::Debug, Clone)]
#[debug(
    "Deps {{ model: {:?}, desk: {desk:?}, limits: {limits:?}, .. }}",
    self.model.as_ref().map(|model| model.name().to_owned())
)]
pub struct Deps {
    /// The model; without one rules decide.
    pub model: Option<Arc<dyn ChatModel>>,
    /// The policy for a model that cannot be used.
    pub on_failure: OnFailure,
    /// The number of unusable answers in a row after which rules decide.
    pub rejections: u32,
    /// The folder of the agent.
    pub desk: Workspace,
    /// The jobs.
    pub jobs: Jobs,
    /// The tools.
    pub toolbox: Toolbox<AgentState>,
    /// The limits of a turn.
    pub limits: TurnLimits,
    /// The messages of jobs to their conversations.
    pub reminders: Reminders,
}

/// The limits of a turn.
#[derive(smart_default::SmartDefault, Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnLimits {
    /// The maximum number of moves.
    #[default(5)]
    pub moves: u32,
    /// The maximum number of equal calls.
    #[default(2)]
    pub repeats: usize,
    /// The maximum number of attempts of a call, each with other arguments.
    #[default(3)]
    pub attempts: u32,
    /// The maximum number of replans.
    #[default(2)]
    pub replans: u32,
    /// The number of failures in a row after which another plan is made.
    #[default(2)]
    pub failures: u32,
    /// The number of moves without a new result after which another plan is made.
    #[default(3)]
    pub stuck: u32,
}

impl Deps {
    /// Returns the dependencies from this folder, with these jobs and plugins, and with this web if
    /// any.
    pub fn with(
        desk: Workspace,
        jobs: Jobs,
        plugins: LoadedPlugins,
        web: Option<Arc<dyn Web>>,
    ) -> Result<Self, RegistryError> {
        let toolbox = tools::toolbox(&desk, &jobs, plugins, web)?;
        Ok(Self {
            model: None,
            on_failure: OnFailure::default(),
            rejections: 3,
            desk,
            jobs,
            toolbox,
            limits: TurnLimits::default(),
            reminders: Reminders::default(),
        })
    }

    fugato::state::setters! {
        /// Sets the model. Its prompts and answers are recorded in the log.
        pub fn model(model: Option<Arc<dyn ChatModel>>) {
            model = model.map(|model| {
                Arc::new(RecordedModel::new(model).keeping(ModelCall::WORDS)) as Arc<dyn ChatModel>
            })
        }

        /// Sets the policy for a model that cannot be used.
        pub fn on_failure(on_failure: OnFailure) { on_failure = on_failure }
    }

    /// Returns the summariser of older messages: the model, or else the important lines.
    pub(crate) fn compact(&self) -> Compact {
        match &self.model {
            Some(model) => Compact::new(model.clone()).or_by_rule(LEAST),
            None => Compact::by_rule(LEAST),
        }
    }
}
