//! The rhythm of all days together.
use serde::{Deserialize, Serialize};

use super::series::DayStats;

/// The rhythm of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rhythm {
    /// Switches between subjects per day that has any task.
    pub avg_switches_per_day: f64,
    /// The first of the days with the most switches; none if there are no switches.
    pub max_switch_day: Option<u16>,
    /// Its switches.
    pub max_switch_count: u8,
    /// Sections per run of one subject.
    pub avg_block_size: f64,
    /// The longest run of one subject, in sections.
    pub longest_same_subject_run: u8,
    /// The number of days on which two demanding subjects are adjacent.
    pub heavy_adjacent_days: u32,
    /// Days with anything demanding.
    pub high_intensity_days: u32,
    /// Days with four demanding sections in a row.
    pub long_high_intensity_days: u32,
    /// Days with many switches.
    pub fragmented_count: u32,
    /// Days with very long blocks.
    pub compressed_run_count: u32,
    /// Fragmented less compressed days.
    pub block_balance: i64,
    /// The share of switches between subjects of the same type; 1 if nothing switches.
    pub same_type_transition_ratio: f64,
    /// Every day that has any task, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<DayRhythm>,
}

/// The rhythm of a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DayRhythm {
    /// The day.
    pub day: u16,
    /// Sections that something other than a course takes.
    pub sections: u8,
    /// Switches between subjects.
    pub switch_count: u8,
    /// The longest run of one subject.
    pub max_block: u8,
    /// Switches per possible switch.
    pub fragmentation: f64,
    /// True if two demanding subjects are adjacent.
    pub heavy_adjacent: bool,
}

/// The figures by which candidates are compared; cheap enough to compute for every one of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) days: u32,
    pub(super) switches: u32,
    pub(super) max_switches: u8,
    pub(super) same_type: u32,
    pub(super) heavy_days: u32,
}

impl Totals {
    pub(super) fn of(days: &[DayStats]) -> Self {
        days.iter().fold(Self::default(), |sum, day| Self {
            days: sum.days + u32::from(day.sections > 0),
            switches: sum.switches + u32::from(day.switches),
            max_switches: sum.max_switches.max(day.switches),
            same_type: sum.same_type + u32::from(day.same_type),
            heavy_days: sum.heavy_days + u32::from(day.heavy > 0),
        })
    }

    pub(super) fn average_switches(&self) -> f64 {
        ratio(self.switches, self.days).unwrap_or(0.0)
    }

    pub(super) fn same_type_ratio(&self) -> f64 {
        ratio(self.same_type, self.switches).unwrap_or(1.0)
    }
}

impl Rhythm {
    pub(super) fn of(days: &[DayStats], full: bool) -> Self {
        let totals = Totals::of(days);
        let count = |test: &dyn Fn(&DayStats) -> bool| {
            u32::try_from(days.iter().filter(|day| test(day)).count()).unwrap_or(u32::MAX)
        };
        let sum = |of: &dyn Fn(&DayStats) -> u8| days.iter().map(|day| u32::from(of(day))).sum();
        let (sections, blocks) = (sum(&|day| day.sections), sum(&DayStats::blocks));
        let busiest = days.iter().find(|day| day.switches == totals.max_switches);
        let fragmented_count = count(&DayStats::is_fragmented);
        let compressed_run_count = count(&DayStats::is_compressed);
        Self {
            avg_switches_per_day: totals.average_switches(),
            max_switch_day: busiest.filter(|day| day.switches > 0).map(|day| day.day),
            max_switch_count: totals.max_switches,
            avg_block_size: ratio(sections, blocks).unwrap_or(0.0),
            longest_same_subject_run: days.iter().map(|day| day.max_block).max().unwrap_or(0),
            heavy_adjacent_days: totals.heavy_days,
            high_intensity_days: count(&|day| day.demanding > 0),
            long_high_intensity_days: count(&|day| day.demanding_run >= 4),
            fragmented_count,
            compressed_run_count,
            block_balance: i64::from(fragmented_count) - i64::from(compressed_run_count),
            same_type_transition_ratio: totals.same_type_ratio(),
            days: if full {
                days.iter().filter_map(DayRhythm::of).collect()
            } else {
                Vec::new()
            },
        }
    }
}

impl DayRhythm {
    fn of(stats: &DayStats) -> Option<Self> {
        (stats.sections > 0).then(|| Self {
            day: stats.day,
            sections: stats.sections,
            switch_count: stats.switches,
            max_block: stats.max_block,
            fragmentation: stats.fragmentation(),
            heavy_adjacent: stats.heavy > 0,
        })
    }
}

fn ratio(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}
