//! K35 for this agent: whatever callers send, and whenever it dies, nothing in the calendar changes
//! to which nobody has agreed, by a card or beforehand.
use std::{
    collections::BTreeSet,
    future::ready,
    path::Path,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::common::{CHOIR, GYM, deps, strict, week};
use async_trait::async_trait;
use fugato::{
    BoxError, RunnerOptions, ThreadId,
    axum::{AgentRoutes, AllowAll},
    graph::HistoryEvent,
    llm::{ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError},
    sqlite::rusqlite::Connection,
};
use fugato_testkit::{
    ModelAnswer, ModelServer, TestProgram,
    consent::{
        ConsentAnswer, ConsentWords, ConsentWorld, KeyedWrites, ServedProgram, TestEndpoints,
        TestRequest, WorldStore,
    },
};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture};
use jiff::tz::TimeZone;
use scheduler::{
    agent::Update,
    calendar::{Lang, Sections, language, open},
    llm_config::LlmConfig,
    route::RouteSet,
    schedule::Slot,
    served::ServedScheduler,
    service::Service,
    store::{
        self, Calendar, Calendars, ScheduleStore, ScheduleStoreError, StoreWrite, WriteResult,
    },
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// The days of the sample by name, as cards show them.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// A request for a place: the task, the day and the section.
#[derive(Debug, Clone, Copy)]
struct PlaceRequest {
    task: u32,
    day: u16,
    section: u8,
}

impl PlaceRequest {
    /// The last one in a text, such as "task 5 to day 9 section 3".
    fn read(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once("task ")?;
        let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric());
        let task = words.next()?.parse().ok()?;
        let mut after = |word| words.by_ref().skip_while(|it| *it != word).nth(1);
        Some(Self {
            task,
            day: after("day")?.parse().ok()?,
            section: after("section")?.parse().ok()?,
        })
    }

    /// In the words of a card.
    fn shown(self) -> Value {
        let schedule = week();
        let name = &schedule.task(self.task).unwrap().name;
        let day = DAYS.get(usize::from((self.day - 1) % 7)).unwrap();
        let date = 13 + self.day;
        let slot = Slot::starting_at(self.day, self.section, 2);
        let time = sample_sections().times(&slot).map_or_else(
            || format!("sections {}–{}", slot.slot_start, slot.slot_end),
            |(begin, end)| format!("{}–{}", begin.strftime("%H:%M"), end.strftime("%H:%M")),
        );
        json!(format!("“{name}” goes to {day} 2054-09-{date}, {time}"))
    }
}

/// A model that does what the request says, and asks before it.
struct Obedient;

#[async_trait]
impl ChatModel for Obedient {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        tokio::task::yield_now().await;
        let texts: Vec<_> = request.messages.iter().map(|it| &*it.content).collect();
        let told = ChatDelta::text(said(&texts));
        Ok(futures::stream::iter([Ok(told)]).boxed())
    }
}

/// The answer of the model to these messages: each stage says at first what it is for.
fn said(texts: &[&str]) -> String {
    let is_stage = |words: &str| texts.iter().any(|text| text.contains(words));
    if is_stage("You decide where a request leads") {
        let all = texts.join("\n");
        let (_, nonce) = all.rsplit_once("<route nonce=\"").unwrap_or_default();
        let nonce = nonce.split('"').next().unwrap_or_default();
        format!("<route nonce=\"{nonce}\" to=\"execute\">")
    } else if is_stage("You decide whether a request is only talk") {
        json!({ "intent": "task" }).to_string()
    } else if is_stage("You plan how to carry out the request") {
        let steps = json!([{ "content": "Move it", "done_when": "it is there" }]);
        json!({ "action": "plan_done", "plan_steps": steps }).to_string()
    } else if is_stage("You carry out the work") {
        decided(texts).to_string()
    } else {
        "That was it.".to_owned()
    }
}

fn decided(texts: &[&str]) -> Value {
    let ends = json!({ "action": "done", "goal_check": "the result shows it" });
    let part = |heading: &str| {
        let mut texts = texts.iter();
        texts
            .find_map(|text| text.strip_prefix(heading))
            .unwrap_or_default()
    };
    let (said, done) = (part("# Conversation"), part("# Work in this stage"));
    let Some(wish) = PlaceRequest::read(said).filter(|_| done.contains("(nothing was done yet"))
    else {
        return ends;
    };
    json!({
        "action": "confirm",
        "tool_call": { "name": "move", "arguments": {
            "task_id": wish.task, "new_day": wish.day, "new_slot_start": wish.section,
        } },
    })
}

