//! Processes that are killed, and what it takes until their thread goes on.
use std::{
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{
    BoxError,
    measure::{Measurement, RoundCost, Setting, cpu_time, rounds},
};

/// How long the right to write outlives its owner. Only when it is over does another process begin.
pub const LEASE: Duration = Duration::from_secs(1);

/// Measures the time from the start of a process of this program to the first step that it adds to
/// a thread of `size` steps, whose process was killed.
pub fn recover(system: &str, size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let folder: TempDir = tempfile::tempdir_in(&setting.folder)?;
    let file = folder.path().join("threads.db");
    Survivor::until(system, &file, size)?.kill()?;
    let mut steps = size;
    rounds(setting, 1, || {
        steps += 1;
        std::thread::sleep(LEASE + LEASE / 4);
        let begin = Instant::now();
        let survivor = Survivor::until(system, &file, steps)?;
        let wall = begin.elapsed();
        let cpu = survivor.cpu;
        survivor.kill()?;
        Ok(RoundCost {
            cpu,
            wall,
            bytes: None,
        })
    })
}

/// A process that has reached its step.
struct Survivor {
    process: Child,
    cpu: Duration,
}

impl Survivor {
    fn until(system: &str, file: &Path, steps: u64) -> Result<Self, BoxError> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["--survive", system])
            .arg(file)
            .arg(steps.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut told = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out).read_line(&mut told)?;
        }
        let cpu = Duration::from_micros(told.trim().parse()?);
        Ok(Self { process, cpu })
    }

    fn kill(mut self) -> Result<(), BoxError> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

/// Says in a process that is to be killed that its step is durable, and how much CPU time it took.
pub fn tell() -> Result<(), BoxError> {
    let mut out = io::stdout();
    writeln!(out, "{}", cpu_time().as_micros())?;
    Ok(out.flush()?)
}

/// Waits to be killed. Should the parent die before, this ends too.
pub fn wait() -> io::Result<()> {
    io::stdin().read_line(&mut String::new())?;
    Ok(())
}
