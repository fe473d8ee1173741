//! What the peer programs share: the command line, and fugato's own clocks.
use std::{io::Write, process::ExitCode, time::Duration};

use measure::{Answer, Measurement, Setting, RoundCost, rounds, runtime, timed};
use tokio::runtime::Runtime;

#[path = "../../../src/measure.rs"]
pub mod measure;

/// What can go wrong while a workload runs.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// One measurement that was asked for.
#[derive(Debug)]
pub struct Bench {
    /// The workload.
    pub workload: String,
    /// Its size.
    pub size: u64,
    /// Where and how long to measure.
    pub setting: Setting,
    /// The runtime to use.
    pub runtime: Runtime,
}

impl Bench {
    /// Measures rounds of `units` units. `prepare` is not measured, `run` is.
    pub fn rounds<P, F>(
        &self,
        units: u64,
        mut prepare: impl FnMut() -> Result<P, BoxError>,
        mut run: impl FnMut(P) -> F,
    ) -> Result<Measurement, BoxError>
    where
        F: Future<Output = Result<(), BoxError>>,
    {
        self.rounds_on_disk(units, |_| prepare(), |prepared| run(prepared))
    }

    /// The same with a file name for a database of each round, whose size is measured too.
    pub fn rounds_on_disk<P, F>(
        &self,
        units: u64,
        mut prepare: impl FnMut(&str) -> Result<P, BoxError>,
        mut run: impl FnMut(P) -> F,
    ) -> Result<Measurement, BoxError>
    where
        F: Future<Output = Result<(), BoxError>>,
    {
        let name = format!("fugato-peer-{}.db", std::process::id());
        let file = self
            .setting
            .folder
            .join(name)
            .to_string_lossy()
            .into_owned();
        let files = ["", "-wal", "-shm", "-journal"].map(|end| format!("{file}{end}"));
        rounds(&self.setting, units, || {
            let prepared = prepare(&file)?;
            let (done, spent) = timed(|| self.runtime.block_on(run(prepared)));
            let bytes = files
                .iter()
                .filter_map(|file| Some(std::fs::metadata(file).ok()?.len()));
            let bytes = Some(bytes.sum()).filter(|bytes| *bytes > 0);
            for file in &files {
                // Only some of them exist.
                let _ = std::fs::remove_file(file);
            }
            done?;
            Ok(RoundCost { bytes, ..spent })
        })
    }
}

/// Reads the command line, measures, and prints the answer. `Err` of the inner result says why the
/// workload cannot be expressed.
pub fn answer(
    measure: impl FnOnce(&Bench) -> Result<Result<Measurement, &'static str>, BoxError>,
) -> ExitCode {
    match bench()
        .and_then(|bench| measure(&bench))
        .and_then(|result| {
            let answer = match result {
                Ok(measured) => Answer::Measured(measured),
                Err(why) => Answer::Unsupported {
                    unsupported: why.into(),
                },
            };
            Ok(writeln!(
                std::io::stdout(),
                "{}",
                serde_json::to_string(&answer)?
            )?)
        }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> Result<Bench, BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workload, size, milliseconds, folder, server @ ..] = arguments.as_slice() else {
        return Err("expected a workload, a size, milliseconds and a folder".into());
    };
    Ok(Bench {
        workload: workload.clone(),
        size: size.parse()?,
        setting: Setting {
            budget: Duration::from_millis(milliseconds.parse()?),
            folder: folder.into(),
            server: server.first().cloned(),
        },
        runtime: runtime()?,
    })
}

/// What the agent says in each turn: 200 characters.
pub fn agent_says() -> String {
    "The calendar is free on Tuesday. ".repeat(7).split_off(31)
}

/// What the tool answers in each turn: 200 characters.
pub fn tool_says() -> String {
    "lecture at 8:00 in room B 204;  ".repeat(7).split_off(24)
}
