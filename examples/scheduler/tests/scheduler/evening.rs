//! An evening's repair: a job finds what was planned and not done, a card asks, and the person
//! agrees and takes it back.
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use axum::{Router, http::StatusCode};
use expect_test::expect;
use fugato::{
    Durability,
    axum::{AgentRoutes, AllowAll},
    command::Command,
    cron::{JobClock, JobRunner},
    graph::BoxError,
    state::ThreadId,
    store::MemoryDocs,
};
use fugato_testkit::{
    assert_contains,
    log::Failure,
    sim::{CrashSim, Fault, World},
};
use jiff::{
    civil::{date, time},
    tz::TimeZone,
};
use scheduler::{
    agent::{AgentState, CardReply, Request, Update},
    calendar::Lang,
    deps::Deps,
    evening::EveningReview,
    graph::graph,
    llm_config::LlmConfig,
    schedule::{Change, PlacementStatus, ScheduleState, Slot},
    served::ServedScheduler,
    service::Service,
    store::{Calendars, StoreWrite},
};
use serde_json::{Value, json};

use crate::{
    common::{CHOIR, FIRST, GYM, SECOND, approves, ask, kept, service},
    repairs::cramped,
    store::{
        crashes::{Mortal, Shelf},
        scenarios::{NAME, Store, tidy},
    },
};

/// The week, whose items were agreed to: chapters on Monday and Wednesday, sport on Wednesday,
/// choir on Thursday.
pub(crate) fn agreed() -> ScheduleState {
    let mut week = tidy();
    for (task, slot) in [
        (FIRST, Slot::new(1, 5, 6)),
        (SECOND, Slot::new(3, 5, 6)),
        (GYM, Slot::new(3, 1, 2)),
        (CHOIR, Slot::new(4, 5, 6)),
    ] {
        week.apply(&Change::Place {
            task,
            slots: vec![slot],
            host: None,
            status: PlacementStatus::Existing,
        });
    }
    week
}

pub(crate) async fn lying(store: &Store) -> ScheduleState {
    store.read(NAME).await.unwrap().unwrap().schedule
}

fn place(schedule: &ScheduleState, task: u32) -> Vec<Slot> {
    schedule.task(task).unwrap().slots.clone()
}

/// A server of the agent, with its evenings.
pub(crate) struct Fixture {
    app: Router,
    pub(crate) store: Store,
    service: Service,
    now: Arc<AtomicI64>,
    clockwork: JobRunner<AgentState>,
    folder: tempfile::TempDir,
}

/// Tuesday, 15 September 2054 at noon.
fn noon() -> i64 {
    let noon = date(2054, 9, 15).at(12, 0, 0, 0);
    let noon = noon.to_zoned(TimeZone::UTC).unwrap();
    noon.timestamp().as_millisecond()
}

async fn fixture(lang: Lang) -> Fixture {
    fixture_of(agreed(), lang, LlmConfig::default()).await
}

pub(crate) async fn fixture_of(week: ScheduleState, lang: Lang, mind: LlmConfig) -> Fixture {
    let (store, folder) = kept(NAME, week).await;
    let calendars = Calendars::shared(store.clone(), NAME);
    let deps = Deps::new().unwrap().calendars(calendars);
    let deps = deps.existing_may_move(true).mind(mind);
    let service = service(&deps);
    let now = Arc::new(AtomicI64::new(noon()));
    let time_now = now.clone();
    let clock = JobClock::new(TimeZone::UTC, move || time_now.load(Ordering::SeqCst));
    let told = folder.path().join("told").display().to_string();
    let look = EveningReview {
        at: Some(time(21, 0, 0, 0)),
        zone: TimeZone::UTC,
        lang,
        tell: Command::new(
            &["sh", "-c", "printf '%s' \"$1\" >> \"$0\"", &told, "{text}"].map(str::to_owned),
        ),
    };
    let docs = Arc::new(MemoryDocs::default());
    let clockwork = look.begin_by(&service, docs, clock).await.unwrap();
    let served = ServedScheduler::new(service.clone(), store.clone(), NAME);
    let routes = AgentRoutes::new(served);
    Fixture {
        service,
        app: routes.authenticate(AllowAll).router(),
        store,
        now,
        clockwork,
        folder,
    }
}

