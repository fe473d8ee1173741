//! The issues of a diagnosis.
use serde::{Deserialize, Serialize};

use super::series::DayStats;
use super::{ClassProfile, DiagnosisDetail, Dimension, Feasibility, Threshold};

/// One issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// Unique in a diagnosis.
    pub issue_id: String,
    /// The dimension that it belongs to.
    pub dimension: Dimension,
    /// The severity.
    pub severity: Severity,
    /// The comparison that made it an issue.
    pub trigger: IssueTrigger,
}

/// The severity of an issue, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It should be repaired.
    Critical,
    /// It may be repaired.
    Warning,
    /// Nothing to do.
    Info,
}

/// A comparison that came out true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IssueTrigger {
    /// The name of the metric.
    pub metric: String,
    /// The operator of the comparison.
    pub operator: String,
    /// The right-hand side of the comparison.
    pub threshold: f64,
    /// The measured value.
    pub actual: f64,
}

/// The limits from which values count.
struct Limits {
    critical_switches: u8,
    critical_fragmentation: f64,
    switches: u8,
    fragmentation: f64,
    block: u8,
}

impl Limits {
    /// Returns the limits of a threshold. Strict and relaxed differ from normal by one switch or
    /// section, and a tenth of fragmentation.
    const fn of(threshold: Threshold) -> Self {
        let (count, share) = match threshold {
            Threshold::Strict => (0, -0.10),
            Threshold::Normal => (1, 0.0),
            Threshold::Relaxed => (2, 0.10),
        };
        Self {
            critical_switches: 4 + count,
            critical_fragmentation: 0.75 + share,
            switches: 2 + count,
            fragmentation: 0.55 + share,
            block: 4 + count,
        }
    }
}

/// Returns the issues of all days, the most severe first.
pub(super) fn rhythm(
    days: &[DayStats],
    threshold: Threshold,
    detail: DiagnosisDetail,
) -> Vec<Issue> {
    let limits = Limits::of(threshold);
    let of_day = |day: &DayStats| {
        let mut issues = day_issues(day, &limits);
        if issues.is_empty() && day.sections > 0 && detail == DiagnosisDetail::Full {
            issues.push(calm(
                &format!("day_{}", day.day),
                day.switches,
                limits.switches,
            ));
        }
        issues
    };
    let mut issues: Vec<Issue> = days.iter().flat_map(of_day).collect();
    if issues.is_empty() {
        let most = days.iter().map(|day| day.switches).max().unwrap_or(0);
        issues.push(calm("all_days", most, limits.switches));
    }
    issues
}

/// Returns the issue of a schedule into which not everything fits.
pub(super) fn feasibility(feasibility: Feasibility) -> Option<Issue> {
    (!feasibility.is_feasible).then(|| Issue {
        issue_id: "feasibility_capacity_gap".to_owned(),
        dimension: Dimension::Feasibility,
        severity: Severity::Critical,
        trigger: trigger(
            "capacity_gap",
            ">",
            0.0,
            f64::from(feasibility.capacity_gap),
        ),
    })
}

/// Returns an issue for each kind of missing fact about the classes.
pub(super) fn profile(profile: &ClassProfile) -> Vec<Issue> {
    let counts = [
        ("missing_subject_type", profile.missing_subject_type),
        ("missing_difficulty_level", profile.missing_difficulty_level),
        (
            "missing_cognitive_intensity",
            profile.missing_cognitive_intensity,
        ),
    ];
    let missing = counts.into_iter().filter(|(_, count)| *count > 0);
    missing
        .map(|(metric, count)| Issue {
            issue_id: format!("profile_{metric}"),
            dimension: Dimension::Profile,
            severity: Severity::Warning,
            trigger: trigger(metric, ">", 0.0, f64::from(count)),
        })
        .collect()
}

fn day_issues(day: &DayStats, limits: &Limits) -> Vec<Issue> {
    let fragmentation = day.fragmentation();
    let issue = |kind: &str, severity, trigger| Issue {
        issue_id: format!("rhythm_{kind}_day_{}", day.day),
        dimension: Dimension::Rhythm,
        severity,
        trigger,
    };
    let switches = |limit: u8| at_least("switch_count", limit.into(), day.switches.into());
    let mut issues = Vec::new();
    if day.switches >= limits.critical_switches && fragmentation >= limits.critical_fragmentation {
        let trigger = switches(limits.critical_switches);
        issues.push(issue("switches", Severity::Critical, trigger));
    } else if day.switches >= limits.switches {
        issues.push(issue(
            "switches",
            Severity::Warning,
            switches(limits.switches),
        ));
    } else if fragmentation >= limits.fragmentation {
        let trigger = at_least("fragmentation", limits.fragmentation, fragmentation);
        issues.push(issue("fragmentation", Severity::Warning, trigger));
    }
    if day.heavy > 0 {
        let trigger = at_least("heavy_adjacent", 1.0, day.heavy.into());
        issues.push(issue("heavy_adjacent", Severity::Warning, trigger));
    }
    if day.max_block >= limits.block {
        let trigger = at_least("max_block", limits.block.into(), day.max_block.into());
        issues.push(issue("block", Severity::Warning, trigger));
    }
    issues
}

fn calm(whose: &str, switches: u8, limit: u8) -> Issue {
    Issue {
        issue_id: format!("rhythm_calm_{whose}"),
        dimension: Dimension::Rhythm,
        severity: Severity::Info,
        trigger: trigger("switch_count", "<", limit.into(), switches.into()),
    }
}

fn at_least(metric: &str, threshold: f64, actual: f64) -> IssueTrigger {
    trigger(metric, ">=", threshold, actual)
}

fn trigger(metric: &str, operator: &str, threshold: f64, actual: f64) -> IssueTrigger {
    IssueTrigger {
        metric: metric.to_owned(),
        operator: operator.to_owned(),
        threshold,
        actual,
    }
}
