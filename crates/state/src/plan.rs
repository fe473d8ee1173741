use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Steps towards a goal, and the one that is being worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The steps, first to last.
    #[serde(default)]
    pub steps: Vec<PlanStep>,
    /// The index of the current step; equal to the number of steps when all are done.
    #[serde(default)]
    pub current: usize,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// What to do.
    pub content: String,
    /// How to tell that it is done.
    #[serde(default)]
    pub done_when: String,
}

impl Plan {
    /// Creates a plan whose first step is current.
    pub fn new(steps: Vec<PlanStep>) -> Self {
        Self { steps, current: 0 }
    }

    /// Returns the step that is being worked on, if any is left.
    pub fn current_step(&self) -> Option<&PlanStep> {
        self.steps.get(self.current)
    }

    /// Moves to the next step, and returns true if one is left.
    pub fn advance(&mut self) -> bool {
        self.current = (self.current + 1).min(self.steps.len());
        self.current < self.steps.len()
    }
}
