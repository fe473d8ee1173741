//! The cost of a drive by an engine, beside a handler of the engine's own SDK.
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fugato_graph::{Context, Drive, END, Graph, Runner, ThreadStatus};
use fugato_restate::{Restate, RestateOptions};
use fugato_sqlite::{SqliteLog, SqliteOptions, Synchronous};
use fugato_state::{State, ThreadId};
use fugato_store::{MemoryLog, ThreadStore};
use futures::future;
use restate_sdk::prelude::{Endpoint, HttpServer};
use serde::{Deserialize, Serialize};
use socket2::SockRef;
use tokio::net::TcpListener;

use crate::{BoxError, TrialResult, scale::median};

/// The words that a step adds, and that the handler of the SDK returns from its one `run`.
fn words(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Page {
    words: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct WordsUpdate(String);

impl State for Page {
    type Update = WordsUpdate;

    fn apply(&mut self, WordsUpdate(words): WordsUpdate) {
        self.words = words;
    }
}

mod plain {
    use restate_sdk::prelude::{
        ContextSideEffects as _, HandlerError, HandlerResult, ObjectContext,
    };

    /// A handler that keeps the words in the engine, and nothing else.
    pub(super) struct Plain {
        pub(super) bytes: usize,
    }

    #[restate_sdk::object(name = "Plain", journal_retention = "0s")]
    impl Plain {
        #[handler]
        async fn write(&self, ctx: ObjectContext<'_>, _came: i64) -> Result<(), HandlerError> {
            let words = super::words(self.bytes);
            let kept = ctx.run(|| async move { HandlerResult::<String>::Ok(words) });
            kept.await?;
            Ok(())
        }
    }
}

/// A drive with its commit, and a handler with one `run` of the same bytes, as medians in
/// microseconds, from the call to its answer.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display(
    "{bytes} bytes: a handler with one run {handler:.0} µs; a drive with its commit in memory \
     {memory:.0} µs, {in_memory:.2} times; on SQLite {sqlite:.0} µs, {on_sqlite:.2} times",
    in_memory = memory / handler,
    on_sqlite = sqlite / handler
)]
#[non_exhaustive]
pub struct DriveCost {
    /// The bytes of the words.
    pub bytes: usize,
    /// The handler.
    pub handler: f64,
    /// A drive of a thread of one step, in memory.
    pub memory: f64,
    /// The same in a file of SQLite, each write on the disk before it is acknowledged.
    pub sqlite: f64,
}

/// Calls the three in turn, one call after the other, `calls` times each.
pub async fn driven(server: &servers::Restate, bytes: usize, calls: u64) -> TrialResult<DriveCost> {
    let folder = tempfile::tempdir()?;
    let options = SqliteOptions::default().synchronous(Synchronous::Full);
    let file = SqliteLog::open_with(folder.path().join("threads.db"), options)?;
    let memory =
        DrivenThreads::new(server, "InMemory", Arc::new(MemoryLog::default()), bytes).await?;
    let sqlite = DrivenThreads::new(server, "OnSqlite", Arc::new(file), bytes).await?;

    let endpoint = Endpoint::builder().bind(plain::Plain { bytes }).build();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    // As the threads are served.
    SockRef::from(&listener).set_tcp_nodelay(true)?;
    let at = format!("http://{}", listener.local_addr()?);
    let stop = future::pending::<()>();
    let serving = HttpServer::new(endpoint).serve_with_cancel(listener, stop);
    let serving = Serving(tokio::spawn(serving));
    memory.engine.register(&server.admin(), &at).await?;

    let client = reqwest::Client::new();
    let call = async |path: String| -> TrialResult<Duration> {
        let url = format!("{}/{path}", server.server().url());
        let begin = Instant::now();
        let answer = client.post(url).json(&0).send().await?;
        let (status, took) = (answer.status(), begin.elapsed());
        if status.is_success() {
            return Ok(took);
        }
        Err(format!("{path}: {status} {}", answer.text().await?).into())
    };
    let (mut handler, mut in_memory, mut on_sqlite) = (vec![], vec![], vec![]);
    for nth in 0..calls {
        handler.push(call(format!("Plain/{nth}/write")).await?);
        for (driven, took) in [(&memory, &mut in_memory), (&sqlite, &mut on_sqlite)] {
            let thread = ThreadId::new(format!("thread-{nth}"))?;
            driven.runner.submit(&thread, ()).await?;
            took.push(call(format!("{}/{thread}/drive", driven.name)).await?);
            let status = driven.runner.status(&thread).await?;
            if !matches!(status, ThreadStatus::Idle) {
                return Err(format!("{thread} is {status:?} after its drive").into());
            }
        }
    }
    drop(serving);
    Ok(DriveCost {
        bytes,
        handler: median(handler),
        memory: median(in_memory),
        sqlite: median(on_sqlite),
    })
}

/// A task that ends with its owner.
struct Serving(tokio::task::JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Threads of one step that the engine drives.
struct DrivenThreads {
    name: &'static str,
    runner: Runner<Page>,
    engine: Restate,
    _serving: Serving,
}

impl DrivenThreads {
    async fn new<L: ThreadStore + 'static>(
        server: &servers::Restate,
        name: &'static str,
        log: Arc<L>,
        bytes: usize,
    ) -> TrialResult<Self> {
        // No sweep drives a thread before it is called.
        let options = RestateOptions::new(server.server().url()).service(name);
        let engine = Restate::new(options.sweep(Duration::from_hours(1)))?;
        let write =
            move |_: Context<Page>| async move { Ok::<_, BoxError>(WordsUpdate(words(bytes))) };
        let graph = Graph::<Page>::starting_at("write")
            .node("write", write)
            .edge("write", END)
            .build()?;
        let runner = Runner::new(graph, log);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let at = format!("http://{}", listener.local_addr()?);
        let (serving, agent) = (engine.clone(), Arc::new(runner.clone()) as Arc<dyn Drive>);
        let serving = tokio::spawn(async move {
            let until_dropped = serving.serve(listener, vec![agent], future::pending());
            until_dropped.await.expect("one agent is served");
        });
        let serving = Serving(serving);
        engine.register(&server.admin(), &at).await?;
        Ok(Self {
            name,
            runner,
            engine,
            _serving: serving,
        })
    }
}