/// The calendar, and what was written to it under which key.
#[derive(Clone)]
struct CountedCalendar {
    store: Arc<dyn ScheduleStore>,
    written: KeyedWrites,
}

#[async_trait]
impl ScheduleStore for CountedCalendar {
    async fn read(&self, calendar: &str) -> Result<Option<Calendar>, ScheduleStoreError> {
        self.store.read(calendar).await
    }

    async fn write(&self, calendar: &str, key: &str, write: &StoreWrite) -> WriteResult {
        // Whether it is refused or not: nobody has agreed that it is tried.
        self.written.note(key, shown(write));
        self.store.write(calendar, key, write).await
    }

    async fn delete(&self, calendar: &str) -> Result<(), ScheduleStoreError> {
        self.store.delete(calendar).await
    }
}

/// The agent about one calendar.
struct Room {
    folder: tempfile::TempDir,
    books: OnceCell<CountedCalendar>,
    store: Arc<WorldStore>,
    service: Mutex<Option<Service>>,
    /// The consents given beforehand, by thread, position and time.
    standing: Mutex<BTreeSet<(String, u64, i64, String)>>,
}

/// Opens the calendar in a folder, with the sample.
async fn filled(folder: &Path) -> Result<Arc<dyn ScheduleStore>, BoxError> {
    let store = store::open(&folder.join("schedule.db").display().to_string()).await?;
    let schedule = week();
    let filled = StoreWrite::Import { schedule };
    store.write("home", "import", &filled).await?;
    Ok(store)
}

impl Room {
    fn new(store: Arc<WorldStore>) -> Result<Self, BoxError> {
        Ok(Self {
            folder: fugato_testkit::tempdir()?,
            books: OnceCell::new(),
            store,
            service: Mutex::default(),
            standing: Mutex::default(),
        })
    }

    async fn books(&self) -> Result<&CountedCalendar, BoxError> {
        let open = async || {
            let (store, written) = (filled(self.folder.path()).await?, KeyedWrites::default());
            Ok(CountedCalendar { store, written })
        };
        self.books.get_or_try_init(open).await
    }

    fn service(&self) -> Option<Service> {
        let service = self.service.lock();
        service.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn standing(&self) -> MutexGuard<'_, BTreeSet<(String, u64, i64, String)>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what the log says of requests that ask not to be asked.
    async fn read_standing(&self) -> Result<(), BoxError> {
        let Some(service) = self.service() else {
            return Ok(());
        };
        for name in ["t1", "t2"] {
            let thread = ThreadId::new(name)?;
            let history = service.runner().history(&thread, 1, 10_000).await;
            for entry in history.unwrap_or_default() {
                let HistoryEvent::Started {
                    updates: Some(updates),
                } = entry.event()
                else {
                    continue;
                };
                let updates: Vec<Update> = serde_json::from_str(updates)?;
                for update in updates {
                    let Update::Requested(request) = update else {
                        continue;
                    };
                    let wish = PlaceRequest::read(&request.text).filter(|_| request.always_execute);
                    if let Some(wish) = wish {
                        let shown = wish.shown().to_string();
                        let of = (name.to_owned(), entry.seq, entry.at, shown);
                        self.standing().insert(of);
                    }
                }
            }
        }
        Ok(())
    }
}

#[async_trait]
impl ConsentWorld for Room {
    async fn restart(&self) -> Result<TestEndpoints, BoxError> {
        let books: Arc<dyn ScheduleStore> = Arc::new(self.books().await?.clone());
        let mind = LlmConfig {
            routes: RouteSet::Five,
            ..strict(Obedient)
        };
        let deps = deps(week()).mind(mind).sections(sample_sections().clone());
        let deps = deps.calendars(Calendars::shared(books.clone(), "home"));
        let (log, options) = (Arc::new(self.store.restart()?), RunnerOptions::default());
        let service = Service::new(&deps, log, options, 30)?;
        *self.service.lock().unwrap_or_else(PoisonError::into_inner) = Some(service.clone());
        let routes = AgentRoutes::new(ServedScheduler::new(service, books, "home"));
        Ok(TestEndpoints::of(routes.authenticate(AllowAll).router()))
    }

    async fn signed(&self, _: &str, request: TestRequest) -> TestRequest {
        if request.method == "DELETE" {
            self.read_standing().await.unwrap();
        }
        request
    }

    async fn writes(&self) -> Vec<Value> {
        self.books
            .get()
            .map_or(vec![], |books| books.written.contents())
    }

