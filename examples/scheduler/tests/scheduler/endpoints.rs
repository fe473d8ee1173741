//! Files are uploaded and the schedule is downloaded, through the endpoints next to those of the
//! agent.
use std::{collections::BTreeSet, sync::Arc};

use crate::common::{ask, deps, kept, service, week};
use axum::{Router, http::StatusCode};
use fugato::axum::{AgentRoutes, AllowAll, Limits};
use fugato_testkit::{assert_contains, assert_starts_with};
use scheduler::{
    calendar::Lang,
    results::{MirroredStore, ResultFiles},
    schedule::{Change, PlacementStatus, ScheduleState, Slot, differences},
    served::ServedScheduler,
    store::{
        Calendar, MemoryNote, NoteKind, ScheduleStore, ScheduleStoreError, StoreReceipt,
        StoreWrite, WriteResult,
    },
    transfer::Transfer,
};
use serde_json::{Value, json};

const COURSES: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nBEGIN:VEVENT\r\nUID:1\r\n\
    DTSTAMP:20260101T000000Z\r\nDTSTART:20540302T090000Z\r\nDTEND:20540302T104000Z\r\n\
    SUMMARY:Logic\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
const TASKS: &str = "zone = \"UTC\"\n[window]\nstart = 2054-03-02\nweeks = 2\n\
    [[classes]]\nname = \"Reading\"\nitems = [\"One\", \"Two\"]\n";

struct Fixture {
    app: Router,
    store: Arc<dyn ScheduleStore>,
    folder: tempfile::TempDir,
}

async fn desk() -> Fixture {
    let (store, folder) = kept("home", week()).await;
    let service = service(&deps(week()));
    let transfer = Transfer::new(store.clone(), "home", folder.path(), Lang::En);
    let routes = AgentRoutes::new(ServedScheduler::new(service, store.clone(), "home"));
    let limits = Limits::default().upload(4000);
    let app = routes
        .limits(limits)
        .beside(transfer.routes())
        .authenticate(AllowAll)
        .router();
    Fixture { app, store, folder }
}

impl Fixture {
    async fn ask(&self, method: &str, path: &str, body: String) -> (StatusCode, String) {
        ask(&self.app, (method, path), "*/*", body).await
    }

    async fn bring(&self, files: Value) -> (StatusCode, Value) {
        let (status, told) = self.ask("PUT", "/calendar", files.to_string()).await;
        (status, serde_json::from_str(&told).expect("JSON"))
    }

    /// Brings files that can be used, and returns the remarks.
    async fn brings(&self, mut files: Value) -> Value {
        files["replace"] = true.into();
        let (status, mut told) = self.bring(files).await;
        assert_eq!(status, StatusCode::OK, "{told}");
        told["remarks"].take()
    }

    /// Brings files that are refused, and returns the message.
    async fn refused(&self, files: &Value, status: u16, kind: &str) -> String {
        let (got, told) = self.bring(files.clone()).await;
        assert_eq!(got.as_u16(), status, "{files}");
        assert_eq!(told["error"]["type"], kind, "{files}");
        told["error"]["message"]
            .as_str()
            .expect("a message")
            .to_owned()
    }

    async fn names(&self) -> Vec<String> {
        let tasks = self.schedule().await.tasks.into_iter();
        tasks.map(|task| task.name).collect()
    }
}

#[tokio::test]
async fn a_timetable_is_brought_and_the_schedule_taken_away() {
    let desk = desk().await;
    let note = MemoryNote {
        kind: NoteKind::Note,
        text: "tea".into(),
    };
    let noted = StoreWrite::Note(note.clone());
    let noted = desk.store.write("home", "note", &noted).await;
    noted.expect("a note");
    let both = json!({ "courses": COURSES, "tasks": TASKS });
    // Nothing that was agreed to is replaced without a question.
    let (status, asked) = desk.bring(both.clone()).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(asked["error"]["type"], "would_replace");
    let mut agreed = both.clone();
    agreed["replace"] = true.into();
    for _ in 0..2 {
        let told = json!({ "courses": 1, "items": 2, "remarks": [] });
        assert_eq!(desk.bring(agreed.clone()).await, (StatusCode::OK, told));
        assert_eq!(desk.names().await, ["Logic", "One", "Two"]);
    }
    // Notes stay, and the classes are those of the file.
    let stored = desk.store.read("home").await.expect("a store");
    assert_eq!(stored.expect("a calendar").notes, [note]);
    let (_, shown) = desk.ask("GET", "/calendar", String::new()).await;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["schedule"]["task_classes"][0]["name"], "Reading");
    // One file alone replaces its part.
    let tasks = TASKS.replace("Two", "Three");
    desk.brings(json!({ "tasks": tasks })).await;
    assert_eq!(desk.names().await, ["Logic", "One", "Three"]);
    let (status, ics) = desk.ask("GET", "/calendar.ics", String::new()).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        ics.starts_with("BEGIN:VCALENDAR\r\n") && ics.ends_with("END:VCALENDAR\r\n"),
        "{ics}"
    );
}

