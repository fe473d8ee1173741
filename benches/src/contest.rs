//! Runs systems side by side: each measurement in a process of its own, the systems in turn.
use std::{
    collections::HashMap,
    io::Read,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    BoxError,
    host::Hosts,
    measure::{Answer, Measurement, Setting, median},
    workload::Workload,
};

/// A system that takes part.
#[derive(Debug, Clone)]
pub struct System {
    /// Its name.
    pub name: String,
    /// The program, and its arguments before the workload, the size, the budget, the folder and, if
    /// the workload needs one, the server.
    pub program: (PathBuf, Vec<String>),
}

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The workloads, each with a size.
    pub workloads: Vec<(Workload, u64)>,
    /// The systems.
    pub systems: Vec<System>,
    /// How often each measurement is repeated, if it is quick.
    pub repetitions: usize,
    /// The time within which a system may begin another repetition of a workload.
    pub patience: Duration,
    /// The time after which a process is ended.
    pub timeout: Duration,
    /// For each process.
    pub setting: Setting,
}

/// What one system made of one workload.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The workload.
    pub workload: Workload,
    /// Its size.
    pub size: u64,
    /// The system.
    pub system: String,
    /// The medians, or why there are none.
    pub result: Result<Measurement, Missing>,
    /// The distance of the repetitions' least and largest CPU times, as a share of their median;
    /// none without repetitions.
    pub spread: Option<f64>,
}

/// Why there is no measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The system cannot express the workload, and why.
    Unsupported(String),
    /// The process failed, and how.
    Failed(String),
}

/// Measures everything. `progress` hears of each process before it begins.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Vec<Entry> {
    let (mut entries, mut hosts) = (vec![], Hosts::default());
    for (number, &(workload, size)) in plan.workloads.iter().enumerate() {
        let host = workload.host().map(|host| hosts.url(host));
        if host == Some(None) {
            progress(&format!(
                "{}: skipped, for there is no server",
                workload.spec().name
            ));
            continue;
        }
        let setting = Setting {
            server: host.flatten(),
            ..plan.setting.clone()
        };
        let mut taken: HashMap<&str, Timing> = HashMap::new();
        for repetition in 1..=plan.repetitions {
            for system in &plan.systems {
                let taken = taken.entry(&system.name).or_default();
                if taken.missing.is_some() || taken.time > plan.patience {
                    continue;
                }
                progress(&format!(
                    "[{}/{}] {} {size} {} ({repetition}/{})",
                    number + 1,
                    plan.workloads.len(),
                    workload.spec().name,
                    system.name,
                    plan.repetitions,
                ));
                taken.add(plan, &setting, system, workload, size);
            }
        }
        entries.extend(plan.systems.iter().filter_map(|system| {
            let timing = taken.remove(system.name.as_str())?;
            Some(Entry {
                workload,
                size,
                system: system.name.clone(),
                spread: timing.spread(),
                result: timing.result(),
            })
        }));
    }
    entries
}

#[derive(Default)]
struct Timing {
    measured: Vec<Measurement>,
    missing: Option<Missing>,
    time: Duration,
}

impl Timing {
    fn add(
        &mut self,
        plan: &Plan,
        setting: &Setting,
        system: &System,
        workload: Workload,
        size: u64,
    ) {
        let begin = Instant::now();
        match one_process(plan.timeout, setting, system, workload, size) {
            Ok(Answer::Measured(measured)) => self.measured.push(measured),
            Ok(Answer::Unsupported { unsupported }) => {
                self.missing = Some(Missing::Unsupported(unsupported));
            }
            Err(error) => self.missing = Some(Missing::Failed(error.to_string())),
        }
        self.time += begin.elapsed();
    }

    fn spread(&self) -> Option<f64> {
        let mut times: Vec<_> = self.measured.iter().map(|m| m.us_cpu).collect();
        times.sort_by(f64::total_cmp);
        let [least, .., largest] = *times else {
            return None;
        };
        Some((largest - least) / median(&mut times)?)
    }

    fn result(self) -> Result<Measurement, Missing> {
        if let Some(missing) = self.missing {
            return Err(missing);
        }
        let all = self.measured;
        let mid = |field: fn(&Measurement) -> Option<f64>| {
            median(&mut all.iter().filter_map(field).collect::<Vec<_>>())
        };
        Ok(Measurement {
            us_cpu: mid(|m| Some(m.us_cpu)).unwrap_or(f64::NAN),
            us_wall: mid(|m| Some(m.us_wall)).unwrap_or(f64::NAN),
            peak_rss_mb: mid(|m| m.peak_rss_mb),
            bytes: all.iter().filter_map(|m| m.bytes).max(),
            p50_us: mid(|m| m.p50_us),
            p95_us: mid(|m| m.p95_us),
            p99_us: mid(|m| m.p99_us),
        })
    }
}

fn one_process(
    timeout: Duration,
    setting: &Setting,
    system: &System,
    workload: Workload,
    size: u64,
) -> Result<Answer, BoxError> {
    let (program, arguments) = &system.program;
    let mut child = Command::new(program)
        .args(arguments)
        .args([workload.spec().name, &size.to_string()])
        .arg(setting.budget.as_millis().to_string())
        .arg(&setting.folder)
        .args(&setting.server)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() > timeout {
            child.kill()?;
            child.wait()?;
            return Err(format!("took longer than {} s", timeout.as_secs()).into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let mut told = String::new();
        output.stderr.as_slice().read_to_string(&mut told)?;
        let last = told.lines().rev().find(|line| !line.trim().is_empty());
        return Err(last.unwrap_or("ended without a word").trim().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn results_of(script: &str) -> Vec<Result<Measurement, Missing>> {
        let program = ("sh".into(), vec!["-c".into(), script.into(), "sh".into()]);
        let entries = run(
            &Plan {
                workloads: vec![(Workload::Chain, 10)],
                systems: vec![System {
                    name: "shell".into(),
                    program,
                }],
                repetitions: 3,
                patience: Duration::from_mins(1),
                timeout: Duration::from_secs(20),
                setting: Setting {
                    budget: Duration::from_millis(7),
                    folder: "here".into(),
                    server: None,
                },
            },
            |_| {},
        );
        entries.into_iter().map(|entry| entry.result).collect()
    }

    #[test]
    fn a_program_is_told_what_to_measure() {
        let told =
            results_of(r#"test "$*" = "chain 10 7 here" && echo '{"us_cpu":1,"us_wall":2}'"#);
        let expected = Measurement {
            us_cpu: 1.0,
            us_wall: 2.0,
            peak_rss_mb: None,
            bytes: None,
            p50_us: None,
            p95_us: None,
            p99_us: None,
        };
        assert_eq!(told, [Ok(expected)]);
    }

    #[test]
    fn a_program_that_cannot_or_fails_says_why() {
        assert_eq!(
            results_of(r#"echo '{"unsupported":"no joins"}'"#),
            [Err(Missing::Unsupported("no joins".into()))]
        );
        assert_eq!(
            results_of("echo first >&2; echo broken >&2; exit 3"),
            [Err(Missing::Failed("broken".into()))]
        );
    }
}
