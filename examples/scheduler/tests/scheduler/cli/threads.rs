//! The stored data of a person: listed, exported, removed.
use super::work::Work;
use fugato_testkit::{Server, TestProgram, assert_contains, assert_lacks, assert_starts_with};
use serde_json::json;

#[test]
fn conversations_are_listed_with_their_titles_and_states() {
    let work = Work::new();
    let none = work.err(&["threads"]);
    assert!(none.contains("there are no conversations"), "{none}");
    work.ok(&["--yes"]);
    work.ok(&["--thread", "spring", "--request", "plan my week"]);
    let listed = work.ok(&["threads"]);
    let default = "default  finished  Plan my weeks: place everything.\n";
    let spring = "spring  waits for an answer  plan my week\n";
    assert_eq!(listed, [default, spring].concat());
}

#[test]
fn everything_of_a_conversation_can_be_taken_along() {
    let work = Work::new();
    work.ok(&["--yes"]);
    work.ok(&["--request", "make a note: buy milk"]);
    let said = work.ok(&["export", "mine"]);
    assert!(said.contains("written: mine"), "{said}");
    let events = |ics: &str| ics.matches("BEGIN:VEVENT").count();
    assert_eq!(events(&work.read("mine/schedule.ics")), 21);
    assert_eq!(
        work.read("mine/notes.jsonl"),
        "{\"kind\":\"note\",\"text\":\"buy milk\"}\n"
    );
    let log = work.read("mine/log.jsonl");
    let history = work.ok(&["history", "--full"]);
    assert_eq!(log.lines().count(), history.lines().count());
    for line in log.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(
            record["seq"].is_u64() && record["fact"].is_object(),
            "{line}"
        );
    }
    let schedule: serde_json::Value =
        serde_json::from_str(&work.read("mine/schedule.json")).unwrap();
    assert_eq!(schedule, work.calendar());
    for input in ["courses.ics", "tasks.toml"] {
        let copy = work.read(&format!("scheduler-data/default/{input}"));
        assert_eq!(work.read(&format!("mine/{input}")), copy);
    }
}

#[test]
fn a_conversation_is_removed_as_a_whole_and_only_if_the_person_agrees() {
    let work = Work::new();
    work.ok(&["--yes"]);
    work.ok(&["--thread", "spring", "--yes"]);
    let kept = work.err(&["delete", "default"]);
    assert!(kept.contains("nothing was deleted; --yes"), "{kept}");
    assert!(work.ok(&["threads"]).contains("default"));
    let deleted = work.ok(&["delete", "default", "--yes"]);
    assert_eq!(deleted, "deleted: default\n");
    let left = work.ok(&["threads"]);
    assert_starts_with(&left, "spring  finished");
    assert_lacks(&left, "default");
    assert!(!work.path("scheduler-data/default").exists());
    assert_eq!(work.calendars(&["default", "spring"]), [false, true]);
    let again = work.err(&["delete", "default", "--yes"]);
    assert_contains(&again, "nothing of a conversation \"default\"");
    // A new conversation can have the same name.
    assert!(work.ok(&["--yes"]).contains("21 items placed"));
}

#[test]
fn a_conversation_that_a_client_deletes_leaves_nothing_for_its_namesake() {
    let work = Work::new();
    work.ok(&["--thread", "spring", "--yes"]);
    assert_eq!(work.calendars(&["spring"]), [true]);
    let server = work.server(&["serve", "--listen", "127.0.0.1:0"]);
    let delete = ("DELETE", "/threads/spring");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let deleted = runtime.block_on(Server::ask(server.address(), delete, &[], ""));
    assert_eq!(deleted.unwrap(), (204, String::new()));
    drop(server);
    assert_eq!(work.calendars(&["spring"]), [false]);
    assert!(!work.path("scheduler-data/spring").exists());
}

