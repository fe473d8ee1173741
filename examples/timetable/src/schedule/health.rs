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
    #[schemars(extend("x-zh" = "看哪些方面；不写则全部。"))]
    #[serde(default)]
    pub dimensions: Vec<Dimension>,
    /// How soon something counts as an issue.
    #[schemars(extend("x-zh" = "多容易算作问题。"))]
    #[serde(default)]
    pub threshold: Threshold,
    /// Whether every day is described.
    #[schemars(extend("x-zh" = "是否描述每一天。"))]
    #[serde(default)]
    pub detail: DiagnosisDetail,
}

/// What a diagnosis looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Switches, blocks and demanding neighbours.
    #[schemars(extend("x-zh" = "切换、连续时段和费神的相邻。"))]
    Rhythm,
    /// How much room there is for changes.
    #[schemars(extend("x-zh" = "有多少改动余地。"))]
    Tightness,
    /// What is known about the classes.
    #[schemars(extend("x-zh" = "对类别了解多少。"))]
    Profile,
    /// Whether everything fits.
    #[schemars(extend("x-zh" = "是否都放得下。"))]
    Feasibility,
}

/// How soon something counts as an issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// Sooner than normal.
    #[schemars(extend("x-zh" = "比平常更容易。"))]
    Strict,
    /// As described for every issue.
    #[schemars(extend("x-zh" = "按每个问题的说明。"))]
    #[default]
    Normal,
    /// Later than normal.
    #[schemars(extend("x-zh" = "比平常更难。"))]
    Relaxed,
}

/// How much a diagnosis says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Detail")]
pub enum DiagnosisDetail {
    /// Only totals and issues.
    #[schemars(extend("x-zh" = "只有合计和问题。"))]
    #[default]
    Summary,
    /// Every day as well.
    #[schemars(extend("x-zh" = "还有每一天。"))]
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
