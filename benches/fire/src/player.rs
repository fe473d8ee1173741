//! Those who play a task, each in a process that can be killed.
use std::{
    io::{BufRead, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use servers::Restate;

/// The end of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlayerEnd {
    /// The task is done, by its own account.
    Done,
    /// It was killed.
    Died,
    /// A person has to say whether this call happened.
    Asks {
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// It gave up.
    Failed,
}

/// Somebody who plays.
pub(crate) trait Player {
    /// Its name and version.
    fn name(&self) -> &str;

    /// Begins or goes on in a process of its own, which leaves what it has to remember in the
    /// folder. `told` is what a person says about the call that it asked about.
    fn play(&mut self, folder: &Path, told: Option<bool>) -> Result<PlayerEnd>;
}

/// A player of this program.
#[derive(Debug)]
pub(crate) struct Own {
    name: String,
    world: u16,
    engine: Option<(Restate, u16)>,
}

impl Own {
    /// Creates the player that is fugato.
    pub(crate) fn fugato(world: u16) -> Self {
        let name = format!("fugato {}", env!("CARGO_PKG_VERSION"));
        let engine = None;
        Self {
            name,
            world,
            engine,
        }
    }

    /// Creates the player that is Restate with its own SDK; none if the server is not installed.
    pub(crate) fn restate(world: u16) -> Option<Self> {
        let engine = Some((Restate::start()?, servers::free_port()));
        let name = "Restate 1.7.12, SDK for Rust 0.13".to_owned();
        Some(Self {
            name,
            world,
            engine,
        })
    }
}

impl Player for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn play(&mut self, folder: &Path, told: Option<bool>) -> Result<PlayerEnd> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("play").arg(self.world.to_string()).arg(folder);
        if let Some((server, port)) = &self.engine {
            command.args(["--ingress", server.server().url()]);
            command.args(["--admin", &server.admin()]);
            command.args(["--port", &port.to_string()]);
        }
        if let Some(told) = told {
            command.args(["--told", &told.to_string()]);
        }
        let ended = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        match ended.status.code() {
            None => Ok(PlayerEnd::Died),
            Some(0) => Ok(serde_json::from_slice(&ended.stdout)?),
            Some(_) => Ok(PlayerEnd::Failed),
        }
    }
}

/// A player in Python, which forks a process for each line.
#[derive(Debug)]
pub(crate) struct PythonPlayer {
    name: String,
    process: Child,
    asks: ChildStdin,
    says: BufReader<ChildStdout>,
}

impl PythonPlayer {
    /// Starts the player of a script.
    pub(crate) fn start(python: &Path, script: &str, world: u16) -> Result<Self> {
        let file = format!("{}/peers/{script}", env!("CARGO_MANIFEST_DIR"));
        let mut process = Command::new(python)
            .arg(&file)
            .arg(world.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let asks = process.stdin.take().context("it has an input")?;
        let mut says = BufReader::new(process.stdout.take().context("it has an output")?);
        let name = line(&mut says).with_context(|| {
            format!("{file} does not start: `benches/peers/install fire` installs what it needs")
        })?;
        Ok(Self {
            name,
            process,
            asks,
            says,
        })
    }
}

impl Player for PythonPlayer {
    fn name(&self) -> &str {
        &self.name
    }

    fn play(&mut self, folder: &Path, _: Option<bool>) -> Result<PlayerEnd> {
        writeln!(self.asks, "{}", folder.display())?;
        self.asks.flush()?;
        match line(&mut self.says)?.as_str() {
            "done" => Ok(PlayerEnd::Done),
            "died" => Ok(PlayerEnd::Died),
            _ => Ok(PlayerEnd::Failed),
        }
    }
}

impl Drop for PythonPlayer {
    fn drop(&mut self) {
        // One that has ended already cannot be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn line(says: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    if says.read_line(&mut line)? == 0 {
        bail!("it has ended");
    }
    Ok(line.trim().to_owned())
}
