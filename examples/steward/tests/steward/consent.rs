//! K35 for this agent: whatever callers send, and whenever it dies, nothing is written to which
//! nobody has agreed.
use std::{
    collections::BTreeMap,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use axum::Router;
use fugato::{
    BoxError, RunnerOptions,
    axum::AgentRoutes,
    sqlite::{SqliteLog, SqliteOptions, Synchronous, rusqlite::Connection},
};
use fugato_testkit::{
    TestProgram,
    consent::{
        ConsentAnswer, ConsentSim, ConsentWords, ConsentWorld, ServedProgram, TestRequest,
        TestResponse, WorldStore,
    },
    log::Failure,
};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use steward::{
    deps::Deps,
    http,
    ledger::{self, Documents, Ledger, LedgerError, LedgerWrite, Receipt, WriteKind},
    served::ServedSteward,
    state::Runtime,
    steward_service::StewardService,
};

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
    store: WorldStore,
    router: Mutex<Router>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Employees {
    fn new(runtime: Runtime, store: WorldStore) -> Self {
        Self {
            runtime,
            books: Mutex::default(),
            store,
            router: Mutex::default(),
        }
    }

    /// The same over a file.
    fn on_file() -> Result<Self, BoxError> {
        let store = WorldStore::in_file(|path, clock| {
            let options = SqliteOptions::default().clock(move || clock.now());
            SqliteLog::open_with(path, options.synchronous(Synchronous::Normal))
        });
        Ok(Self::new(Runtime::Graph, store?))
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
        let (clock, log) = (self.store.clock().clone(), Arc::new(self.store.restart()?));
        let deps = Deps::new(&desk(), Arc::new(books), None);
        let deps = deps.clock(move || clock.now());
        let clerk = StewardService::new(&deps, &log, &RunnerOptions::default(), self.runtime)?;
        let routes = AgentRoutes::new(ServedSteward(clerk.clone())).authenticate(by_name);
        *lock(&self.router) = routes.beside(http::routes(clerk)).router();
        Ok(())
    }

    async fn send(&self, caller: &str, request: TestRequest) -> TestResponse {
        let router = lock(&self.router).clone();
        let request = request.header("x-who", format!("firm/{caller}"));
        request.call(router).await
    }

    async fn writes(&self) -> Vec<Value> {
        let books = lock(&self.books).clone();
        let Some(books) = books else { return vec![] };
        let written = lock(&books.written);
        written.values().map(shown).collect()
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

    fn turn(&self) -> Duration {
        self.store.turn()
    }

    fn separates_callers(&self) -> bool {
        true
    }

    fn own_words(&self, words: &ConsentWords) -> Vec<TestRequest> {
        let mut body = json!({ "conversation_id": words.thread, "message": words.text });
        for (name, value) in [("client_trace_id", &words.key), ("card", &words.card)] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        let plans = ["plans", "plans/stream", "runtime-decisions"];
        let plans = plans.map(|path| TestRequest::post(format!("/steward/{path}"), body.clone()));
        let mut own = plans.to_vec();
        // An action is no way to answer a card in words.
        if words.text.starts_with("申请") {
            own.push(action(words.thread.as_str()));
        }
        own
    }

    fn own_answers(&self, answer: &ConsentAnswer) -> Vec<TestRequest> {
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

/// The action and the arguments of a write, as its card shows them.
fn shown(write: &LedgerWrite) -> Value {
    let action = match write.deed {
        WriteKind::Submit => "submit_application",
        WriteKind::Draft => "save_application_draft",
        WriteKind::Claim => "create_reimbursement_draft",
        WriteKind::Link => "link_existing_application",
        _ => "associate_attachments",
    };
    json!([action, write.fields])
}

/// A page's own button, which keeps a draft.
fn action(thread: &str) -> TestRequest {
    let body = json!({
        "conversation_id": thread, "client_trace_id": "draft-1",
        "action": "save_application_draft", "arguments": trip(),
    });
    TestRequest::post("/steward/actions/execute", body)
}

/// Lets the leases of the processes that died expire, as if ten seconds had passed.
fn expire(program: &TestProgram) -> BoxFuture<'_, Result<(), BoxError>> {
    let threads = program.path("steward-data/threads.db");
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
    let opened = Connection::open(program.path("steward-data/steward.db")).unwrap();
    opened.busy_timeout(Duration::from_secs(5)).unwrap();
    let mut select = opened.prepare("SELECT content FROM deeds").unwrap();
    let rows = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let written = rows.map(|row| serde_json::from_str(&row.unwrap()).unwrap());
    ready(written.map(|write| shown(&write)).collect()).boxed()
}

#[tokio::test]
async fn k35_no_document_is_written_without_a_consent() -> Result<(), Failure> {
    let office = || Ok::<_, Failure>(Employees::new(Runtime::Graph, WorldStore::in_memory()));
    let report = ConsentSim::new(office).steps(14).run().await?;
    report.assert_tried();
    Ok(())
}

#[tokio::test]
async fn k35_nor_on_the_legacy_path() -> Result<(), Failure> {
    let office = || Ok::<_, Failure>(Employees::new(Runtime::Legacy, WorldStore::in_memory()));
    let report = ConsentSim::new(office).cases(25).steps(14).seed(10_000);
    let report = report.run().await?;
    assert!(2 * report.writes > report.cases, "{report}");
    Ok(())
}

#[tokio::test]
async fn k35_nor_over_a_file() -> Result<(), Failure> {
    let sim = ConsentSim::new(Employees::on_file).cases(50).seed(20_000);
    let report = sim.steps(14).run().await?;
    report.assert_tried();
    Ok(())
}

#[tokio::test]
async fn k35_nor_by_two_servers_that_are_killed() -> Result<(), Failure> {
    let processes = || {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
        let like = Employees::new(Runtime::Graph, WorldStore::in_memory());
        Ok::<_, BoxError>(ServedProgram::new(like, (program, &[]), expire, written))
    };
    let report = ConsentSim::new(processes).cases(8).run().await?;
    report.assert_tried();
    Ok(())
}