#[test]
fn conversations_can_share_a_calendar_and_a_copy_has_its_own() {
    let work = Work::new();
    let shared = ["--schedule", "terms.db", "--calendar", "term"];
    work.ok(&[&["--yes"], &shared[..]].concat());
    // The other one finds everything placed, and has nothing to do.
    let other = [&["--thread", "other", "--yes"], &shared[..]].concat();
    let said = work.ok(&other);
    assert!(!said.contains("21 items placed"), "{said}");
    assert!(work.path("terms.db").exists());
    let bad = work.err(&["--schedule", "http://host/x"]);
    assert_contains(&bad, "allowed are a path, sqlite:PATH, mysql://");
    let bad = work.err(&["--store", "ftp://me:secret@host/x"]);
    assert_contains(&bad, "postgres://");
    assert_lacks(&bad, "secret");
}

#[test]
fn sch_c6_finished_conversations_go_when_their_time_is_over() {
    let work = Work::new();
    work.ok(&["--yes", "--thread", "old"]);
    // One that waits stays, and so do all as long as nobody says otherwise.
    work.ok(&["--thread", "open"]);
    work.ok(&["--yes", "--thread", "kept", "--keep-finished", "2h"]);
    let listed = work.ok(&["threads"]);
    assert_contains(&listed, ["old  finished", "open  waits", "kept  finished"]);
    work.ok(&["--yes", "--thread", "last", "--keep-finished", "0s"]);
    let listed = work.ok(&["threads"]);
    assert_contains(&listed, "open  waits");
    assert_lacks(&listed, ["old", "kept", "last"]);
    assert!(!work.path("scheduler-data/old").exists());
    assert_eq!(work.calendars(&["old", "open"]), [false, true]);
    let wrong = work.err(&["--keep-finished", "soon"]);
    assert_contains(&wrong, ["soon", "allowed are forever"]);
}

#[test]
fn nothing_of_others_is_overwritten_by_an_export() {
    let work = Work::new();
    work.ok(&["--yes"]);
    std::fs::create_dir(work.path("mine")).unwrap();
    work.write("mine/tasks.toml", "keep");
    let refused = work.err(&["export", "mine"]);
    assert_contains(&refused, ["mine is not empty", "new or empty"]);
    assert_eq!(work.read("mine/tasks.toml"), "keep");
    assert!(!work.path("mine/log.jsonl").exists());
    assert_contains(&work.err(&["export", "."]), "is not empty");
}

/// All conversations of a server are about one calendar, whose files lie in the folder of one of them.
#[tokio::test]
async fn who_removes_a_conversation_of_a_server_leaves_the_files_of_the_calendar() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
    let data = program.path("data").display().to_string();
    let served = program.server(&["serve", "--listen", "127.0.0.1:0", "--dir", &data]);
    let ask = async |method, path, body: &str| {
        let answer = Server::ask(served.address(), (method, path), &[], body).await;
        answer.expect("the server answers")
    };
    let said = r#"{"messages": [{"role": "user", "content": "help"}], "ext": {"conversation_id": "default"}}"#;
    assert_eq!(ask("POST", "/v1/chat/completions", said).await.0, 200);
    // The end of the run may be told before its lease is given back.
    let mut removed = ask("DELETE", "/threads/default", "").await;
    while removed.0 == 409 {
        tokio::task::yield_now().await;
        removed = ask("DELETE", "/threads/default", "").await;
    }
    assert_eq!(removed.0, 204, "{}", removed.1);
    let import = json!({ "courses": "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n" });
    let (status, told) = ask("PUT", "/calendar", &import.to_string()).await;
    assert_eq!(status, 200, "{told}");
    let (status, told) = ask("GET", "/calendar.ics", "").await;
    assert_eq!(status, 200, "{told}");

    // Where the files of the server lie is its operator's.
    std::fs::remove_dir_all(program.path("data/default")).expect("the folder is there");
    for (method, path, body) in [
        ("PUT", "/calendar", import.to_string()),
        ("GET", "/calendar.ics", String::new()),
    ] {
        let (status, told) = ask(method, path, &body).await;
        assert_eq!(status, 422, "{told}");
        assert_lacks(&told, [data.as_str()]);
    }
}