impl Fixture {
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Value) -> String {
        let accept = "*/*";
        let (status, told) = ask(&self.app, (method, path), accept, body.to_string()).await;
        assert_eq!(status, StatusCode::OK, "{method} {path}: {told}");
        told
    }

    /// Lets this many hours pass.
    pub(crate) async fn pass(&self, hours: i64) {
        self.now.fetch_add(hours * 3_600_000, Ordering::SeqCst);
        self.clockwork.fire().await.unwrap();
    }

    /// Returns the threads that wait for an answer.
    pub(crate) async fn waiting(&self) -> Vec<String> {
        let threads = self.ask("GET", "/threads", Value::Null).await;
        let threads: Value = serde_json::from_str(&threads).unwrap();
        let threads = threads["threads"].as_array().unwrap().iter();
        let waiting = threads.filter(|thread| thread["status"] == "waiting");
        waiting
            .map(|thread| thread["thread"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Fixture {
    pub(crate) async fn thread(&self, thread: &str) -> Value {
        let shown = self
            .ask("GET", &format!("/threads/{thread}"), Value::Null)
            .await;
        serde_json::from_str(&shown).unwrap()
    }

    /// Answers the open card of a thread, and waits until the run ends or asks again.
    pub(crate) async fn answer(&self, thread: &str, reply: CardReply) {
        let shown = self.thread(thread).await;
        let card = shown["interrupts"][0]["id"].as_str().unwrap().to_owned();
        let answers = json!({ "answers": { card: reply } });
        self.follow(&format!("/threads/{thread}/resume"), answers)
            .await;
    }

    pub(crate) async fn say(&self, thread: &str, text: &str) {
        let said = json!({ "text": text });
        self.follow(&format!("/threads/{thread}/runs"), said).await;
    }

    pub(crate) async fn follow(&self, path: &str, body: Value) {
        let (body, accept) = (body.to_string(), "text/event-stream");
        let (status, told) = ask(&self.app, ("POST", path), accept, body).await;
        assert!(status.is_success(), "{path}: {told}");
    }

    /// Returns what the agent said in a thread, one text after another.
    pub(crate) async fn told(&self, thread: &str) -> String {
        let shown = self.thread(thread).await;
        let items = shown["timeline"].as_array().unwrap().iter();
        let texts = items.filter(|item| item["kind"] == "assistant_text");
        let texts: Vec<_> = texts.filter_map(|item| item["text"].as_str()).collect();
        texts.join("\n")
    }
}

#[tokio::test]
async fn an_evening_finds_what_was_missed_asks_and_is_taken_back_by_a_word() {
    let home = fixture(Lang::En).await;
    let before = lying(&home.store).await;
    home.pass(8).await;
    assert_eq!(
        home.waiting().await,
        Vec::<String>::new(),
        "it is not time yet"
    );
    home.pass(1).await;
    let waiting = home.waiting().await;
    let [evening] = waiting.as_slice() else {
        panic!("{waiting:?} wait");
    };
    let told = home.told(evening).await;
    expect![[r"
        Planned and not done: “Chapter 1” (Mon 2054-09-14, 14:00–15:40).
        1. A free place ahead: “Chapter 1” Mon 2054-09-14, 14:00–15:40 → Wed 2054-09-16, 10:00–11:40.
        Each is asked about by itself; “undo” takes back what you agree to."]]
    .assert_eq(&told);
    assert_eq!(lying(&home.store).await, before, "nothing changes unasked");
    // The person is told by the operator's command, once.
    let by_command = || std::fs::read_to_string(home.folder.path().join("told")).unwrap();
    let first = by_command();
    assert_contains(&first, ["Chapter 1", "Wed 2054-09-16"]);
    // The same evening asks once.
    home.pass(0).await;
    assert_eq!(home.waiting().await, waiting);
    assert_eq!(by_command(), first);
    home.answer(evening, CardReply::approve()).await;
    let after = lying(&home.store).await;
    assert_ne!(place(&after, FIRST), place(&before, FIRST));
    assert!(place(&after, FIRST)[0].day > 2, "{after:?}");
    assert_eq!(home.waiting().await, Vec::<String>::new());
    home.say(evening, "undo").await;
    home.answer(evening, CardReply::approve()).await;
    assert_eq!(lying(&home.store).await, before);
}

#[tokio::test]
async fn an_evening_without_an_answer_gives_way_to_the_next_and_what_is_done_is_not_asked_about() {
    let home = fixture(Lang::Zh).await;
    home.pass(9).await;
    let waiting = home.waiting().await;
    let told = home.told(&waiting[0]).await;
    assert_contains(&told, ["安排了但没有做完：《Chapter 1》", "改到后面的空位"]);
    let done = Change::Mark {
        task: FIRST,
        marks: scheduler::schedule::Marks {
            done: true,
            ..scheduler::schedule::Marks::default()
        },
    };
    let before = lying(&home.store).await;
    let mut after = before.clone();
    after.apply(&done);
    let changes = scheduler::schedule::differences(&before, &after);
    let write = StoreWrite::Changes { changes };
    home.store.write(NAME, "done", &write).await.unwrap();
    home.pass(24).await;
    assert_eq!(home.waiting().await, waiting, "one question at a time");
    let told = home.told(&waiting[0]).await;
    let last = told.rsplit("安排了但没有做完").next().unwrap();
    assert!(
        last.contains("《Chapter 2》") && last.contains("《Gym》"),
        "{told}"
    );
    assert!(!last.contains("《Chapter 1》"), "{told}");
    // A refusal changes nothing, and leaves the rest.
    home.answer(&waiting[0], CardReply::reject(None)).await;
    assert_eq!(lying(&home.store).await, after);
}

fn simulation(shelf: &Shelf) -> CrashSim<AgentState> {
    let calendars = shelf.clone();
    let now = Some(date(2054, 9, 15).at(21, 0, 0, 0));
    let evening = move || {
        vec![Update::Requested(Request {
            now,
            ..Request::new("What did I not finish?")
        })]
    };
    let undone = move || {
        vec![Update::Requested(Request {
            now,
            ..Request::new("undo")
        })]
    };
    CrashSim::new(move |world: &World| {
        let store = calendars.store().ok_or("no store was opened")?;
        let world = world.clone();
        let store = Arc::new(Mortal { store, world });
        let deps = Deps::new()?.calendars(Calendars::shared(store, NAME));
        Ok::<_, BoxError>(graph(&deps.existing_may_move(true))?)
    })
    .store(shelf.clone())
    .input(evening)
    .input(undone)
    .answer(approves)
    .random(4)
}

#[tokio::test]
async fn no_crash_loses_or_doubles_an_evening_s_repair_or_its_undoing() -> Result<(), Failure> {
    // One card, and a later end, which is two.
    for (week, durability) in [
        (agreed(), vec![Durability::Strict, Durability::AtPause]),
        (cramped(date(2054, 9, 14)), vec![Durability::AtPause]),
    ] {
        let shelf = Shelf::of(week.clone());
        let simulation = simulation(&shelf).durability(durability);
        let report = simulation.run().await?;
        assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
        shelf.look().await.unwrap();
        assert_eq!(shelf.ends(), [week], "every calendar is as it was before");
    }
    Ok(())
}

#[tokio::test]
async fn words_about_a_day_lead_to_the_same_repairs() {
    for (lang, text, expected) in [
        (
            Lang::En,
            "I didn't finish that.",
            "Planned and not done: “Chapter 1”",
        ),
        (Lang::Zh, "没做完", "安排了但没有做完：《Chapter 1》"),
        (
            Lang::En,
            "I am tired today",
            "Nothing is planned for the rest of today",
        ),
        (Lang::Zh, "今天太累了！", "今天剩下的时间没有安排"),
    ] {
        let home = fixture(lang).await;
        let mut request = Request::new(text).in_lang(lang);
        request.now = Some(date(2054, 9, 15).at(12, 0, 0, 0));
        let thread = ThreadId::new("desk").unwrap();
        home.service.request(&thread, request).await.unwrap();
        assert_contains(&home.told("desk").await, expected);
    }
}

#[tokio::test]
async fn the_clockwork_ends_when_the_runner_is_closed() {
    let service = service(&Deps::new().unwrap());
    let look = EveningReview {
        at: Some(time(21, 0, 0, 0)),
        zone: TimeZone::UTC,
        lang: Lang::En,
        tell: None,
    };
    let docs = Arc::new(MemoryDocs::default());
    let clockwork = look.begin(&service, docs).await.unwrap();
    let ended = clockwork.run_until(std::future::pending());
    service.runner().close();
    let ended = tokio::time::timeout(Duration::from_mins(2), ended).await;
    ended.expect("the clockwork has ended");
}
