//! K35 for this agent: whatever callers send, and whenever it dies, no file is written to which
//! nobody has agreed.
use std::{
    collections::BTreeMap,
    fs,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use axum::Router;
use fugato::{
    BoxError, Runner,
    agent::{React, ReactUpdate},
    axum::{AgentRoutes, AllowAll},
    file::WriteFileArgs,
    sqlite::{SqliteLog, SqliteOptions, Synchronous, rusqlite::Connection},
    tool::{EffectClass, Registry, ToolContext, ToolFailure, ToolOutput, ToolSpec, async_tool_fn},
};
use fugato_testkit::{
    TestProgram,
    consent::{ConsentSim, ConsentWorld, ServedProgram, TestRequest, TestResponse, WorldStore},
    log::Failure,
};
use futures::{FutureExt as _, future::BoxFuture};
use react::{ReactAgent, agent::graph, tools::ToolEnvironment};
use serde_json::{Value, json};

/// The agent over a folder in memory, which counts what is written.
struct Folder {
    written: Arc<Mutex<BTreeMap<String, Value>>>,
    notes: tempfile::TempDir,
    store: WorldStore,
    router: Mutex<Router>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Folder {
    fn new(store: WorldStore) -> Result<Self, BoxError> {
        Ok(Self {
            written: Arc::default(),
            notes: tempfile::tempdir()?,
            store,
            router: Mutex::default(),
        })
    }

    /// The same over a file.
    fn on_file() -> Result<Self, BoxError> {
        Self::new(WorldStore::in_file(|path, clock| {
            let options = SqliteOptions::default().clock(move || clock.now());
            SqliteLog::open_with(path, options.synchronous(Synchronous::Normal))
        })?)
    }

    fn registry(&self) -> Result<Registry<React, ReactUpdate>, BoxError> {
        let written = self.written.clone();
        let spec = ToolSpec::write("write_file", "Writes a text file.").effect(EffectClass::Keyed);
        let tool = async_tool_fn(
            spec,
            move |cx: ToolContext<'_, React>, file: WriteFileArgs| {
                let (written, key) = (written.clone(), cx.key().map(str::to_owned));
                async move {
                    let key = key.ok_or_else(|| ToolFailure::failed("there is no key"))?;
                    tokio::task::yield_now().await;
                    lock(&written).insert(key, json!(["write_file", file]));
                    tokio::task::yield_now().await;
                    Ok::<_, ToolFailure>(ToolOutput::<ReactUpdate>::new("it is written"))
                }
                .boxed()
            },
        );
        Ok(Registry::builder().tool(tool).build()?)
    }
}

#[async_trait]
impl ConsentWorld for Folder {
    async fn restart(&self) -> Result<(), BoxError> {
        let memory = Arc::new(ToolEnvironment::new(self.notes.path()).notebook);
        let graph = graph(None, self.registry()?, memory, 8)?;
        let companion = ReactAgent::new(Runner::new(graph, Arc::new(self.store.restart()?)));
        *lock(&self.router) = AgentRoutes::new(companion).authenticate(AllowAll).router();
        Ok(())
    }

    async fn send(&self, _: &str, request: TestRequest) -> TestResponse {
        let router = lock(&self.router).clone();
        request.call(router).await
    }

    async fn writes(&self) -> Vec<Value> {
        lock(&self.written).values().cloned().collect()
    }

    fn content(&self, prompt: &Value) -> Option<Value> {
        let call = prompt.get("call")?;
        Some(json!([call["name"], call["arguments"]]))
    }

    fn requests(&self) -> Vec<String> {
        let requests = ["write a.md: tea", "write a.md: milk", "写入 b.md：茶"];
        requests.map(str::to_owned).to_vec()
    }

    fn edits(&self) -> Vec<String> {
        let edits = ["write c.md: beer", "Remember that I drink tea"];
        edits.map(str::to_owned).to_vec()
    }

    fn turn(&self) -> Duration {
        self.store.turn()
    }
}

/// Lets the leases of the processes that died expire, as if ten seconds had passed.
fn expire(program: &TestProgram) -> BoxFuture<'_, Result<(), BoxError>> {
    let threads = program.path("react-data/threads.db");
    let expired = || -> Result<(), BoxError> {
        if threads.exists() {
            let opened = Connection::open(threads)?;
            opened.busy_timeout(Duration::from_secs(5))?;
            opened.execute("UPDATE thread SET lease_until = 0", [])?;
        }
        Ok(())
    };
    ready(expired()).boxed()
}

/// The files as they are now: of two writes to one file the newer.
fn written(program: &TestProgram) -> BoxFuture<'_, Vec<Value>> {
    let files = fs::read_dir(program.path("react-data/files"));
    let files = files.into_iter().flatten().flatten();
    let written = files.map(|file| {
        let text = fs::read_to_string(file.path()).unwrap();
        let path = file.file_name().into_string().unwrap();
        json!(["write_file", { "path": path, "text": text }])
    });
    ready(written.collect()).boxed()
}

#[tokio::test]
async fn k35_no_file_is_written_without_a_consent() -> Result<(), Failure> {
    let folder = || Folder::new(WorldStore::in_memory());
    let report = ConsentSim::new(folder).steps(14).run().await?;
    report.assert_tried();
    Ok(())
}

#[tokio::test]
async fn k35_nor_over_a_file() -> Result<(), Failure> {
    let sim = ConsentSim::new(Folder::on_file).cases(50).seed(20_000);
    let report = sim.steps(14).run().await?;
    report.assert_tried();
    Ok(())
}

#[tokio::test]
async fn k35_nor_by_two_servers_that_are_killed() -> Result<(), Failure> {
    let processes = || {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_react"));
        let like = Folder::new(WorldStore::in_memory())?;
        Ok::<_, BoxError>(ServedProgram::new(like, (program, &[]), expire, written))
    };
    let report = ConsentSim::new(processes).cases(8).run().await?;
    report.assert_tried();
    Ok(())
}
