//! The process that is killed: a worker that also takes orders, as a service would take requests.
use std::{io::Write, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use fugato_graph::{Answers, Drive, Durability, Runner, RunnerOptions, Worker, WorkerReport};
use fugato_state::{State, ThreadId};
use fugato_stream::EventKind;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    signal::unix::{SignalKind, signal},
    sync::{Mutex, mpsc},
};

use crate::{
    TrialResult,
    chain::{self, Change, Walk},
    evidence::Evidence,
    job, placed,
    store::Store,
};

/// What the process is.
#[derive(Debug, Clone, Args)]
pub struct Serve {
    /// The store: `sqlite:<path>`, `postgres://…`, `redis://…` or `mysql://…`.
    #[arg(long)]
    pub store: String,
    /// The folder of the evidence.
    #[arg(long)]
    pub evidence: PathBuf,
    /// What the threads do.
    #[arg(long, default_value = "job")]
    pub what: ServedWork,
    /// How long a step of a chain takes, in milliseconds.
    #[arg(long, default_value_t = 0)]
    pub pause: u64,
    /// How long leases last, in milliseconds.
    #[arg(long, default_value_t = 1000)]
    pub lease: u64,
    /// How many threads run at once.
    #[arg(long, default_value_t = 16)]
    pub concurrency: usize,
    /// When what happened is stored.
    #[arg(long, default_value = "strict")]
    pub durability: Mode,
    /// The ingress of a Restate server that places the threads, in place of a worker.
    #[arg(long, requires = "port")]
    pub engine: Option<String>,
    /// The port at which that server finds the process. Several processes may have it.
    #[arg(long)]
    pub port: Option<u16>,
}

/// When what happened is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Before anything follows from it.
    Strict,
    /// In batches of up to 20 records and 50 ms.
    Batched,
    /// At pauses, ends and effects.
    AtPause,
}

impl From<Mode> for Durability {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Strict => Self::Strict,
            Mode::Batched => Self::Batched {
                max_records: 20,
                max_delay: Duration::from_millis(50),
            },
            Mode::AtPause => Self::AtPause,
        }
    }
}

/// What the threads do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ServedWork {
    /// Jobs.
    Job,
    /// Chains of steps.
    Chain,
    /// Chains of steps that each leave a line of evidence.
    Witnessed,
    /// Chains of steps that each do something that must not be done twice.
    Once,
}

/// What the process is told, a line of JSON each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Begin a thread of so many steps.
    Submit {
        /// Its name.
        thread: String,
        /// How many, for a chain.
        steps: u64,
    },
    /// Answer a question.
    Resume {
        /// The thread that asks.
        thread: String,
        /// The question.
        id: String,
        /// The answer.
        answer: Value,
    },
    /// Go on with a thread as soon as nobody else does.
    Recover {
        /// Its name.
        thread: String,
    },
}

/// What the process says, a line of JSON each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerLine {
    /// It has begun to work.
    Ready,
    /// The thread has begun.
    Submitted(String),
    /// The answer to this question, named by thread and id, is stored.
    Acknowledged(String),
    /// The thread came to rest here.
    Rested(String),
    /// An order was not carried out.
    Refused {
        /// Which.
        order: Order,
        /// Why.
        error: String,
    },
    /// It ends in peace: so many threads came to rest, failed, and were handed over.
    Worked(u64, u64, u64),
}

/// Works until it is told to end by SIGTERM or by the end of its input.
pub async fn serve(serve: &Serve) -> TrialResult<()> {
    let evidence = Evidence::in_folder(&serve.evidence)?;
    let store = Store::open(&serve.store).await?;
    let walk = Walk {
        pause: Duration::from_millis(serve.pause),
        evidence: (serve.what != ServedWork::Chain).then(|| evidence.clone()),
        once: serve.what == ServedWork::Once,
    };
    if serve.what == ServedWork::Job {
        let runner = store.runner(job::graph(&evidence)?);
        return work(serve, &store, runner, |_| vec![]).await;
    }
    let runner = store.runner(chain::graph(&walk)?);
    work(serve, &store, runner, |steps| vec![Change::Wanted(steps)]).await
}

