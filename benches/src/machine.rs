//! The machine that is measured on.
use std::{fs, thread::sleep, time::Duration};

use crate::measure::as_float;

/// The share of the processors above which a machine is too busy to be measured on.
pub const BUSY: f64 = 0.1;

/// Returns the share of the processors that other programs use now, from 0 to 1, after watching
/// for a second; none on systems that do not tell it.
pub fn busy() -> Option<f64> {
    let (work, all) = ticks()?;
    sleep(Duration::from_secs(1));
    let (work_later, all_later) = ticks()?;
    let passed = all_later.checked_sub(all).filter(|passed| *passed > 0)?;
    Some(as_float(work_later.saturating_sub(work)) / as_float(passed))
}

/// Returns the time that the processors worked, and all of their time.
fn ticks() -> Option<(u64, u64)> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let all = stat.lines().next()?.split_whitespace().skip(1);
    let all: Vec<u64> = all.filter_map(|ticks| ticks.parse().ok()).collect();
    // User, nice, system, idle, waiting for a disk.
    let idle: u64 = all.iter().skip(3).take(2).sum();
    let whole: u64 = all.iter().take(8).sum();
    Some((whole.checked_sub(idle)?, whole))
}

/// Returns the processors, their number and the system, in one line.
pub fn name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let system = format!("{} {}", std::env::consts::OS, kernel.trim());
    format!("{model}, {cores} cores, {}", system.trim())
}