impl Fixture {
    async fn schedule(&self) -> ScheduleState {
        let stored = self.store.read("home").await.expect("a store");
        stored.expect("a calendar").schedule
    }

    /// Returns the write that gives tasks these places, based on the current calendar.
    async fn placing(&self, places: &[(&str, Slot)]) -> StoreWrite {
        let before = self.schedule().await;
        let mut after = before.clone();
        for (name, slot) in places {
            let task = before.tasks.iter().find(|task| task.name == *name);
            after.apply(&Change::Place {
                task: task.expect("a task").state_id,
                slots: vec![*slot],
                host: None,
                status: PlacementStatus::Existing,
            });
        }
        let changes = differences(&before, &after);
        StoreWrite::Changes { changes }
    }

    async fn place(&self, places: &[(&str, Slot)]) {
        let write = self.placing(places).await;
        let written = self.store.write("home", "placed", &write).await;
        assert_eq!(written.expect("a store"), StoreReceipt::Stored);
    }

    async fn lie(&self) -> Vec<(String, Vec<Slot>)> {
        let tasks = self.schedule().await.tasks.into_iter();
        tasks.map(|task| (task.name, task.slots)).collect()
    }
}

#[tokio::test]
async fn consent_is_for_the_item_that_was_shown_and_not_for_another_in_its_place() {
    let desk = desk().await;
    let both = json!({ "courses": COURSES, "tasks": TASKS });
    desk.brings(both).await;
    // The person is asked about the first item, and uploads other files before agreeing.
    let asked = desk.placing(&[("One", Slot::new(2, 1, 2))]).await;
    let other = TASKS.replace("\"One\", \"Two\"", "\"Another\", \"One\"");
    desk.brings(json!({ "tasks": other })).await;
    let agreed = desk.store.write("home", "agreed", &asked).await;
    let StoreReceipt::Conflict(conflict) = agreed.expect("a store") else {
        panic!("the consent was written");
    };
    assert_eq!(conflict.to_string(), "\"One\" is no longer in the calendar");
    let pending = vec![];
    assert_eq!(desk.lie().await[1], ("Another".to_owned(), pending));
}

/// Returns a calendar with the lecture on this date, and a walk on the first Monday.
fn week_of(lecture: &str) -> String {
    let walk = "BEGIN:VEVENT\r\nUID:2\r\nDTSTAMP:20260101T000000Z\r\n\
        DTSTART:20540302T140000Z\r\nDTEND:20540302T154000Z\r\nSUMMARY:Walk\r\n\
        END:VEVENT\r\nEND:VCALENDAR\r\n";
    let courses = COURSES.replace("20540302", lecture);
    courses.replace("END:VCALENDAR\r\n", walk)
}

#[tokio::test]
async fn what_was_agreed_to_outlives_an_import() {
    let desk = desk().await;
    let tasks = format!("embeddable = [\"Walk\"]\n{TASKS}");
    let both = json!({ "courses": week_of("20540302"), "tasks": tasks });
    desk.brings(both).await;
    let lecture = desk.lie().await[0].1.clone();
    let (one, day) = (Slot::new(2, 1, 2), 3);
    let two = Slot { day, ..lecture[0] };
    let (walk, from) = (Slot::new(5, 1, 2), desk.lie().await[1].clone());
    assert_eq!(from.0, "Walk");
    desk.place(&[("One", one), ("Two", two), ("Walk", walk)])
        .await;
    let named = |name: &str, slots: &[Slot]| (name.to_owned(), slots.to_vec());
    // Other tasks, and the same timetable: the remaining items keep their places.
    let three = tasks.replace("\"Two\"]", "\"Two\", \"Three\"]");
    desk.brings(json!({ "tasks": three })).await;
    let lies = desk.lie().await;
    let [kept, moved] = [named("One", &[one]), named("Two", &[two])];
    let three = named("Three", &[]);
    let expected = [named("Walk", &[walk]), kept.clone(), moved, three.clone()];
    assert_eq!(lies[1..], expected);
    // Another timetable: the remarks name the item that loses its place.
    let moved = json!({ "courses": week_of("20540304") });
    let remark = "“Two” lost its place, which is no longer free.";
    assert_eq!(desk.brings(moved).await, json!([remark]));
    let mut lies = desk.lie().await;
    lies.sort();
    let [logic, two] = [named("Logic", &[two]), named("Two", &[])];
    assert_eq!(lies, [logic, kept, three, two, from]);
}

