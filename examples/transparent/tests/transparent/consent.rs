//! K35 for this agent: in spite of arbitrary requests and crashes no job is created without a
//! person's consent.
use std::{
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::common::Home;
use async_trait::async_trait;
use axum::Router;
use fugato::{
    BoxError,
    axum::{AgentRoutes, AllowAll},
    cron::Job,
    sqlite::{SqliteLog, SqliteOptions, Synchronous, rusqlite::Connection},
};
use fugato_testkit::{
    TestProgram,
    consent::{ConsentSim, ConsentWorld, ServedProgram, TestRequest, TestResponse, WorldStore},
    log::Failure,
};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use transparent::{open::jobs, served::ServedTransparent};

/// The agent over a folder with the sample.
struct ServedProcess {
    home: Home,
    router: Mutex<Router>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServedProcess {
    fn new(store: WorldStore) -> Self {
        Self {
            home: Home::over(store, None, |desk| desk),
            router: Mutex::default(),
        }
    }

    /// The same over a file.
    fn on_file() -> Result<Self, BoxError> {
        let store = WorldStore::in_file(|path, clock| {
            let options = SqliteOptions::default().clock(move || clock.now());
            SqliteLog::open_with(path, options.synchronous(Synchronous::Normal))
        });
        Ok(Self::new(store?))
    }
}

#[async_trait]
impl ConsentWorld for ServedProcess {
    async fn restart(&self) -> Result<(), BoxError> {
        self.home.reopen().await;
        let served = ServedTransparent::new(self.home.runner(), None);
        *lock(&self.router) = AgentRoutes::new(served).authenticate(AllowAll).router();
        Ok(())
    }

    async fn send(&self, _: &str, request: TestRequest) -> TestResponse {
        let router = lock(&self.router).clone();
        request.call(router).await
    }

    async fn writes(&self) -> Vec<Value> {
        let jobs = self.home.deps.jobs.all().await.unwrap();
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

    fn turn(&self) -> Duration {
        self.home.store().turn()
    }
}

fn shown(job: &Job) -> Value {
    let wish = &job.wish;
    json!([wish.schedule, wish.task, wish.once])
}

/// Lets the leases of the processes that died expire, as if ten seconds had passed.
fn expire(program: &TestProgram) -> BoxFuture<'_, Result<(), BoxError>> {
    let threads = program.path("transparent-data/threads.db");
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

fn written(program: &TestProgram) -> BoxFuture<'_, Vec<Value>> {
    let threads = program.path("transparent-data/threads.db");
    let jobs = jobs(Arc::new(SqliteLog::open(threads).unwrap().docs()));
    async move { jobs.all().await.unwrap().iter().map(shown).collect() }.boxed()
}

#[tokio::test]
async fn k35_no_job_is_made_without_a_consent() -> Result<(), Failure> {
    let home = || Ok::<_, Failure>(ServedProcess::new(WorldStore::in_memory()));
    let report = ConsentSim::new(home).steps(14).run().await?;
    report.assert_tried();
    Ok(())
}

#[tokio::test]
async fn k35_nor_over_a_file() -> Result<(), Failure> {
    let sim = ConsentSim::new(ServedProcess::on_file)
        .cases(50)
        .seed(20_000);
    let report = sim.steps(14).run().await?;
    report.assert_tried();
    Ok(())
}

#[tokio::test]
async fn k35_nor_by_two_servers_that_are_killed() -> Result<(), Failure> {
    let processes = || {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_transparent"));
        let like = ServedProcess::new(WorldStore::in_memory());
        Ok::<_, BoxError>(ServedProgram::new(like, (program, &[]), expire, written))
    };
    let report = ConsentSim::new(processes).cases(8).run().await?;
    report.assert_tried();
    Ok(())
}
