//! A stage: the steward over tables in memory, with a clock that only tests move.
use std::{
    ops::Deref,
    sync::{
        Arc, LazyLock, Mutex, OnceLock, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use async_trait::async_trait;
use fugato::{
    BoxError, RunnerOptions,
    form::Fields,
    llm::ChatModel,
    state::{Interrupt, ThreadId, ToolCall},
    store::MemoryLog,
};
use fugato_testkit::{
    Scripted, ScriptedReply as Said, consent::WorldStore, log::TestClock, session::Session,
};
use serde_json::{Value, json};
use steward::{
    CardReply,
    deps::{ConsentPolicy, Deps},
    files::FileStore,
    ledger::{self, Documents, Ledger, LedgerError, LedgerWrite, Receipt},
    response::Response,
    service::RuleData,
    state::{Request, RequestKind, Runtime, Steward, Update},
    steward_service::{ClerkError, Confirmation, StewardService},
};
use tempfile::TempDir;
use tokio::sync::Notify;

pub(crate) type TestResult = Result<(), BoxError>;

/// A Wednesday.
pub(crate) const TODAY: &str = "2026-02-25";
/// A trip with everything that is required.
pub(crate) const TRIP: &str = "申请出差：3月2日到3月5日去上海拜访客户，坐火车，预算1200元";
/// A claim with everything that is required.
pub(crate) const CLAIM: &str = "报销打车费86.5元，日期2月20日，附件发票.pdf";

/// The steward as one process opens it, in a conversation with `ann`.
pub(crate) struct StewardFixture {
    pub(crate) clerk: StewardService,
    pub(crate) store: Arc<MemoryLog>,
    pub(crate) books: Books,
    pub(crate) now: TestClock,
    pub(crate) model: Option<Arc<dyn ChatModel>>,
    pub(crate) files: Files,
    session: Session<Steward>,
}

impl Deref for StewardFixture {
    type Target = Session<Steward>;

    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

/// The uploaded files, in a folder that goes with the last stage.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) folder: Arc<TempDir>,
    pub(crate) store: FileStore,
}

/// The files of the employees of these tests.
const FILES: [&str; 7] = [
    "发票.pdf",
    "receipt.pdf",
    "行程单.pdf",
    "小票.pdf",
    "b.pdf",
    "c.pdf",
    "r2.pdf",
];

/// Returns a small content that is what a name says.
pub(crate) fn content(name: &str) -> Vec<u8> {
    let head: &[u8] = match name.rsplit_once('.') {
        Some((_, "png")) => b"\x89PNG\r\n\x1a\n",
        _ => b"%PDF-1.4\n",
    };
    [head, name.as_bytes()].concat()
}

/// The tables, with every write that was tried and its key. Answers can be lost on the way.
#[derive(Clone)]
pub(crate) struct Books {
    pub(crate) tables: Arc<dyn Ledger>,
    pub(crate) tried: Arc<Mutex<Vec<(String, LedgerWrite, i64)>>>,
    /// The writes whose receipt arrived, each with its document.
    pub(crate) told: Arc<Mutex<Vec<(LedgerWrite, String)>>>,
    pub(crate) lose: Arc<AtomicI64>,
    pub(crate) panics: Arc<AtomicI64>,
    /// The number of steps until the process dies; 0 if it does not.
    pub(crate) dies: Arc<AtomicI64>,
    pub(crate) died: Arc<Notify>,
    /// The number of look-ups that never return.
    pub(crate) hangs: Arc<AtomicI64>,
    pub(crate) now: TestClock,
}

#[async_trait]
impl Ledger for Books {
    async fn documents(&self, employee: &str) -> Result<Documents, LedgerError> {
        assert!(!takes(&self.panics), "the program is wrong here");
        if takes(&self.hangs) {
            std::future::pending::<()>().await;
        }
        self.step().await;
        let documents = self.tables.documents(employee).await;
        self.step().await;
        documents
    }

    async fn write(&self, key: &str, write: &LedgerWrite) -> Result<Receipt, LedgerError> {
        let this = (key.to_owned(), write.clone(), self.now.now());
        self.tried
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(this);
        self.step().await;
        let receipt = self.tables.write(key, write).await?;
        self.step().await;
        if takes(&self.lose) {
            return Err(LedgerError::Unavailable("the answer was lost".into()));
        }
        if let Receipt::Written { document } = &receipt {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.push((write.clone(), document.clone()));
        }
        Ok(receipt)
    }
}

impl Books {
    /// A point at which the process may die: nothing after it happens.
    async fn step(&self) {
        if count_down(&self.dies) == Ok(1) {
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

fn takes(left: &AtomicI64) -> bool {
    count_down(left).is_ok()
}

fn count_down(left: &AtomicI64) -> Result<i64, i64> {
    let step = |left| (left > 0).then(|| left - 1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step)
}

/// Returns a request in words, on a day that never changes.
pub(crate) fn asked(kind: RequestKind, message: &str) -> Request {
    Request::new(kind, "c1", "ann").on(TODAY).message(message)
}

/// Returns the request of an action, as a page sends it.
pub(crate) fn wants(trace: &str, action: &str, arguments: &Value) -> Request {
    let kind = RequestKind::Execute {
        action: action.to_owned(),
        arguments: fields(arguments),
        precheck_ref: None,
    };
    asked(kind, "").trace(trace)
}

pub(crate) fn thread() -> ThreadId {
    ThreadId::new("c1").unwrap()
}

/// Returns a model's answer as a call of the function.
pub(crate) fn call(name: &str, arguments: Value) -> Said {
    Said::tool_calls([ToolCall::new("f1", name, arguments)])
}

impl StewardFixture {
    pub(crate) async fn new() -> Self {
        Self::with(None::<Scripted>, Runtime::Graph).await
    }

    pub(crate) async fn with(model: Option<impl ChatModel + 'static>, runtime: Runtime) -> Self {
        let books = Books {
            tables: ledger::open(":memory:").await.unwrap(),
            tried: Arc::default(),
            told: Arc::default(),
            lose: Arc::default(),
            panics: Arc::default(),
            dies: Arc::default(),
            died: Arc::default(),
            hangs: Arc::default(),
            now: TestClock::at(1_772_000_000_000),
        };
        let model = model.map(|model| Arc::new(model) as Arc<dyn ChatModel>);
        let now = books.now.clone();
        let log = MemoryLog::with_clock(move || now.now());
        let folder = Arc::new(fugato_testkit::tempdir().unwrap());
        let files = Files {
            store: FileStore::at(folder.path()),
            folder,
        };
        Self::over(books, Arc::new(log), model, runtime, files)
    }

    /// Uploads a real file to the conversation.
    pub(crate) async fn upload(&self, name: &str) {
        let (thread, store) = (thread(), &self.files.store);
        let kept = store.upload(&thread, "ann", name, content(name));
        kept.await.unwrap();
    }

    /// Uploads the files that a request names.
    async fn uploads(&self, request: &Request) {
        let told = serde_json::to_string(request).unwrap();
        for name in FILES {
            if told.contains(name) {
                self.upload(name).await;
            }
        }
    }

    pub(crate) async fn legacy() -> Self {
        Self::with(None::<Scripted>, Runtime::Legacy).await
    }

    pub(crate) async fn modelled(model: impl ChatModel + 'static) -> Self {
        Self::with(Some(model), Runtime::Graph).await
    }

    fn over(
        books: Books,
        store: Arc<MemoryLog>,
        model: Option<Arc<dyn ChatModel>>,
        runtime: Runtime,
        files: Files,
    ) -> Self {
        let now = books.now.clone();
        let clock = now.clone();
        let deps = Deps::new(&desk(), Arc::new(books.clone()), model.clone());
        let deps = deps
            .clock(move || clock.now())
            .files(files.store.clone())
            .policy(ConsentPolicy::default());
        let opened = Arc::new(OnceLock::new());
        let first = opened.clone();
        let open = move |log| {
            let clerk = StewardService::new(&deps, &log, &RunnerOptions::default(), runtime);
            let clerk = first.get_or_init(|| clerk.unwrap());
            clerk.runner().clone()
        };
        let words = |text: &str| requested(asked(RequestKind::Chat, text));
        let world = WorldStore::of(store.clone(), now.clone());
        let session = Session::new(open, words).thread_named("c1").over(world);
        session.runner();
        Self {
            clerk: opened.get().expect("it is open").clone(),
            store,
            books,
            now,
            model,
            files,
            session,
        }
    }

    /// Returns the same of another process over the same tables and log.
    pub(crate) fn reloaded(&self) -> Self {
        let (books, store) = (self.books.clone(), self.store.clone());
        let runtime = self.clerk.runtime();
        Self::over(
            books,
            store,
            self.model.clone(),
            runtime,
            self.files.clone(),
        )
    }

    pub(crate) async fn chat(&self, message: &str) -> Value {
        let request = asked(RequestKind::Chat, message).under(self.shown().await);
        self.ask(request).await.unwrap()
    }

    pub(crate) async fn plan(&self, message: &str) -> Value {
        let request = asked(RequestKind::Plan, message).under(self.shown().await);
        self.ask(request).await.unwrap()
    }

    pub(crate) async fn says(&self, kind: RequestKind, message: &str) -> Value {
        self.ask(asked(kind, message)).await.unwrap()
    }

    /// Sends a request.
    pub(crate) async fn ask(&self, request: Request) -> Result<Value, ClerkError> {
        self.uploads(&request).await;
        self.clerk.request(&thread(), request).await
    }

    /// A page requests an action.
    pub(crate) async fn execute(
        &self,
        trace: &str,
        action: &str,
        arguments: Value,
        said: Option<Confirmation>,
    ) -> Result<Value, ClerkError> {
        let (thread, request) = (thread(), wants(trace, action, &arguments));
        self.uploads(&request).await;
        let place = self.clerk.on(self.clerk.runtime(), &thread);
        place.execute(&request, said).await
    }

    /// Carries an action out, in a test where nothing keeps it from being done.
    pub(crate) async fn does(&self, trace: &str, action: &str, arguments: Value) -> Value {
        let done = self.execute(trace, action, arguments, None);
        done.await.unwrap()
    }

    /// Keeps the trip as a draft, with what a person said to its card.
    pub(crate) async fn drafts(&self, trace: &str, said: Option<Confirmation>) -> Value {
        let done = self.execute(trace, "save_application_draft", trip(), said);
        done.await.unwrap()
    }

    pub(crate) async fn precheck(&self, trace: &str, application: &Value) -> Value {
        let arguments = of("application", application);
        self.does(trace, "run_duplicate_precheck", arguments).await
    }

    /// A person presses a button of the card that is shown.
    pub(crate) async fn press(&self, reply: CardReply) -> Value {
        let turn = self.answer(reply).await;
        let card = turn.result().interrupts().first();
        let response = || Response::of(&self.clerk.deps().desk, turn.state(), card);
        turn.output().cloned().unwrap_or_else(|| json!(response()))
    }

    pub(crate) async fn agree(&self) -> Value {
        self.press(CardReply::approve()).await
    }

    /// Returns the id of the card that is on the screen.
    pub(crate) async fn shown(&self) -> Option<String> {
        Some(self.pending().await?.id.as_str().to_owned())
    }

    pub(crate) async fn pending(&self) -> Option<Interrupt> {
        let open = self.runner().interrupts(&thread()).await.unwrap();
        open.into_iter().next()
    }

    pub(crate) async fn documents(&self) -> Documents {
        self.books.tables.documents("ann").await.unwrap()
    }

    pub(crate) fn tried(&self) -> usize {
        self.books.tried.lock().unwrap().len()
    }
}

/// Returns the rules, which are loaded once.
pub(crate) fn desk() -> Arc<RuleData> {
    static DESK: LazyLock<Arc<RuleData>> = LazyLock::new(|| RuleData::load().unwrap());
    DESK.clone()
}

/// Returns the confirmation of the card that an answer shows.
pub(crate) fn agreed(answer: &Value) -> Option<Confirmation> {
    let pending = &answer["pending_interrupt"];
    serde_json::from_value(json!({ "interrupt_id": pending["id"], "digest": pending["digest"] }))
        .ok()
}

pub(crate) fn fields(value: &Value) -> Fields {
    value.as_object().cloned().unwrap_or_default()
}

pub(crate) fn trip() -> Value {
    json!({
        "reason": "拜访客户", "start_date": "2026-03-02", "end_date": "2026-03-05",
        "destination": "上海", "transport": "train", "estimated_amount": 1200, "currency": "CNY",
    })
}

pub(crate) fn claim() -> Value {
    json!({
        "expense_date": "2026-02-20", "category": "transport", "amount": 86.5, "currency": "CNY",
        "reason": "打车费", "attachments": ["发票.pdf"],
    })
}

/// Returns the same fields with the name of their form.
pub(crate) fn of(form: &str, fields: &Value) -> Value {
    let mut fields = fields.clone();
    fields["form"] = json!(form);
    fields
}

pub(crate) fn requested(request: Request) -> Vec<Update> {
    vec![Update::Requested(Box::new(request))]
}

/// Asserts that a write was done, and became this document.
#[track_caller]
pub(crate) fn assert_written(answer: &Value, document: &str) {
    let result = &answer["action_result"];
    assert_eq!(result["outcome"], "succeeded", "{answer}");
    assert_eq!(result["data"]["document"], document, "{answer}");
}

/// Returns the fields that the open card asks to write.
pub(crate) fn asked_fields(answer: &Value) -> &Value {
    &answer["pending_interrupt"]["prompt"]["call"]["arguments"]
}
