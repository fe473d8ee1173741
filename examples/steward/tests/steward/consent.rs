//! K35 for this agent: whatever callers send, and whenever it dies, nothing is written to which
//! nobody has agreed.
use std::{future::ready, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato::{
    BoxError, RunnerOptions, axum::AgentRoutes, sqlite::rusqlite::Connection, state::ThreadId,
};
use fugato_testkit::{
    TestProgram,
    consent::{
        ConsentAnswer, ConsentSim, ConsentWords, ConsentWorld, KeyedWrites, ServedProgram,
        TestEndpoints, TestRequest, WorldStore,
    },
    log::Failure,
};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use steward::{
    deps::Deps,
    files::FileStore,
    http,
    ledger::{self, Documents, Ledger, LedgerError, LedgerWrite, Receipt, WriteKind},
    served::ServedSteward,
    state::Runtime,
    steward_service::StewardService,
};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::{
    common::{CLAIM, TRIP, content, desk, trip},
    http::by_name,
};

/// The tables, and what was written under which key.
#[derive(Clone)]
struct Books {
    tables: Arc<dyn Ledger>,
    written: KeyedWrites,
}

#[async_trait]
impl Ledger for Books {
    async fn documents(&self, employee: &str) -> Result<Documents, LedgerError> {
        self.tables.documents(employee).await
    }

    async fn write(&self, key: &str, write: &LedgerWrite) -> Result<Receipt, LedgerError> {
        // Whether it is refused or not: nobody has agreed that it is tried.
        self.written.note(key, shown(write));
        self.tables.write(key, write).await
    }
}

/// The agent for two employees of a firm.
struct Employees {
    runtime: Runtime,
    books: OnceCell<Books>,
    store: Arc<WorldStore>,
    files: TempDir,
}

impl Employees {
    fn new(runtime: Runtime, store: Arc<WorldStore>) -> Self {
        Self {
            runtime,
            books: OnceCell::new(),
            store,
            files: fugato_testkit::tempdir().expect("a folder can be made"),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "a world may have none")]
    fn graph(store: Arc<WorldStore>) -> Result<Self, BoxError> {
        Ok(Self::new(Runtime::Graph, store))
    }

    async fn books(&self) -> Result<&Books, BoxError> {
        let open = async || {
            let (tables, written) = (ledger::open(":memory:").await?, KeyedWrites::default());
            Ok(Books { tables, written })
        };
        self.books.get_or_try_init(open).await
    }
}

#[async_trait]
impl ConsentWorld for Employees {
    async fn restart(&self) -> Result<TestEndpoints, BoxError> {
        let books = Arc::new(self.books().await?.clone());
        let (clock, log) = (self.store.clock().clone(), Arc::new(self.store.restart()?));
        let files = uploaded(self.files.path(), "firm/", &["firm/ann", "firm/bob"]).await?;
        let deps = Deps::new(&desk(), books, None).clock(move || clock.now());
        let deps = deps.files(files);
        let clerk = StewardService::new(&deps, &log, &RunnerOptions::default(), self.runtime)?;
        let routes = AgentRoutes::new(ServedSteward::new(clerk.clone())).authenticate(by_name);
        Ok(TestEndpoints::of(
            routes.beside(http::routes(clerk)).router(),
        ))
    }

    async fn signed(&self, caller: &str, request: TestRequest) -> TestRequest {
        request.header("x-who", format!("firm/{caller}"))
    }

    async fn writes(&self) -> Vec<Value> {
        self.books
            .get()
            .map_or(vec![], |books| books.written.contents())
    }

    fn content(&self, prompt: &Value) -> Option<Value> {
        let call = prompt.get("call")?;
        Some(json!([call["name"], call["arguments"]]))
    }

    fn requests(&self) -> Vec<String> {
        let other = "申请出差：3月9日到3月10日去北京开会，坐飞机，预算2300元";
        let draft = "存草稿：3月16日到3月17日去杭州开会，坐火车，预算900元";
        let dinner = "报销餐费120元，日期2月18日，附件小票.pdf";
        vec![
            TRIP.to_owned(),
            other.to_owned(),
            draft.to_owned(),
            CLAIM.to_owned(),
            dinner.to_owned(),
            format!("{other}。{dinner}"),
            format!("{TRIP}。{CLAIM}"),
            format!("{TRIP}。另外{other}"),
        ]
    }

    fn edits(&self) -> Vec<String> {
        let edits = ["预算1500元", "改成坐飞机", "金额99元", "取消"];
        edits.map(str::to_owned).to_vec()
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

/// Returns the files of a folder to which the employees have uploaded theirs, in each of the threads
/// of the suite.
async fn uploaded(folder: &Path, tenant: &str, owners: &[&str]) -> Result<FileStore, BoxError> {
    let store = FileStore::at(folder);
    for thread in ["t1", "t2"] {
        let thread = ThreadId::new(format!("{tenant}{thread}"))?;
        for (owner, name) in owners.iter().flat_map(|it| FILES.map(|name| (it, name))) {
            store.upload(&thread, owner, name, content(name)).await?;
        }
    }
    Ok(store)
}

/// The files of the claims.
const FILES: [&str; 2] = ["发票.pdf", "小票.pdf"];

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

fn written(program: &TestProgram) -> BoxFuture<'_, Vec<Value>> {
    let opened = Connection::open(program.path("steward-data/steward.db")).unwrap();
    opened.busy_timeout(Duration::from_secs(5)).unwrap();
    let mut select = opened.prepare("SELECT content FROM deeds").unwrap();
    let rows = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let written = rows.map(|row| serde_json::from_str(&row.unwrap()).unwrap());
    ready(written.map(|write| shown(&write)).collect()).boxed()
}

fn processes(store: Arc<WorldStore>) -> Result<ServedProgram<Employees>, BoxError> {
    let program = (TestProgram::new(env!("CARGO_BIN_EXE_steward")), &[][..]);
    let threads = "steward-data/threads.db";
    let like = Employees::graph(store)?;
    let served = ServedProgram::new(like, program, threads, written);
    Ok(served.prepared_by(|program| {
        let folder = program.path("steward-data/attachments");
        async move { uploaded(&folder, "", &["me"]).await.map(drop) }.boxed()
    }))
}

fugato_testkit::consent_suite!(Employees::graph, served processes);

#[tokio::test]
async fn k35_nor_on_the_legacy_path() -> Result<(), Failure> {
    let office = |store| Ok::<_, BoxError>(Employees::new(Runtime::Legacy, store));
    let report = ConsentSim::new(office).cases(50).steps(24).seed(10_000);
    let report = report.run().await?;
    assert!(3 * report.writes > report.cases, "{report}");
    Ok(())
}
