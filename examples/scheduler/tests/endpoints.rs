//! Files come in and the schedule goes out, through the endpoints beside the agent.
mod common;

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use common::{deps, week};
use fugato::{
    axum::{AgentRoutes, Limits},
    graph::RunnerOptions,
    store::MemoryLog,
};
use scheduler::{
    calendar::Lang,
    served::Served,
    service::Service,
    store::{self, Note, NoteKind, ScheduleStore, Write},
    transfer::Transfer,
};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const COURSES: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nBEGIN:VEVENT\r\nUID:1\r\n\
    DTSTAMP:20260101T000000Z\r\nDTSTART:20260302T090000Z\r\nDTEND:20260302T104000Z\r\n\
    SUMMARY:Logic\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
const TASKS: &str = "zone = \"UTC\"\n[window]\nstart = 2026-03-02\nweeks = 2\n\
    [[classes]]\nname = \"Reading\"\nitems = [\"One\", \"Two\"]\n";

struct Desk {
    app: Router,
    store: Arc<dyn ScheduleStore>,
    folder: tempfile::TempDir,
}

async fn desk() -> Desk {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("schedule.db").display().to_string();
    let store = store::open(&path).await.expect("a database");
    let schedule = week();
    let filled = Write::Import { schedule };
    store
        .write("home", "import", &filled)
        .await
        .expect("a calendar");
    let log = Arc::new(MemoryLog::default());
    let service = Service::new(&deps(week()), log, RunnerOptions::default(), 30);
    let service = service.expect("the wiring is checked");
    let transfer = Transfer::new(store.clone(), "home", folder.path(), Lang::En);
    let routes = AgentRoutes::new(Served::new(service, store.clone(), "home"));
    let limits = Limits::default().body(4000);
    let app = routes.limits(limits).beside(transfer.routes()).router();
    Desk { app, store, folder }
}

impl Desk {
    async fn ask(&self, method: &str, path: &str, body: String) -> (StatusCode, String) {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json");
        let request = request.body(Body::from(body)).expect("a request");
        let response = self.app.clone().oneshot(request).await.expect("an answer");
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX)
            .await
            .expect("a body");
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    async fn bring(&self, files: Value) -> (StatusCode, Value) {
        let (status, told) = self.ask("PUT", "/calendar", files.to_string()).await;
        (status, serde_json::from_str(&told).expect("JSON"))
    }

    async fn names(&self) -> Vec<String> {
        let stored = self.store.read("home").await.expect("a store");
        let tasks = stored.expect("a calendar").schedule.tasks;
        tasks.into_iter().map(|task| task.name).collect()
    }
}

#[tokio::test]
async fn a_timetable_is_brought_and_the_schedule_taken_away() {
    let desk = desk().await;
    let note = Note {
        kind: NoteKind::Note,
        text: "tea".into(),
    };
    let noted = Write::Note(note.clone());
    let noted = desk.store.write("home", "note", &noted).await;
    noted.expect("a note");
    let both = json!({ "courses": COURSES, "tasks": TASKS });
    for _ in 0..2 {
        let told = json!({ "courses": 1, "items": 2, "remarks": [] });
        assert_eq!(desk.bring(both.clone()).await, (StatusCode::OK, told));
        assert_eq!(desk.names().await, ["Logic", "One", "Two"]);
    }
    // What was written down stays, and the classes are those of the file.
    let stored = desk.store.read("home").await.expect("a store");
    assert_eq!(stored.expect("a calendar").notes, [note]);
    let (_, shown) = desk.ask("GET", "/calendar", String::new()).await;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["schedule"]["task_classes"][0]["name"], "Reading");
    // One file alone replaces its part.
    let tasks = TASKS.replace("Two", "Three");
    assert_eq!(
        desk.bring(json!({ "tasks": tasks })).await.0,
        StatusCode::OK
    );
    assert_eq!(desk.names().await, ["Logic", "One", "Three"]);
    let (status, ics) = desk.ask("GET", "/calendar.ics", String::new()).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        ics.starts_with("BEGIN:VCALENDAR\r\n") && ics.ends_with("END:VCALENDAR\r\n"),
        "{ics}"
    );
}

#[tokio::test]
async fn what_cannot_be_brought_is_refused_in_words_and_changes_nothing() {
    let desk = desk().await;
    let before = desk.names().await;
    let broken = COURSES.replace("END:VEVENT\r\n", "");
    let unknown = format!("embeddable = [\"Opera\"]\n{TASKS}");
    for (files, why) in [
        (json!({}), "nothing was sent"),
        (
            json!({ "courses": COURSES, "path": "/etc/passwd" }),
            "unknown field `path`",
        ),
        (json!({ "courses": broken, "tasks": TASKS }), "courses.ics"),
        (
            json!({ "courses": COURSES, "tasks": "weeks = many" }),
            "tasks.toml",
        ),
        (
            json!({ "courses": COURSES, "tasks": unknown }),
            "`Opera`, which is not in the calendar; its entries are \"Logic\"",
        ),
        // There is no class file yet that the timetable could go with.
        (json!({ "courses": COURSES }), "cannot read"),
    ] {
        let (status, told) = desk.bring(files.clone()).await;
        assert_eq!(
            (status.as_u16(), &told["error"]["type"]),
            (422, &json!("unusable")),
            "{files}"
        );
        let message = told["error"]["message"].as_str().expect("a message");
        assert!(message.contains(why), "{message}");
    }
    let large = json!({ "courses": "x".repeat(5000) });
    let (status, told) = desk.bring(large).await;
    assert_eq!(
        (status.as_u16(), &told["error"]["type"]),
        (413, &json!("too_large"))
    );
    assert_eq!(desk.names().await, before);
    let left = std::fs::read_dir(desk.folder.path()).expect("the folder");
    let names = left.map(|entry| entry.expect("an entry").file_name());
    let names: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    assert!(
        names.iter().all(|name| name.starts_with("schedule.db")),
        "{names:?}"
    );
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
    let frames: Vec<_> = told
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    let (last, chunks) = frames.split_last().expect("frames");
    assert_eq!(*last, "[DONE]");
    let chunks: Vec<Value> = chunks
        .iter()
        .map(|it| serde_json::from_str(it).expect("JSON"))
        .collect();
    let codes: Vec<_> = chunks
        .iter()
        .filter_map(|it| it.pointer("/ext/status/code"))
        .collect();
    assert!(codes.contains(&&json!("accepted")), "{codes:?}");
    let end = chunks
        .last()
        .and_then(|it| it.pointer("/choices/0/finish_reason"));
    assert_eq!(end, Some(&json!("stop")));
    // What was said is kept before the end is told, and the conversation has its title then.
    let (_, listed) = desk.ask("GET", "/threads", String::new()).await;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["threads"][0]["title"], "Hello there");
    let (_, shown) = desk
        .ask("GET", "/threads/desk/timeline", String::new())
        .await;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let kinds: Vec<_> = shown["timeline"]
        .as_array()
        .expect("items")
        .iter()
        .collect();
    assert_eq!(kinds[0]["text"], "Hello there");
    assert!(kinds.iter().any(|item| item["kind"] == "assistant_text"));
}

#[tokio::test]
async fn sch_132_unknown_classes_have_an_error_code() {
    let desk = desk().await;
    let body = json!({ "text": "Plan", "extra": { "task_class_ids": [1, 9] } });
    let (status, told) = desk
        .ask("POST", "/threads/desk/runs", body.to_string())
        .await;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(
        (status.as_u16(), &told["error"]["type"]),
        (422, &json!("unknown_task_class"))
    );
}
