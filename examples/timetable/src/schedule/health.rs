//! The diagnosis of a schedule, and the changes that could improve it.
//!
//! The diagnosis covers the person's own tasks, not the courses: the number of switches between
//! subjects in a day, the length of blocks, and demanding subjects that are adjacent. Every
//! proposal is tried with the real write tools before it is offered, so that a model only chooses
//! among changes that are known to help.
mod candidates;
mod decision;
mod diagnosis;
mod effect;
mod envelope;
mod feasibility;
mod issues;
mod positions;
mod rhythm;
mod series;
mod tightness;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use candidates::{After, HealthCandidate};
pub use decision::{HealthDecision, Operation, ProblemScope};
pub use effect::ChangeEffect;
pub use envelope::{Envelope, MetricSchema, Metrics};
pub use feasibility::{ClassProfile, Feasibility, Reason};
pub use issues::{Issue, IssueTrigger, Severity};
pub use rhythm::{DayRhythm, Rhythm};
pub use tightness::{Level as TightnessLevel, Tightness};

pub(crate) use decision::{Verdict, decide};
pub(super) use series::{demands_much, series};

use super::{Board, ScheduleState, WriteOptions};

/// Diagnoses the schedule and offers changes that are known to help.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeHealthArgs {
    /// What to look at; everything if left out.
    #[serde(default)]
    pub dimensions: Vec<Dimension>,
    /// How soon something counts as an issue.
    #[serde(default)]
    pub threshold: Threshold,
    /// Whether every day is described.
    #[serde(default)]
    pub detail: DiagnosisDetail,
}

/// What a diagnosis looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Switches, blocks and demanding neighbours.
    Rhythm,
    /// How much room there is for changes.
    Tightness,
    /// What is known about the classes.
    Profile,
    /// Whether everything fits.
    Feasibility,
}

/// How soon something counts as an issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// Sooner than normal.
    Strict,
    /// As described for every issue.
    #[default]
    Normal,
    /// Later than normal.
    Relaxed,
}

/// How much a diagnosis says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Detail")]
pub enum DiagnosisDetail {
    /// Only totals and issues.
    #[default]
    Summary,
    /// Every day as well.
    Full,
}

/// Diagnoses a schedule. `options` are those of the write tools: changes that they refuse are not
/// offered.
pub fn analyze_health(
    state: &ScheduleState,
    args: &AnalyzeHealthArgs,
    options: &WriteOptions,
) -> Envelope {
    let verdict = decide(&mut Board::new(state), options);
    envelope::envelope(state, args, verdict)
}

#[cfg(test)]
mod tests;