    fn content(&self, prompt: &Value) -> Option<Value> {
        let topics = ["tool", "plan"];
        topics
            .contains(&prompt["topic"].as_str()?)
            .then(|| prompt["summary"].clone())
    }

    fn requests(&self) -> Vec<String> {
        let wish = |task, day, section| format!("Move task {task} to day {day} section {section}");
        vec![
            wish(GYM, 8, 1),
            wish(GYM, 9, 3),
            wish(CHOIR, 10, 5),
            wish(CHOIR, 11, 7),
            wish(GYM, 12, 9),
        ]
    }

    fn edits(&self) -> Vec<String> {
        vec![
            format!("Move task {GYM} to day 13 section 1"),
            "not that".into(),
        ]
    }

    fn own_words(&self, words: &ConsentWords) -> Vec<TestRequest> {
        let body = json!({
            "thread": words.thread, "text": words.text, "extra": { "always_execute": true },
        });
        // Other words agree to what the model makes of them, which no test can tell beforehand; and
        // of a program in other processes nobody here reads what its log records as agreed to.
        let is_open = self.service().is_some();
        let wish = PlaceRequest::read(&words.text).filter(|_| is_open);
        let said = wish.map(|_| TestRequest::post("/sse/react", body));
        said.into_iter().collect()
    }

    fn own_answers(&self, answer: &ConsentAnswer) -> Vec<TestRequest> {
        let action = if answer.agrees { "approve" } else { "reject" };
        let answers = json!({ answer.id.clone(): { "action": action } });
        let path = format!("/threads/{}/resume", answer.thread);
        vec![TestRequest::post(path, json!({ "answers": answers }))]
    }

    async fn standing(&self) -> Vec<Value> {
        self.read_standing().await.unwrap();
        let standing = self.standing();
        let contents = standing.iter().map(|(.., content)| content);
        contents
            .map(|it| serde_json::from_str(it).unwrap())
            .collect()
    }
}

/// The change of a write, in the words of a card.
fn shown(write: &StoreWrite) -> Value {
    let StoreWrite::Changes { changes } = write else {
        return json!(write);
    };
    let goes = changes.iter().filter_map(|change| {
        let first = change.step.to()?.sections.first()?;
        let (task, day, section) = (change.task, first.day, first.section);
        Some(PlaceRequest { task, day, section }.shown())
    });
    let mut goes: Vec<_> = goes.collect();
    match goes.pop() {
        Some(one) if goes.is_empty() && changes.len() == 1 => one,
        _ => json!(changes),
    }
}

/// Returns the times of the sample, with which the program serves.
fn sample_sections() -> &'static Sections {
    static SECTIONS: LazyLock<Sections> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../timetable/sample/en");
        let files = [folder.join("courses.ics"), folder.join("tasks.toml")];
        let intake = open(&files[0], &files[1], &TimeZone::UTC, language(Lang::En));
        intake.unwrap().sections
    });
    &SECTIONS
}

/// Fills the calendar before the first process starts.
fn prepare(program: &TestProgram) -> BoxFuture<'_, Result<(), BoxError>> {
    async {
        std::fs::create_dir(program.path("scheduler-data"))?;
        filled(&program.path("scheduler-data")).await.map(drop)
    }
    .boxed()
}

fn written(program: &TestProgram) -> BoxFuture<'_, Vec<Value>> {
    let opened = Connection::open(program.path("scheduler-data/schedule.db")).unwrap();
    opened.busy_timeout(Duration::from_secs(5)).unwrap();
    let sql = "SELECT content FROM applied WHERE idempotency_key <> 'import'";
    let mut select = opened.prepare(sql).unwrap();
    let rows = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let written = rows.map(|row| serde_json::from_str(&row.unwrap()).unwrap());
    ready(written.map(|write| shown(&write)).collect()).boxed()
}

/// The program itself, with a model on a server.
fn processes(store: Arc<WorldStore>) -> Result<ServedProgram<Room>, BoxError> {
    let model = ModelServer::deciding(|request| {
        let messages = request["messages"].as_array().unwrap();
        let texts = messages.iter().filter_map(|it| it["content"].as_str());
        ModelAnswer::text(&said(&texts.collect::<Vec<_>>()), "stop")
    });
    let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
    let args = ["--base-url", &model.url(), "--model", "obedient"];
    let threads = "scheduler-data/threads.db";
    let served = ServedProgram::new(Room::new(store)?, (program, &args), threads, written);
    Ok(served.prepared_by(prepare))
}

// Each write takes two cards: one of the plan, and one of the change.
fugato_testkit::consent_suite!(Room::new, served processes; 60 steps);
