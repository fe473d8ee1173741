//! The diagnosis as the model reads it.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AnalyzeHealthArgs, ClassProfile, DiagnosisDetail, Dimension, Feasibility, HealthDecision,
    Issue, Operation, Rhythm, Tightness, Verdict, issues,
};
use crate::{lang::Lang, schedule::ScheduleState};

/// A diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The name of the tool.
    pub tool: String,
    /// True if the diagnosis could be made.
    pub success: bool,
    /// The meaning of the metrics.
    pub metric_schema: BTreeMap<String, MetricSchema>,
    /// The measured values.
    pub metrics: Metrics,
    /// The issues, the most severe first.
    pub issues: Vec<Issue>,
    /// Always empty: the decision has the actions.
    pub next_actions: Vec<Value>,
    /// The comparison of free and needed sections.
    pub feasibility: Feasibility,
    /// The next step of the optimisation.
    pub decision: HealthDecision,
    /// The error; always empty.
    pub error: String,
    /// The same as a word; empty.
    pub error_code: String,
}

/// The measured values; dimensions that were not requested are missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Switches, blocks and demanding neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rhythm: Option<Rhythm>,
    /// The room for changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tightness: Option<Tightness>,
    /// The known facts about the classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ClassProfile>,
    /// True if the optimisation can end here.
    pub can_close: bool,
}

/// The meaning of a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricSchema {
    /// In words.
    pub description: String,
    /// The unit of its values.
    pub unit: String,
    /// The direction that is better.
    pub direction: String,
}

/// The name, meaning in English and Chinese, unit and better direction of every metric that a model should weigh.
const SCHEMA: &[(&str, [&str; 2], &str, &str)] = &[
    (
        "avg_switches_per_day",
        ["switches between subjects on a day", "一天内科目之间的切换"],
        "switches",
        "lower",
    ),
    (
        "max_switch_count",
        ["switches on the busiest day", "最忙一天的切换"],
        "switches",
        "lower",
    ),
    (
        "avg_block_size",
        ["length of a run of one subject", "同一科目连续的长度"],
        "sections",
        "balanced",
    ),
    (
        "longest_same_subject_run",
        ["longest run of one subject", "同一科目最长的连续"],
        "sections",
        "balanced",
    ),
    (
        "heavy_adjacent_days",
        [
            "days with two demanding subjects side by side",
            "两个费神科目相邻的天数",
        ],
        "days",
        "lower",
    ),
    (
        "long_high_intensity_days",
        [
            "days with 4 demanding sections in a row",
            "连续 4 节费神内容的天数",
        ],
        "days",
        "lower",
    ),
    (
        "fragmented_count",
        ["days with many switches", "切换很多的天数"],
        "days",
        "lower",
    ),
    (
        "compressed_run_count",
        ["days with very long blocks", "有很长连续的天数"],
        "days",
        "lower",
    ),
    (
        "block_balance",
        ["fragmented less compressed days", "零碎天数减去紧凑天数"],
        "days",
        "zero",
    ),
    (
        "same_type_transition_ratio",
        [
            "switches that stay in a type of subject",
            "同类科目之间的切换",
        ],
        "share",
        "higher",
    ),
    (
        "locally_movable_task_count",
        [
            "tasks that could lie elsewhere nearby",
            "可以放到附近别处的任务",
        ],
        "tasks",
        "higher",
    ),
    (
        "cross_class_swap_options",
        ["pairs that could swap nearby", "可以在附近互换的任务对"],
        "pairs",
        "higher",
    ),
    (
        "forced_heavy_adjacent_days",
        ["problem days that nothing can repair", "无法修复的问题天数"],
        "days",
        "lower",
    ),
];

pub(super) fn envelope(
    state: &ScheduleState,
    args: &AnalyzeHealthArgs,
    verdict: Verdict,
) -> Envelope {
    let asked = |dimension| args.dimensions.is_empty() || args.dimensions.contains(&dimension);
    let Verdict {
        diagnosis,
        facts,
        tightness,
        decision,
        ..
    } = verdict;
    let (feasibility, profile) = (facts.feasibility, facts.profile);
    let full = args.detail == DiagnosisDetail::Full;
    let mut found = Vec::new();
    if asked(Dimension::Feasibility) {
        found.extend(issues::feasibility(feasibility));
    }
    if asked(Dimension::Profile) && !state.task_classes.is_empty() {
        found.extend(issues::profile(&profile));
    }
    if asked(Dimension::Rhythm) {
        found.extend(issues::rhythm(&diagnosis.days, args.threshold, args.detail));
    }
    found.sort_by_key(|issue| issue.severity);
    let rhythm = asked(Dimension::Rhythm).then(|| Rhythm::of(&diagnosis.days, full));
    Envelope {
        tool: "analyze_health".to_owned(),
        success: true,
        metric_schema: metric_schema(),
        metrics: Metrics {
            rhythm,
            tightness: asked(Dimension::Tightness).then_some(tightness),
            profile: asked(Dimension::Profile).then_some(profile),
            can_close: decision.recommended_operation == Operation::Close,
        },
        issues: found,
        next_actions: Vec::new(),
        feasibility,
        decision,
        error: String::new(),
        error_code: String::new(),
    }
}

fn metric_schema() -> BTreeMap<String, MetricSchema> {
    let schema = |(key, [en, zh], unit, direction): &(&str, [&str; 2], &str, &str)| {
        let schema = MetricSchema {
            description: Lang::current().pick(en, zh).to_string(),
            unit: (*unit).to_owned(),
            direction: (*direction).to_owned(),
        };
        ((*key).to_owned(), schema)
    };
    SCHEMA.iter().map(schema).collect()
}
