//! K35 for this agent: in spite of arbitrary requests and crashes no job is created without a
//! person's consent.
use std::sync::Arc;

use crate::common::{Home, program};
use async_trait::async_trait;
use fugato::{
    BoxError,
    axum::{AgentRoutes, AllowAll},
    cron::Job,
    sqlite::SqliteLog,
};
use fugato_testkit::{
    TestProgram,
    consent::{ConsentWorld, ServedProgram, TestEndpoints, WorldStore},
};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use transparent::{open::jobs, served::ServedTransparent};

/// The agent over a folder with the sample.
struct ServedProcess(Home);

impl ServedProcess {
    #[expect(clippy::unnecessary_wraps, reason = "a world may have none")]
    fn new(store: Arc<WorldStore>) -> Result<Self, BoxError> {
        Ok(Self(Home::over(store, None, |desk| desk)))
    }
}

#[async_trait]
impl ConsentWorld for ServedProcess {
    async fn restart(&self) -> Result<TestEndpoints, BoxError> {
        self.0.reopen().await;
        let served = ServedTransparent::new(self.0.runner(), None);
        Ok(TestEndpoints::of(
            AgentRoutes::new(served).authenticate(AllowAll).router(),
        ))
    }

    async fn writes(&self) -> Vec<Value> {
        let jobs = self.0.deps.jobs.all().await.unwrap();
        jobs.iter().map(shown).collect()
    }

    fn content(&self, prompt: &Value) -> Option<Value> {
        let call = prompt.get("call")?;
        let arguments = &call["arguments"];
        let once = arguments["once"].as_bool().unwrap_or_default();
        let is_job = call["name"] == "create_cron_job";
        is_job.then(|| json!([arguments["schedule"], arguments["task"], once]))
    }

    fn requests(&self) -> Vec<String> {
        let requests = [
            "每天12:30提醒我喝水",
            "每天8:30提醒我喝茶",
            "每天9:30提醒我跑步",
        ];
        requests.map(str::to_owned).to_vec()
    }

    fn edits(&self) -> Vec<String> {
        vec!["每天7:30提醒我喝水".into(), "有哪些定时任务".into()]
    }
}

fn shown(job: &Job) -> Value {
    let wish = &job.wish;
    json!([wish.schedule, wish.task, wish.once])
}

fn written(program: &TestProgram) -> BoxFuture<'_, Vec<Value>> {
    let threads = program.path("transparent-data/threads.db");
    let jobs = jobs(Arc::new(SqliteLog::open(threads).unwrap().docs()));
    async move { jobs.all().await.unwrap().iter().map(shown).collect() }.boxed()
}

fn processes(store: Arc<WorldStore>) -> Result<ServedProgram<ServedProcess>, BoxError> {
    let program = (program(), &[][..]);
    let threads = "transparent-data/threads.db";
    Ok(ServedProgram::new(
        ServedProcess::new(store)?,
        program,
        threads,
        written,
    ))
}

fugato_testkit::consent_suite!(ServedProcess::new, served processes);
