//! The world outside, which outlives those whom it kills.
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// One thing that a task of the suite has its agent do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Action {
    /// The tool.
    pub(crate) name: String,
    /// The arguments.
    pub(crate) arguments: Map<String, Value>,
    /// True if the tool changes the database. Only the list of all tasks says so.
    #[serde(default)]
    pub(crate) writes: bool,
}

/// A tool of the suite.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: String,
    /// Its purpose.
    pub(crate) about: String,
    /// True if it changes the database.
    pub(crate) writes: bool,
    /// The JSON schema of its arguments.
    pub(crate) schema: Value,
}

/// The part of a process that plays a task.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Part {
    /// The actions, in order.
    pub(crate) actions: Vec<Action>,
    /// The tools for it.
    pub(crate) tools: Vec<Tool>,
}

/// The answer of a tool.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ToolAnswer {
    /// The text for the agent.
    pub(crate) said: String,
    /// True if nothing was done.
    pub(crate) refused: bool,
}

/// The end of a world.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct End {
    /// True if the suite's own hash of the database is that of every action done once.
    pub(crate) right: bool,
    /// The writes of the task.
    pub(crate) asked: Vec<Action>,
    /// The writes, in the order in which they were done.
    pub(crate) done: Vec<Action>,
    /// True if the process was killed where it had to be.
    pub(crate) killed: bool,
}

/// The moment at which a process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Moment {
    /// A call has arrived, and nothing is done.
    Arrived,
    /// It is done, and not answered.
    Done,
    /// It is answered.
    Told,
    /// It was answered 5 ms ago.
    Later,
}

impl Moment {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Arrived, Self::Done, Self::Told, Self::Later];
}

/// A process that keeps the databases.
#[derive(Debug)]
pub(crate) struct World {
    process: Child,
    /// Its port on loopback.
    pub(crate) port: u16,
    visitor: Visitor,
}

impl World {
    /// Starts the world.
    pub(crate) fn start(python: &Path) -> Result<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/world.py");
        let mut process = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} does not start", python.display()))?;
        let said = process.stdout.take().context("it has an output")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        let port = line.trim().parse().with_context(|| {
            format!(
                "{} has no tau2-bench: `benches/peers/install fire` makes one that has",
                python.display()
            )
        })?;
        let visitor = Visitor::new(port)?;
        Ok(Self {
            process,
            port,
            visitor,
        })
    }

    /// The tasks of a domain.
    pub(crate) fn tasks(&self, domain: &str) -> Result<BTreeMap<String, Vec<Action>>> {
        self.visitor
            .ask(&json!({ "do": "tasks", "domain": domain }))
    }

    /// A new world, in which the process of a task is killed at a moment of its nth call.
    pub(crate) fn begin(
        &self,
        domain: &str,
        task: &str,
        kill: Option<(usize, Moment)>,
    ) -> Result<()> {
        let (call, moment) = kill.unzip();
        let asked = json!({
            "do": "begin", "domain": domain, "task": task, "call": call, "moment": moment,
        });
        self.visitor.ask::<Value>(&asked).map(drop)
    }

    /// Returns true if the world did this: what a person looks up when nobody else knows.
    pub(crate) fn seen(&self, name: &str, arguments: &Value) -> Result<bool> {
        let asked = json!({ "do": "seen", "name": name, "arguments": arguments });
        let seen: BTreeMap<String, usize> = self.visitor.ask(&asked)?;
        Ok(seen.get("times").is_some_and(|times| *times > 0))
    }

    /// Returns the end of the task.
    pub(crate) fn end(&self) -> Result<End> {
        self.visitor.ask(&json!({ "do": "end" }))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // One that has ended already cannot be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A way to the world.
#[derive(Debug, Clone)]
pub(crate) struct Visitor(Arc<Mutex<BufReader<TcpStream>>>);

impl Visitor {
    /// Connects to the world on a port.
    pub(crate) fn new(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Self(Arc::new(Mutex::new(BufReader::new(stream)))))
    }

    /// Says that this process plays, and learns what.
    pub(crate) fn hello(&self) -> Result<Part> {
        self.ask(&json!({ "do": "hello", "pid": std::process::id() }))
    }

    /// Calls a tool.
    pub(crate) fn call(&self, name: &str, arguments: &Value) -> Result<ToolAnswer> {
        self.ask(&json!({ "do": "call", "name": name, "arguments": arguments }))
    }

    fn ask<T: DeserializeOwned>(&self, asked: &Value) -> Result<T> {
        let mut stream = self
            .0
            .lock()
            .map_err(|_| anyhow!("a thread has panicked"))?;
        stream
            .get_mut()
            .write_all(format!("{asked}\n").as_bytes())?;
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            bail!("the world did not answer");
        }
        Ok(serde_json::from_str(&line)?)
    }
}
