use std::{collections::BTreeMap, sync::Arc};

use fugato_state::Millis;
use serde::{Deserialize, Serialize};

use super::Json;

/// The record of one action on the outside world.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EffectRecord {
    /// The key under which the task asks for it.
    pub key: Arc<str>,
    /// A digest of its input.
    pub digest: Arc<str>,
    /// The number of its intents.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub intents: u32,
    /// The stage that it reached.
    pub stage: EffectStage,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(intents: &u32) -> bool {
    *intents == 0
}

/// The stage that an action reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub(crate) enum EffectStage {
    /// It is about to begin, or has begun. Without a receipt it is in doubt.
    Intended {
        /// Its input.
        input: Json,
        /// After this time of the store's clock it is no longer under way.
        not_after: Millis,
    },
    /// It happened.
    Receipted {
        /// The result.
        value: Json,
    },
    /// It was intended, and certainly did not happen.
    Undone,
}

impl EffectRecord {
    /// Returns true if it is in doubt: intended, with no known end.
    pub(crate) fn is_in_doubt(&self) -> bool {
        matches!(self.stage, EffectStage::Intended { .. })
    }
}

/// A quantity that a run can have a budget of.
#[derive(
    derive_more::Display,
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BudgetUnit {
    /// Rounds of a loop, as the agent counts them.
    #[display("rounds")]
    Rounds,
    /// Calls of a model.
    #[display("model calls")]
    ModelCalls,
    /// Calls of a tool.
    #[display("tool calls")]
    ToolCalls,
    /// Tokens, in and out.
    #[display("tokens")]
    Tokens,
    /// Milliseconds in which the run was not parked.
    #[display("milliseconds")]
    WallTime,
}

/// The amounts that a run has used, by meter.
pub(crate) type BudgetUsage = BTreeMap<BudgetUnit, u64>;

/// A request that the caller named, and its result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeyedRequest {
    /// A digest of its input.
    pub digest: String,
    /// The run that it began.
    pub run: u64,
    /// The time until which a repeat is recognised, in milliseconds of the store's clock.
    pub until: Millis,
    /// The end of the run; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RequestStatus>,
}

/// The end of the run of a named request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub(crate) enum RequestStatus {
    /// It finished.
    Finished {
        /// The graph's output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Json>,
    },
    /// It failed.
    Failed {
        /// The error.
        error: String,
    },
    /// It was cancelled.
    Cancelled {
        /// The caller that cancelled it.
        by: String,
        /// The reason.
        why: String,
    },
}