#[tokio::test]
async fn a_timetable_alone_is_enough() {
    let desk = desk().await;
    let told = desk.brings(json!({ "courses": COURSES })).await;
    assert_eq!(told, json!(["nothing of the calendar lies in the window"]));
    // A class file may name courses that the timetable does not have: that is a remark.
    let named = format!("embeddable = [\"Opera\"]\n{TASKS}");
    let told = desk.brings(json!({ "tasks": named })).await;
    let unknown = "`embeddable` names \"Opera\", which is not in the calendar";
    assert_eq!(told, json!([unknown]));
    assert_eq!(desk.names().await, ["Logic", "One", "Two"]);
    // The next timetable alone keeps the items.
    let other = COURSES.replace("Logic", "Brand new");
    let told = desk.brings(json!({ "courses": other })).await;
    assert_eq!(told, json!([unknown]));
    assert_eq!(desk.names().await, ["Brand new", "One", "Two"]);
}

#[tokio::test]
async fn an_import_asks_before_it_replaces_and_is_taken_back() {
    let desk = desk().await;
    desk.brings(json!({ "courses": COURSES, "tasks": TASKS }))
        .await;
    desk.place(&[("One", Slot::new(2, 1, 2)), ("Two", Slot::new(3, 1, 2))])
        .await;
    let before = desk.lie().await;
    let file = || std::fs::read_to_string(desk.folder.path().join("courses.ics")).expect("a file");
    let other = json!({ "courses": COURSES.replace("20540302", "20540304").replace("T09", "T08").replace("T1040", "T0940") });
    let (status, asked) = desk.bring(other.clone()).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(asked["error"]["kept"], 1, "{asked}");
    assert_eq!(asked["error"]["lost"], json!(["Two"]));
    assert_contains(
        asked["error"]["message"].as_str().expect("words"),
        ["1 items keep their places", "Two", "Replace it?"],
    );
    assert_eq!(
        (desk.lie().await, file()),
        (before.clone(), COURSES.to_owned())
    );
    desk.brings(other).await;
    assert_ne!(desk.lie().await, before);
    let (status, _) = desk.ask("POST", "/calendar/undo", "{}".into()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!((desk.lie().await, file()), (before, COURSES.to_owned()));
}

/// Another conversation of the calendar agrees to something between the question and its answer.
#[tokio::test]
async fn k35_an_import_replaces_the_calendar_that_its_question_was_about() {
    let desk = desk().await;
    desk.brings(json!({ "courses": COURSES, "tasks": TASKS }))
        .await;
    desk.place(&[("One", Slot::new(2, 1, 2))]).await;
    let three = json!({ "tasks": TASKS.replace("\"Two\"", "\"Three\"") });
    let question = async || {
        let (status, asked) = desk.bring(three.clone()).await;
        assert_eq!(status, StatusCode::CONFLICT, "{asked}");
        asked["error"]["version"].clone()
    };
    let agree = async |version: Value| {
        let mut agreed = three.clone();
        (agreed["replace"], agreed["version"]) = (true.into(), version);
        desk.bring(agreed).await
    };
    let seen = question().await;
    let placed = desk.placing(&[("Two", Slot::new(3, 1, 2))]).await;
    let written = desk.store.write("home", "other", &placed).await;
    assert_eq!(written.expect("a store"), StoreReceipt::Stored);
    let before = (desk.lie().await, file_of(&desk, "tasks.toml"));
    let (status, told) = agree(seen).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{told}");
    assert_eq!(told["error"]["type"], "changed", "{told}");
    assert_eq!((desk.lie().await, file_of(&desk, "tasks.toml")), before);
    // The page shows the same version, and the new question names what is lost now.
    let (_, shown) = desk.ask("GET", "/calendar", String::new()).await;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let seen = question().await;
    assert_eq!(shown["version"], seen);
    assert_eq!(agree(seen).await.0, StatusCode::OK);
    assert_eq!(desk.names().await, ["Logic", "One", "Three"]);
}

/// Of two browsers that each add an item to the calendar that they show, one adds it.
#[tokio::test]
async fn an_item_is_added_to_the_calendar_that_was_shown() {
    let desk = desk().await;
    desk.brings(json!({ "courses": COURSES, "tasks": TASKS }))
        .await;
    let (_, shown) = desk.ask("GET", "/calendar", String::new()).await;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let add = async |name: &str| {
        let mut classes = shown["classes"].clone();
        let items = classes["classes"][0]["items"].as_array_mut();
        items.expect("items").push(name.into());
        let version = &shown["version"];
        desk.bring(json!({ "classes": classes, "version": version }))
            .await
    };
    assert_eq!(add("Three").await.0, StatusCode::OK);
    let (_, told) = add("Four").await;
    assert_eq!(told["error"]["type"], "changed", "{told}");
    assert_eq!(desk.names().await, ["Logic", "One", "Two", "Three"]);
}

fn file_of(desk: &Fixture, name: &str) -> String {
    std::fs::read_to_string(desk.folder.path().join(name)).expect("a file")
}

#[tokio::test]
async fn the_files_follow_every_stored_change() {
    let desk = desk().await;
    desk.brings(json!({ "courses": COURSES, "tasks": TASKS }))
        .await;
    let files = ResultFiles::new(desk.folder.path(), "home", Lang::En);
    let events = || {
        let ics = std::fs::read_to_string(desk.folder.path().join("schedule.ics"));
        ics.map(|ics| ics.matches("BEGIN:VEVENT").count()).ok()
    };
    assert_eq!(events(), None, "nothing was agreed to yet");
    let mirrored = MirroredStore::new(desk.store.clone(), files);
    let change = desk.placing(&[("One", Slot::new(2, 1, 2))]).await;
    for _ in 0..2 {
        let written = mirrored.write("home", "agreed", &change).await;
        assert_eq!(written.expect("a store"), StoreReceipt::Stored);
        assert_eq!(events(), Some(1));
    }
    // An import that keeps the place is followed, too.
    desk.brings(json!({ "tasks": TASKS.replace("\"Two\"", "\"Three\"") }))
        .await;
    assert_eq!(events(), Some(1));
}

/// Two conversations about the same calendar are agreed to at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn the_files_follow_changes_that_are_stored_at_the_same_time() {
    let desk = desk().await;
    desk.brings(json!({ "courses": COURSES, "tasks": TASKS }))
        .await;
    let files = ResultFiles::new(desk.folder.path(), "home", Lang::En);
    let mirrored = Arc::new(MirroredStore::new(desk.store.clone(), files));
    let change = desk.placing(&[("One", Slot::new(2, 1, 2))]).await;
    let write = |_| {
        let (mirrored, change) = (mirrored.clone(), change.clone());
        // The same change again, under the same key, writes the files again.
        tokio::spawn(async move { mirrored.write("home", "agreed", &change).await })
    };
    let written: Vec<_> = (0..16).map(write).collect();
    for written in written {
        let receipt = written.await.expect("no panic");
        assert_eq!(receipt.expect("a store"), StoreReceipt::Stored);
    }
    let ics = std::fs::read_to_string(desk.folder.path().join("schedule.ics"));
    assert_eq!(ics.expect("the file").matches("BEGIN:VEVENT").count(), 1);
}

