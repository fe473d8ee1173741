//! K35 for this agent: whatever callers send, and whenever it dies, no file is written to which
//! nobody has agreed.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use fugato::{
    BoxError, MemoryLog, Runner,
    agent::{React, ReactUpdate},
    axum::AgentRoutes,
    file::WriteFileArgs,
    tool::{EffectClass, Registry, ToolContext, ToolFailure, ToolOutput, ToolSpec, async_tool_fn},
};
use fugato_testkit::{
    consent::{ConsentRequest, ConsentResponse, ConsentSim, ConsentWorld},
    log::Failure,
};
use futures::FutureExt as _;
use react::{ReactAgent, agent::graph, tools::Tools};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// The agent over a folder in memory, which counts what is written.
struct Folder {
    written: Arc<Mutex<BTreeMap<String, Value>>>,
    notes: tempfile::TempDir,
    log: Arc<MemoryLog>,
    now: Arc<AtomicI64>,
    router: Mutex<Router>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Folder {
    fn new() -> Result<Self, BoxError> {
        let now = Arc::new(AtomicI64::new(1_800_000_000_000));
        let clock = now.clone();
        Ok(Self {
            written: Arc::default(),
            notes: tempfile::tempdir()?,
            log: Arc::new(MemoryLog::with_clock(move || clock.load(Ordering::SeqCst))),
            now,
            router: Mutex::default(),
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
        // The lease of the process that died is over.
        self.now.fetch_add(60_000, Ordering::SeqCst);
        let memory = Arc::new(Tools::new(self.notes.path()).notebook);
        let graph = graph(None, self.registry()?, memory, 8)?;
        let companion = ReactAgent::new(Runner::new(graph, self.log.clone()));
        *lock(&self.router) = AgentRoutes::new(companion).router();
        Ok(())
    }

    async fn send(&self, _: &str, request: ConsentRequest) -> ConsentResponse {
        let router = lock(&self.router).clone();
        let built = Request::builder().method(request.method).uri(&request.path);
        let headers = request.headers.iter();
        let built = headers.fold(built, |built, (name, value)| built.header(*name, value));
        let built = built.header("content-type", "application/json");
        let body = Body::from(request.body.to_string());
        let response = router.oneshot(built.body(body).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        ConsentResponse {
            status,
            body: String::from_utf8_lossy(&bytes).into_owned(),
        }
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
        vec![
            "write c.md: beer".into(),
            "Remember that I drink tea".into(),
        ]
    }
}

#[tokio::test]
async fn k35_no_file_is_written_without_a_consent() -> Result<(), Failure> {
    let report = ConsentSim::new(Folder::new).steps(14).run().await?;
    assert!(2 * report.writes > report.cases, "{report}");
    assert!(3 * report.accepted > report.requests, "{report}");
    Ok(())
}
