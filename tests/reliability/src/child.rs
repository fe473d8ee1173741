//! A process of ours that may be killed.
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{ChildStdin, Command},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

use crate::{
    TrialResult,
    evidence::Evidence,
    serve::{Mode, Order, ServedWork, ServerLine},
};

/// How a child is started.
#[derive(Debug, Clone)]
pub struct Start {
    /// The program: this crate's.
    pub program: PathBuf,
    /// The store.
    pub store: String,
    /// The folder of the evidence.
    pub evidence: PathBuf,
    /// What its threads do.
    pub what: ServedWork,
    /// How long a step of a chain takes, in milliseconds.
    pub pause: u64,
    /// How long leases last, in milliseconds.
    pub lease: u64,
    /// How many threads run at once.
    pub concurrency: usize,
    /// When what happened is stored.
    pub durability: Mode,
    /// The ingress of an engine that places the threads, and the port at which it finds the process.
    pub engine: Option<(String, u16)>,
}

impl Start {
    /// A child that does jobs.
    pub fn new(program: &Path, store: &str, evidence: &Evidence) -> Self {
        Self {
            program: program.to_owned(),
            store: store.to_owned(),
            evidence: evidence.folder().to_owned(),
            what: ServedWork::Job,
            pause: 0,
            lease: 400,
            concurrency: 16,
            durability: Mode::Strict,
            engine: None,
        }
    }

    /// Starts it. It ends when its handle is dropped, or the parent dies.
    pub fn spawn(&self) -> TrialResult<Child> {
        let what = match self.what {
            ServedWork::Job => "job",
            ServedWork::Chain => "chain",
            ServedWork::Witnessed => "witnessed",
            ServedWork::Once => "once",
        };
        let durability = match self.durability {
            Mode::Strict => "strict",
            Mode::Batched => "batched",
            Mode::AtPause => "at-pause",
        };
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--store", &self.store, "--what", what])
            .args(["--pause", &self.pause.to_string()])
            .args(["--lease", &self.lease.to_string()])
            .args(["--concurrency", &self.concurrency.to_string()])
            .args(["--durability", durability])
            .arg("--evidence")
            .arg(&self.evidence)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some((ingress, port)) = &self.engine {
            command.args(["--engine", ingress, "--port", &port.to_string()]);
        }
        let mut process = command.spawn()?;
        let orders = process.stdin.take();
        let out = process.stdout.take().ok_or("the output is piped")?;
        let (sender, said) = unbounded_channel();
        tokio::spawn(async move {
            let mut lines = BufReader::new(out).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                // Half a line is nothing that was said.
                if let Ok(said) = serde_json::from_str(&line) {
                    let _ = sender.send(said);
                }
            }
        });
        Ok(Child {
            process,
            orders,
            said,
        })
    }
}

/// A process of ours.
#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    orders: Option<ChildStdin>,
    said: UnboundedReceiver<ServerLine>,
}

impl Child {
    /// Tells it something. A process that is gone hears nothing.
    pub async fn order(&mut self, order: &Order) -> TrialResult<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        if let Some(orders) = &mut self.orders {
            let _ = orders.write_all(&line).await;
        }
        Ok(())
    }

    /// The next that it says; none if it is gone.
    pub async fn next(&mut self) -> Option<ServerLine> {
        self.said.recv().await
    }

    /// What it has said meanwhile.
    pub fn heard(&mut self) -> Vec<ServerLine> {
        std::iter::from_fn(|| self.said.try_recv().ok()).collect()
    }

    /// Waits until it works.
    pub async fn ready(&mut self) -> TrialResult<()> {
        match self.next().await {
            Some(ServerLine::Ready) => Ok(()),
            other => Err(format!("the process did not get ready: {other:?}").into()),
        }
    }

    /// Its number; none if it is gone.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// What ends it, or stops it, or lets it go on.
    pub fn signal(&self, signal: Signal) -> TrialResult<()> {
        send(&self.process, signal)
    }

    /// Waits for its end, and returns what it had still to say.
    pub async fn end(mut self) -> TrialResult<Vec<ServerLine>> {
        self.process.wait().await?;
        let mut said = vec![];
        while let Some(last) = self.said.recv().await {
            said.push(last);
        }
        Ok(said)
    }

    /// Kills it as nothing else can, and returns what it had said before.
    pub async fn kill9(self) -> TrialResult<Vec<ServerLine>> {
        self.signal(Signal::KILL)?;
        self.end().await
    }

    /// Asks it to end in peace, and returns what it says to that.
    pub async fn terminate(self) -> TrialResult<Vec<ServerLine>> {
        self.signal(Signal::TERM)?;
        self.end().await
    }
}

/// Ends or stops a process, or lets it go on.
pub(crate) fn send(signalled: &tokio::process::Child, signal: Signal) -> TrialResult<()> {
    let id = signalled.id().and_then(|id| i32::try_from(id).ok());
    let id = id.and_then(Pid::from_raw).ok_or("it is gone")?;
    Ok(kill_process(id, signal)?)
}