#[tokio::test]
async fn nothing_is_taken_back_where_nothing_was_brought() {
    let desk = desk().await;
    let (status, told) = desk.ask("POST", "/calendar/undo", "{}".into()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_contains(&told, "nothing_to_undo");
}

/// A store that refuses every write.
struct Full(Arc<dyn ScheduleStore>);

#[async_trait::async_trait]
impl ScheduleStore for Full {
    async fn read(&self, calendar: &str) -> Result<Option<Calendar>, ScheduleStoreError> {
        self.0.read(calendar).await
    }

    async fn write(&self, _: &str, _: &str, _: &StoreWrite) -> WriteResult {
        let issues = vec!["it is full".to_owned()];
        Ok(StoreReceipt::Refused { issues })
    }

    async fn delete(&self, calendar: &str) -> Result<(), ScheduleStoreError> {
        self.0.delete(calendar).await
    }
}

#[tokio::test]
async fn files_that_are_not_stored_are_not_kept() {
    let mut desk = desk().await;
    let both = json!({ "courses": COURSES, "tasks": TASKS });
    desk.brings(both).await;
    let full = Arc::new(Full(desk.store.clone()));
    let transfer = Transfer::new(full, "home", desk.folder.path(), Lang::En);
    desk.app = transfer.routes();
    let other = json!({ "tasks": TASKS.replace("Two", "Three") }).to_string();
    let (status, _) = desk.ask("PUT", "/calendar", other).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let kept = std::fs::read_to_string(desk.folder.path().join("tasks.toml"));
    assert_eq!(kept.expect("the file"), TASKS);
}

#[tokio::test]
async fn what_cannot_be_brought_is_refused_in_words_and_changes_nothing() {
    let desk = desk().await;
    let before = desk.names().await;
    let broken = "my timetable";
    for (files, why) in [
        (json!({}), "nothing was sent"),
        (json!({ "courses": broken, "tasks": TASKS }), "courses.ics"),
        (
            json!({ "courses": COURSES, "tasks": "weeks = many" }),
            "tasks.toml",
        ),
    ] {
        assert_contains(&desk.refused(&files, 422, "unusable").await, why);
    }
    let unknown = json!({ "courses": COURSES, "path": "/etc/passwd" });
    let told = desk.refused(&unknown, 422, "invalid_request").await;
    assert_contains(&told, "no field `path`; allowed are `courses`, `tasks`");
    let large = json!({ "courses": "x".repeat(5000) });
    desk.refused(&large, 413, "too_large").await;
    assert_eq!(desk.names().await, before);
    let left = std::fs::read_dir(desk.folder.path()).expect("the folder");
    for entry in left {
        let name = entry.expect("an entry").file_name();
        assert_starts_with(&name.to_str().expect("a name"), "schedule.db");
    }
}

#[tokio::test]
async fn sch_131_a_request_is_served_in_order() {
    let desk = desk().await;
    let body = json!({
        "model": "scheduler", "stream": true,
        "messages": [{ "role": "user", "content": "Hello there" }],
        "extra": { "conversation_id": "desk", "task_class_ids": [1], "thinking": "auto" },
    });
    let (status, told) = desk
        .ask("POST", "/v1/chat/completions", body.to_string())
        .await;
    assert_eq!(status, StatusCode::OK);
    let frames = told.lines().filter_map(|line| line.strip_prefix("data: "));
    let frames: Vec<_> = frames.collect();
    let (last, chunks) = frames.split_last().expect("frames");
    assert_eq!(*last, "[DONE]");
    let chunks = chunks
        .iter()
        .map(|it| serde_json::from_str(it).expect("JSON"));
    let chunks: Vec<Value> = chunks.collect();
    let mut codes = chunks.iter().map(|it| &it["ext"]["status"]["code"]);
    assert!(codes.any(|code| code == "accepted"));
    let end = chunks.last().expect("a chunk");
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    // The text is stored before the end is sent, and the conversation has its title then.
    let (_, listed) = desk.ask("GET", "/threads", String::new()).await;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["threads"][0]["title"], "Hello there");
    let (_, shown) = desk
        .ask("GET", "/threads/desk/timeline", String::new())
        .await;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let items = shown["timeline"].as_array().expect("items");
    assert_eq!(items[0]["text"], "Hello there");
    assert!(items.iter().any(|item| item["kind"] == "assistant_text"));
}

