//! K35 for this agent: whatever callers send, and whenever it dies, nothing is written to which
//! nobody has agreed.
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
use fugato::{BoxError, RunnerOptions, axum::AgentRoutes, store::MemoryLog};
use fugato_testkit::{
    consent::{
        ConsentAnswer, ConsentRequest, ConsentResponse, ConsentSim, ConsentWords, ConsentWorld,
    },
    log::Failure,
};
use serde_json::{Value, json};
use steward::{
    deps::Deps,
    http,
    ledger::{self, Documents, Ledger, LedgerError, LedgerWrite, Receipt, WriteKind},
    served::ServedSteward,
    state::Runtime,
    steward_service::StewardService,
};
use tower::ServiceExt as _;

use crate::{
    common::{CLAIM, TRIP, desk, trip},
    http::by_name,
};

/// The tables, and what was written under which key.
#[derive(Clone)]
struct Books {
    tables: Arc<dyn Ledger>,
    written: Arc<Mutex<BTreeMap<String, LedgerWrite>>>,
}

#[async_trait]
impl Ledger for Books {
    async fn documents(&self, employee: &str) -> Result<Documents, LedgerError> {
        self.tables.documents(employee).await
    }

    async fn write(&self, key: &str, write: &LedgerWrite) -> Result<Receipt, LedgerError> {
        // Whether it is refused or not: nobody has agreed that it is tried.
        lock(&self.written).insert(key.to_owned(), write.clone());
        self.tables.write(key, write).await
    }
}

/// The agent for two employees of a firm.
struct Employees {
    runtime: Runtime,
    books: Mutex<Option<Books>>,
    log: Arc<MemoryLog>,
    now: Arc<AtomicI64>,
    router: Mutex<Router>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Employees {
    fn new(runtime: Runtime) -> Self {
        let now = Arc::new(AtomicI64::new(1_772_000_000_000));
        let clock = now.clone();
        Self {
            runtime,
            books: Mutex::default(),
            log: Arc::new(MemoryLog::with_clock(move || clock.load(Ordering::SeqCst))),
            now,
            router: Mutex::default(),
        }
    }
}

#[async_trait]
impl ConsentWorld for Employees {
    async fn restart(&self) -> Result<(), BoxError> {
        let known = lock(&self.books).clone();
        let books = match known {
            Some(books) => books,
            None => Books {
                tables: ledger::open(":memory:").await?,
                written: Arc::default(),
            },
        };
        *lock(&self.books) = Some(books.clone());
        // The lease of the process that died is over.
        self.now.fetch_add(60_000, Ordering::SeqCst);
        let clock = self.now.clone();
        let deps = Deps::new(&desk(), Arc::new(books), None);
        let deps = deps.clock(move || clock.load(Ordering::SeqCst));
        let clerk = StewardService::new(&deps, &self.log, &RunnerOptions::default(), self.runtime)?;
        let routes = AgentRoutes::new(ServedSteward(clerk.clone())).authenticate(by_name);
        *lock(&self.router) = routes.beside(http::routes(clerk)).router();
        Ok(())
    }

    async fn send(&self, caller: &str, request: ConsentRequest) -> ConsentResponse {
        let router = lock(&self.router).clone();
        let built = Request::builder().method(request.method).uri(&request.path);
        let headers = request.headers.iter();
        let built = headers.fold(built, |built, (name, value)| built.header(*name, value));
        let built = built.header("content-type", "application/json");
        let built = built.header("x-who", format!("firm/{caller}"));
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
        let books = lock(&self.books).clone();
        let Some(books) = books else { return vec![] };
        let written = lock(&books.written);
        let shown = written.values().map(|write| {
            let action = match write.deed {
                WriteKind::Submit => "submit_application",
                WriteKind::Draft => "save_application_draft",
                WriteKind::Claim => "create_reimbursement_draft",
                WriteKind::Link => "link_existing_application",
                _ => "associate_attachments",
            };
            json!([action, write.fields])
        });
        shown.collect()
    }

    fn content(&self, prompt: &Value) -> Option<Value> {
        let call = prompt.get("call")?;
        Some(json!([call["name"], call["arguments"]]))
    }

    fn requests(&self) -> Vec<String> {
        let other = "申请出差：3月9日到3月10日去北京开会，坐飞机，预算2300元";
        let dinner = "报销餐费120元，日期2月18日，附件小票.pdf";
        vec![
            TRIP.to_owned(),
            other.to_owned(),
            CLAIM.to_owned(),
            dinner.to_owned(),
            format!("{other}。{dinner}"),
            format!("{TRIP}。{CLAIM}"),
        ]
    }

    fn edits(&self) -> Vec<String> {
        let edits = ["预算1500元", "改成坐飞机", "金额99元", "取消"];
        edits.map(str::to_owned).to_vec()
    }

    fn separates_callers(&self) -> bool {
        true
    }

    fn own_words(&self, words: &ConsentWords) -> Vec<ConsentRequest> {
        let mut body = json!({ "conversation_id": words.thread, "message": words.text });
        for (name, value) in [("client_trace_id", &words.key), ("card", &words.card)] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        let plans = ["plans", "plans/stream", "runtime-decisions"];
        let plans =
            plans.map(|path| ConsentRequest::post(format!("/steward/{path}"), body.clone()));
        let mut own = plans.to_vec();
        // An action is no way to answer a card in words.
        if words.text.starts_with("申请") {
            own.push(action(words.thread.as_str()));
        }
        own
    }

    fn own_answers(&self, answer: &ConsentAnswer) -> Vec<ConsentRequest> {
        let mut request = action(&answer.thread);
        let Some(digest) = &answer.digest else {
            return vec![];
        };
        request.body["confirmation"] = json!({
            "interrupt_id": answer.id, "digest": digest, "approved": answer.agrees,
        });
        vec![request]
    }
}

/// A page's own button, which keeps a draft.
fn action(thread: &str) -> ConsentRequest {
    let body = json!({
        "conversation_id": thread, "client_trace_id": "draft-1",
        "action": "save_application_draft", "arguments": trip(),
    });
    ConsentRequest::post("/steward/actions/execute", body)
}

#[tokio::test]
async fn k35_no_document_is_written_without_a_consent() -> Result<(), Failure> {
    let office = || Ok::<_, Failure>(Employees::new(Runtime::Graph));
    let report = ConsentSim::new(office).steps(14).run().await?;
    assert!(2 * report.writes > report.cases, "{report}");
    assert!(3 * report.accepted > report.requests, "{report}");
    Ok(())
}

#[tokio::test]
async fn k35_nor_on_the_legacy_path() -> Result<(), Failure> {
    let office = || Ok::<_, Failure>(Employees::new(Runtime::Legacy));
    let report = ConsentSim::new(office).cases(25).steps(14).seed(10_000);
    let report = report.run().await?;
    assert!(2 * report.writes > report.cases, "{report}");
    Ok(())
}
