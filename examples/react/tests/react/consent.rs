//! K35 for this agent: whatever callers send, and whenever it dies, no file is written to which
//! nobody has agreed.
use std::{fs, future::ready, sync::Arc};

use async_trait::async_trait;
use fugato::{
    BoxError, Runner,
    agent::{React, ReactUpdate},
    axum::{AgentRoutes, AllowAll},
    file::WriteFileArgs,
    tool::{EffectClass, Registry, ToolContext, ToolFailure, ToolOutput, ToolSpec, async_tool_fn},
};
use fugato_testkit::{
    TestProgram,
    consent::{ConsentWorld, KeyedWrites, ServedProgram, TestEndpoints, WorldStore},
};
use futures::{FutureExt as _, future::BoxFuture};
use react::{ReactAgent, agent::graph, tools::ToolEnvironment};
use serde_json::{Value, json};

/// The agent over a folder in memory, which counts what is written.
struct Folder {
    written: KeyedWrites,
    notes: tempfile::TempDir,
    store: Arc<WorldStore>,
}

impl Folder {
    fn new(store: Arc<WorldStore>) -> Result<Self, BoxError> {
        Ok(Self {
            written: KeyedWrites::default(),
            notes: fugato_testkit::tempdir()?,
            store,
        })
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
                    written.note(key, json!(["write_file", file]));
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
    async fn restart(&self) -> Result<TestEndpoints, BoxError> {
        let memory = Arc::new(ToolEnvironment::new(self.notes.path()).notebook);
        let graph = graph(None, self.registry()?, memory, 8)?;
        let companion = ReactAgent::new(Runner::new(graph, Arc::new(self.store.restart()?)));
        Ok(TestEndpoints::of(
            AgentRoutes::new(companion).authenticate(AllowAll).router(),
        ))
    }

    async fn writes(&self) -> Vec<Value> {
        self.written.contents()
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

fn processes(store: Arc<WorldStore>) -> Result<ServedProgram<Folder>, BoxError> {
    let program = (TestProgram::new(env!("CARGO_BIN_EXE_react")), &[][..]);
    let threads = "react-data/threads.db";
    Ok(ServedProgram::new(
        Folder::new(store)?,
        program,
        threads,
        written,
    ))
}

fugato_testkit::consent_suite!(Folder::new, served processes);