#[tokio::test]
async fn sch_132_unknown_classes_have_an_error_code() {
    let desk = desk().await;
    let body = json!({ "text": "Plan", "extra": { "task_class_ids": [1, 9] } });
    let (status, told) = desk
        .ask("POST", "/threads/desk/runs", body.to_string())
        .await;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(status.as_u16(), 422);
    assert_eq!(told["error"]["type"], "unknown_task_class");
}

#[tokio::test]
async fn sch_24_a_client_reads_what_became_of_its_answer() {
    let desk = desk().await;
    let body = json!({
        "model": "scheduler", "stream": true,
        "messages": [{ "role": "user", "content": "Place everything" }],
        "extra": { "conversation_id": "desk" },
    });
    desk.ask("POST", "/v1/chat/completions", body.to_string())
        .await;
    let answered = async |id: &str, action: &str| {
        let body = json!({ "answers": { id: { "action": action } } }).to_string();
        let (status, told) = desk.ask("POST", "/threads/desk/resume", body).await;
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        (status.as_u16(), told["error"].clone())
    };
    let (status, stale) = answered("interrupt#9~9", "approve").await;
    assert_eq!((status, &stale["status"]), (404, &json!("stale_resume")));
    let open = stale["open"][0].as_str().expect("an open card").to_owned();
    let (status, unknown) = answered(&open, "perhaps").await;
    assert_eq!(
        (status, &unknown["status"]),
        (422, &json!("invalid_confirm_action"))
    );
    // The card is still open.
    assert_eq!(answered(&open, "approve").await.0, 202);
}

