use std::collections::BTreeMap;

use fugato_state::Millis;
use serde::{Deserialize, Serialize};

use super::Json;

/// What the machine knows of one action on the outside world.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Effect {
    /// The key under which the task asks for it.
    pub key: String,
    /// A digest of its input.
    pub digest: String,
    /// How often it was intended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub intents: u32,
    /// How far it came.
    pub stage: Stage,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(intents: &u32) -> bool {
    *intents == 0
}

/// How far an action came.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stage {
    /// It was about to begin. Without a receipt nobody knows whether it happened.
    Intended {
        /// Its input.
        input: Json,
        /// After this time of the store's clock it is no longer under way.
        not_after: Millis,
    },
    /// It happened.
    Receipted {
        /// What came out.
        value: Json,
    },
    /// It was intended, and certainly did not happen.
    Undone,
}

impl Effect {
    /// Whether nobody knows if it happened.
    pub fn is_in_doubt(&self) -> bool {
        matches!(self.stage, Stage::Intended { .. })
    }
}

/// Something that a run has a budget of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Meter {
    /// Rounds of a loop, as the agent counts them.
    Rounds,
    /// Calls of a model.
    ModelCalls,
    /// Calls of a tool.
    ToolCalls,
    /// Tokens, in and out.
    Tokens,
    /// Milliseconds in which the run was not parked.
    WallTime,
}

impl std::fmt::Display for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rounds => "rounds",
            Self::ModelCalls => "model calls",
            Self::ToolCalls => "tool calls",
            Self::Tokens => "tokens",
            Self::WallTime => "milliseconds",
        })
    }
}

/// How much a run has used of each meter.
pub type Spent = BTreeMap<Meter, u64>;

/// A request that the caller named, and what became of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Keyed {
    /// A digest of its input.
    pub digest: String,
    /// The run that it began.
    pub run: u64,
    /// Until when a repeat is recognised, in milliseconds of the store's clock.
    pub until: Millis,
    /// How the run ended; none while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<KeyedEnd>,
}

/// How the run of a named request ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeyedEnd {
    /// Well.
    Finished {
        /// The graph's output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Json>,
    },
    /// It failed.
    Failed {
        /// Why.
        error: String,
    },
    /// It was cancelled.
    Cancelled {
        /// By whom.
        by: String,
        /// Why.
        why: String,
    },
}