/// How runs behave in the process: a task may die as often as it likes.
pub fn options(lease: Duration) -> RunnerOptions {
    RunnerOptions::default()
        .lease(lease)
        .crash_limit(u32::MAX)
        .step_limit(u64::MAX)
}

async fn work<S: State>(
    serve: &Serve,
    store: &Store,
    runner: Runner<S>,
    input: fn(u64) -> Vec<S::Update>,
) -> TrialResult<()> {
    let how = options(Duration::from_millis(serve.lease)).durability(serve.durability.into());
    let runner = runner.options(how);
    let engine = match (&serve.engine, serve.port) {
        (Some(ingress), Some(port)) => Some((placed::engine(ingress)?, port)),
        _ => None,
    };
    let runner = match &engine {
        Some((engine, _)) => engine.placing(runner),
        None => runner,
    };
    let mut terminated = signal(SignalKind::terminate())?;
    let (ended, mut orders_end) = mpsc::channel::<()>(1);
    let taking = tokio::spawn(take_orders(runner.clone(), input, ended));
    let stop = async {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = orders_end.recv() => {}
        }
    };
    if let Some((engine, port)) = engine {
        let listener = placed::shared_port(port)?;
        say(&ServerLine::Ready)?;
        let agents: Vec<Arc<dyn Drive>> = vec![Arc::new(runner)];
        engine.serve(listener, agents, stop).await?;
        taking.abort();
        return say(&ServerLine::Worked(0, 0, 0));
    }
    let worker = Worker::new(runner)
        .concurrency(serve.concurrency)
        .poll(Duration::from_millis(100));
    say(&ServerLine::Ready)?;
    let WorkerReport {
        rested,
        failed,
        handed_over,
        ..
    } = match store {
        Store::Postgres(log) => {
            let words = Arc::new(Mutex::new(Box::pin(log.woken())));
            let woken = || {
                let words = words.clone();
                async move { drop(words.lock().await.next().await) }
            };
            worker.run_woken(stop, woken).await
        }
        _ => worker.run_until(stop).await,
    };
    taking.abort();
    say(&ServerLine::Worked(rested, failed, handed_over))
}

async fn take_orders<S: State>(
    runner: Runner<S>,
    input: fn(u64) -> Vec<S::Update>,
    _ended: mpsc::Sender<()>,
) -> TrialResult<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let order: Order = serde_json::from_str(&line)?;
        let runner = runner.clone();
        tokio::spawn(async move {
            let carried = execute(&runner, &order, input).await;
            let said = match carried {
                Ok(Some(said)) => said,
                Ok(None) => return Ok(()),
                Err(error) => {
                    let error = error.to_string();
                    ServerLine::Refused { order, error }
                }
            };
            say(&said)
        });
    }
    Ok(())
}

async fn execute<S: State>(
    runner: &Runner<S>,
    order: &Order,
    input: fn(u64) -> Vec<S::Update>,
) -> TrialResult<Option<ServerLine>> {
    match order {
        Order::Submit { thread, steps } => {
            let id = ThreadId::new(thread.as_str())?;
            runner.submit(&id, input(*steps)).await?;
            Ok(Some(ServerLine::Submitted(thread.clone())))
        }
        Order::Resume { thread, id, answer } => {
            let thread = ThreadId::new(thread.as_str())?;
            let answers = Answers::to(id.as_str(), answer)?;
            let mut run = pin!(runner.resume(&thread, answers));
            while let Some(event) = run.next().await {
                match event.kind {
                    // It is shown when it is stored, and not before.
                    EventKind::InterruptAnswered { .. } if event.seq.is_some() => {
                        say(&ServerLine::Acknowledged(format!("{thread} {id}")))?;
                    }
                    EventKind::RunFailed { error } => return Err(error.into()),
                    _ => {}
                }
            }
            Ok(None)
        }
        Order::Recover { thread } => {
            let id = ThreadId::new(thread.as_str())?;
            runner.recover(&id).await?;
            Ok(Some(ServerLine::Rested(thread.clone())))
        }
    }
}

/// One write a line: it arrives whole even if the process dies next.
fn say(said: &ServerLine) -> TrialResult<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line)?;
    Ok(out.flush()?)
}