/// The chunks that a client of the protocol of OpenAI gets, but for `[DONE]`.
async fn chunks(desk: &Fixture, extra: Value, text: &str) -> Vec<Value> {
    let body = json!({
        "model": "scheduler", "stream": true, "extra": extra,
        "messages": [{ "role": "user", "content": text }],
    });
    let (status, told) = desk
        .ask("POST", "/v1/chat/completions", body.to_string())
        .await;
    assert_eq!(status, StatusCode::OK, "{told}");
    let frames = told.lines().filter_map(|line| line.strip_prefix("data: "));
    let frames: Vec<_> = frames.collect();
    assert_eq!(frames.last(), Some(&"[DONE]"));
    let chunks = frames.iter().take(frames.len() - 1);
    chunks
        .map(|it| serde_json::from_str(it).expect("JSON"))
        .collect()
}

/// Answers the card of the last chunks as a client of the protocol does.
async fn approved(desk: &Fixture, asked: &[Value]) -> Vec<Value> {
    let mut cards = asked.iter().map(|chunk| &chunk["ext"]["confirm"]);
    let card = cards.find(|card| card.is_object()).expect("a card");
    let resume = json!({ "interaction_id": card["interaction_id"], "action": "approve" });
    let extra = json!({ "conversation_id": "desk", "resume": resume });
    chunks(desk, extra, "").await
}

#[tokio::test]
async fn sch_117_118_119_the_chunks_of_a_request_have_the_kinds_of_the_extension() {
    let desk = desk().await;
    let mut all = vec![];
    for text in ["Place everything", "Chapter 1 is done"] {
        let extra = json!({ "conversation_id": "desk" });
        let asked = chunks(&desk, extra, text).await;
        let done = approved(&desk, &asked).await;
        all.extend([asked, done]);
    }
    let kinds = [
        "assistant_text",
        "card_text",
        "confirm_request",
        "finish",
        "schedule_completed",
        "start",
        "status",
        "tool_call",
        "tool_result",
    ];
    let mut seen = BTreeSet::new();
    for chunks in &all {
        for (n, chunk) in chunks.iter().enumerate() {
            assert_eq!(chunk["object"], "chat.completion.chunk");
            let named = (&chunk["id"], &chunk["model"]);
            assert_eq!(named, (&chunks[0]["id"], &json!("scheduler")));
            let choice = &chunk["choices"][0];
            assert_eq!(choice["delta"]["role"].is_null(), n > 0, "{chunk}");
            let is_last = n + 1 == chunks.len();
            assert_eq!(choice["finish_reason"].is_null(), !is_last, "{chunk}");
            seen.extend(chunk["ext"]["kind"].as_str());
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), kinds);
}

/// A mark is a change like any other, also where nothing stores it.
#[tokio::test]
async fn sch_47_marking_an_item_is_told_as_what_it_is() {
    let desk = desk().await;
    let extra = json!({ "conversation_id": "desk" });
    let placed = chunks(&desk, extra.clone(), "Place everything").await;
    approved(&desk, &placed).await;
    let asked = chunks(&desk, extra, "Chapter 1 is done").await;
    let done = approved(&desk, &asked).await;
    let tools: Vec<_> = done.iter().map(|chunk| &chunk["ext"]["tool"]).collect();
    let of = |status: &str| tools.iter().find(|tool| tool["status"] == status);
    assert_eq!(of("done").expect("a result")["summary"], "Chapter 1: done");
    assert_eq!(
        of("start").expect("a call")["arguments_preview"],
        "“Chapter 1”: marked as done"
    );
    let said = done
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    let said: String = said.collect();
    assert_starts_with(&said, "Done.\n1 marked, 0 placed");
}
