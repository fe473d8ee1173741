//! K35 for this agent: in spite of arbitrary requests and crashes no job is created without a
//! person's consent.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
mod common;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use common::{NOON, Stage};
use fugato::{BoxError, MemoryLog, axum::AgentRoutes, cron::Jobs};
use fugato_testkit::{
    consent::{ConsentRequest, ConsentResponse, ConsentSim, ConsentWorld},
    log::Failure,
};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use transparent::served::ServedTransparent;

/// The agent over a folder with the sample.
struct Home {
    stage: Mutex<Option<Stage>>,
    now: Arc<AtomicI64>,
    router: Mutex<Router>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Home {
    fn new() -> Self {
        Self {
            stage: Mutex::default(),
            now: Arc::new(AtomicI64::new(NOON)),
            router: Mutex::default(),
        }
    }

    fn jobs(&self) -> Option<Jobs> {
        Some(lock(&self.stage).as_ref()?.deps.jobs.clone())
    }
}

#[async_trait]
impl ConsentWorld for Home {
    async fn restart(&self) -> Result<(), BoxError> {
        // The lease of the dead process has expired.
        self.now.fetch_add(60_000, Ordering::SeqCst);
        let mut stage = lock(&self.stage);
        let next = if let Some(stage) = &*stage {
            stage.restarted()
        } else {
            let now = self.now.clone();
            let log = MemoryLog::with_clock(move || now.load(Ordering::SeqCst));
            Stage::on(Arc::new(log), None, |desk| desk)
        };
        let served = ServedTransparent::new(next.runner.clone(), None);
        *lock(&self.router) = AgentRoutes::new(served).router();
        *stage = Some(next);
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
        let Some(jobs) = self.jobs() else {
            return vec![];
        };
        let made = jobs.all().await.unwrap();
        let wishes = made.iter().map(|job| &job.wish);
        wishes
            .map(|wish| json!([wish.schedule, wish.task, wish.once]))
            .collect()
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

#[tokio::test]
async fn k35_no_job_is_made_without_a_consent() -> Result<(), Failure> {
    let home = || Ok::<_, Failure>(Home::new());
    let report = ConsentSim::new(home).steps(14).run().await?;
    assert!(2 * report.writes > report.cases, "{report}");
    assert!(3 * report.accepted > report.requests, "{report}");
    Ok(())
}
