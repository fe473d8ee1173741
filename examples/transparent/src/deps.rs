//! What the nodes need from outside, and the limits of a turn.
use std::sync::Arc;

use fugato::{
    agent::{
        Corrections, OnFailure, Toolbox,
        compact::Compact,
        trace::{ModelCall, Watched},
    },
    cron::Jobs,
    llm::ChatModel,
    mcp::plugin::Loaded,
    tool::RegistryError,
    web::Web,
};

use crate::{agent::Agent, desk::Desk, tools};

/// How much a line matters at least that is kept without a model.
const LEAST: f32 = 0.3;

/// What the nodes need from outside.
#[derive(Clone)]
pub struct Deps {
    /// Who decides; rules do without one.
    pub model: Option<Arc<dyn ChatModel>>,
    /// What happens when the model cannot be used.
    pub on_failure: OnFailure,
    /// How unusable answers are corrected, and how many in a row are too many.
    pub corrections: Corrections,
    /// The folder of the agent.
    pub desk: Desk,
    /// What is to be done later.
    pub jobs: Jobs,
    /// The tools.
    pub toolbox: Toolbox<Agent>,
    /// How long a turn may go on.
    pub limits: Limits,
}

/// How long a turn may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How often it is decided what comes next.
    pub moves: u32,
    /// How often the same call is made.
    pub repeats: usize,
    /// How often a call is tried, each time with other arguments.
    pub attempts: u32,
    /// How often another plan is made.
    pub replans: u32,
    /// After how many failures in a row another plan is made.
    pub failures: u32,
    /// After how many moves without anything new another plan is made.
    pub stuck: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            moves: 5,
            repeats: 2,
            attempts: 3,
            replans: 2,
            failures: 2,
            stuck: 3,
        }
    }
}

impl Deps {
    /// What lies in this folder, with these plugins and this web.
    pub fn with(
        desk: Desk,
        jobs: Jobs,
        plugins: Loaded,
        web: Option<Arc<dyn Web>>,
    ) -> Result<Self, RegistryError> {
        let toolbox = tools::toolbox(&desk, &jobs, plugins, web)?;
        Ok(Self {
            model: None,
            on_failure: OnFailure::default(),
            corrections: Corrections::default(),
            desk,
            jobs,
            toolbox,
            limits: Limits::default(),
        })
    }

    /// Lets this model decide. What it is asked is kept in the log.
    #[must_use]
    pub fn model(mut self, model: Option<Arc<dyn ChatModel>>) -> Self {
        self.model = model.map(|model| {
            Arc::new(Watched::new(model).keeping(ModelCall::WORDS)) as Arc<dyn ChatModel>
        });
        self
    }

    /// What sums up what was said long ago: the model, or else the lines that matter.
    pub(crate) fn compact(&self) -> Compact {
        match &self.model {
            Some(model) => Compact::new(model.clone()).or_by_rule(LEAST),
            None => Compact::by_rule(LEAST),
        }
    }

    /// What happens when the model cannot be used.
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }
}

impl std::fmt::Debug for Deps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deps")
            .field(
                "model",
                &self.model.as_ref().map(|model| model.name().to_owned()),
            )
            .field("desk", &self.desk)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
