//! Clocks, repeated rounds, and the line that a measured process prints.
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::BoxError;

/// Where and how long to measure.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Rounds are repeated until this time is used up.
    pub budget: Duration,
    /// A folder for databases, on the disk that is to be measured.
    pub folder: PathBuf,
    /// The server of a workload that needs one, as an URL.
    pub server: Option<String>,
}

/// The line that a measured process prints, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// The system cannot express the workload.
    Unsupported {
        /// Why.
        unsupported: String,
    },
    /// What was measured.
    Measured(Measurement),
}

/// What one process measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// CPU time of all threads, per unit, in microseconds: the median of the rounds.
    pub us_cpu: f64,
    /// Elapsed time per unit, in microseconds: the median of the rounds.
    pub us_wall: f64,
    /// The most memory that the process held in its first round, its program not counted, in units
    /// of 1,000,000 bytes.
    #[serde(default)]
    pub peak_rss_mb: Option<f64>,
    /// What one round left on disk, in bytes.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The elapsed time that half of the units kept below, in microseconds, where each was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// The elapsed time that 95 of 100 units kept below, in microseconds, where each was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<f64>,
    /// The elapsed time that 99 of 100 units kept below, in microseconds, where each was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
}

/// The runtime that all programs use.
pub fn runtime() -> Result<Runtime, BoxError> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?)
}

/// The same on one core.
pub fn one_core() -> Result<Runtime, BoxError> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

/// What one round cost.
#[derive(Debug, Clone, Copy)]
pub struct RoundCost {
    /// CPU time of all threads of the process.
    pub cpu: Duration,
    /// Elapsed time.
    pub wall: Duration,
    /// What the round left on disk, in bytes.
    pub bytes: Option<u64>,
}

/// Does some work and tells what it cost.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, RoundCost) {
    let (cpu, wall) = (cpu_time(), Instant::now());
    let result = work();
    let spent = RoundCost {
        cpu: cpu_time().saturating_sub(cpu),
        wall: wall.elapsed(),
        bytes: None,
    };
    (result, spent)
}

/// Repeats a round of `units` units: once to warm up, then until the budget is used up.
///
/// A round that alone uses up the budget is not repeated: it counts although it was the first.
pub fn rounds(
    setting: &Setting,
    units: u64,
    mut round: impl FnMut() -> Result<RoundCost, BoxError>,
) -> Result<Measurement, BoxError> {
    let begin = Instant::now();
    let first = round()?;
    // Of one round: what later rounds leave behind before it is freed is not what a user sees.
    let peak_rss_mb = peak_memory();
    let mut spent = vec![];
    if begin.elapsed() >= setting.budget {
        spent.push(first);
    } else {
        let begin = Instant::now();
        while spent.is_empty() || begin.elapsed() < setting.budget {
            spent.push(round()?);
        }
    }
    let median_of = |clock: fn(&RoundCost) -> Duration| {
        let mut micros: Vec<f64> = spent.iter().map(|s| clock(s).as_secs_f64() * 1e6).collect();
        median(&mut micros).unwrap_or(f64::NAN) / as_float(units)
    };
    Ok(Measurement {
        us_cpu: median_of(|s| s.cpu),
        us_wall: median_of(|s| s.wall),
        peak_rss_mb,
        bytes: spent.iter().filter_map(|s| s.bytes).max(),
        p50_us: None,
        p95_us: None,
        p99_us: None,
    })
}

/// Measures units that are timed one by one, in one round.
pub fn each_unit(
    mut unit: impl FnMut(u64) -> Result<(), BoxError>,
    units: u64,
) -> Result<Measurement, BoxError> {
    let mut took = vec![];
    let (done, spent) = timed(|| {
        (0..units).try_for_each(|number| {
            let begin = Instant::now();
            unit(number)?;
            took.push(begin.elapsed().as_secs_f64() * 1e6);
            Ok::<_, BoxError>(())
        })
    });
    done?;
    Ok(ranked(took, spent, units))
}

/// Measures units that were timed one by one, in microseconds each.
pub fn ranked(mut took: Vec<f64>, spent: RoundCost, units: u64) -> Measurement {
    took.sort_by(f64::total_cmp);
    let below = |percent: usize| {
        took.get((took.len() * percent / 100).min(took.len().saturating_sub(1)))
            .copied()
    };
    Measurement {
        us_cpu: spent.cpu.as_secs_f64() * 1e6 / as_float(units),
        us_wall: spent.wall.as_secs_f64() * 1e6 / as_float(units),
        peak_rss_mb: peak_memory(),
        bytes: None,
        p50_us: below(50),
        p95_us: below(95),
        p99_us: below(99),
    }
}

/// The median; none of nothing. Sorts the values.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *values.get(values.len() / 2 - 1)?;
    Some(f64::midpoint(lower, upper))
}

/// A count as a number to divide by.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts and sizes here lie far below 2^52"
)]
pub fn as_float(count: u64) -> f64 {
    count as f64
}

/// The CPU time that all threads of this process have used.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The most memory that this process held, where the system tells (Linux does). The program itself
/// does not count: how much of a file is in memory says how many stores are linked into it.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let kibibytes = kibibytes("VmHWM:")?.saturating_sub(kibibytes("RssFile:")?);
    Some(as_float(kibibytes) * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_round_that_uses_up_the_budget_is_not_repeated() {
        let setting = Setting {
            budget: Duration::ZERO,
            folder: PathBuf::new(),
            server: None,
        };
        let mut count = 0;
        let spent = RoundCost {
            cpu: Duration::from_micros(30),
            wall: Duration::from_micros(50),
            bytes: Some(7),
        };
        let measured = rounds(&setting, 10, || {
            count += 1;
            Ok(spent)
        })
        .unwrap();
        let peak_rss_mb = measured.peak_rss_mb;
        let expected = Measurement {
            us_cpu: 3.0,
            us_wall: 5.0,
            peak_rss_mb,
            bytes: Some(7),
            p50_us: None,
            p95_us: None,
            p99_us: None,
        };
        assert_eq!((count, measured), (1, expected));
    }

    #[test]
    fn units_that_are_timed_one_by_one_are_ranked() {
        let mut seen = vec![];
        let unit = |number| {
            seen.push(number);
            Ok(())
        };
        let measured = each_unit(unit, 100).unwrap();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
        assert!(measured.p50_us <= measured.p99_us && measured.p50_us.is_some());
    }

    #[test]
    fn work_is_seen_by_both_clocks() {
        let (sum, spent) = timed(|| (0..3_000_001_u64).fold(0, |sum, n| sum ^ n.rotate_left(7)));
        assert!(sum > 0 && spent.cpu > Duration::ZERO && spent.wall > Duration::ZERO);
    }

    #[test]
    fn an_answer_reads_back() {
        let line = r#"{"us_cpu":1.5,"us_wall":2.0,"peak_rss_mb":3.0,"bytes":4}"#;
        let answer: Answer = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&answer).unwrap(), line);
        let refusal: Answer = serde_json::from_str(r#"{"unsupported":"no store"}"#).unwrap();
        assert_eq!(
            refusal,
            Answer::Unsupported {
                unsupported: "no store".into()
            }
        );
    }
}
