use fugato_testkit::TestProgram;
use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, Serving, program},
    served::last_words,
};

fn fixture() -> Fixture {
    Fixture::of("react")
}

fn file(serving: &Serving, name: &str) -> Option<String> {
    let path = serving.opened.program.path("react-data/files").join(name);
    std::fs::read_to_string(path).ok()
}

fn yes(_: &Value) -> Value {
    json!(true)
}

#[test]
fn react_threads_read_the_same() {
    fixture().reads_the_same();
}

#[test]
fn k32_a_check_by_another_program_ends_with_its_exit_code() {
    let react = fixture().open("card");
    let store = react.program.path("react-data/threads.db");
    let store = ["--store", store.to_str().unwrap()];
    let planner = TestProgram::new(program("planner"));
    let checks = |more: &[&str]| {
        let line = [&store[..], &["--dir", "planner-data", "check"], more].concat();
        let done = planner.command(&line).output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    let (code, told) = checks(&[]);
    assert_eq!(code, Some(3), "{told}");
    let of_card = told.lines().find(|line| line.starts_with("card at "));
    assert!(
        of_card.is_some_and(|line| line.contains(": cannot be read: ")),
        "{told}"
    );
    let (code, told) = checks(&["--prefix", "nothing"]);
    let none = "checked 0: 0 go on, 0 migrate, 0 are refused, 0 cannot be read, 0 could not be looked at\n";
    assert_eq!((code, &*told), (Some(0), none));
    // Nothing has changed.
    let view = fixture().open("card").serve().answers("card", yes);
    assert_eq!(view["status"], "idle", "{view}");
}

#[test]
fn react_cards_are_answered_and_each_writes_its_file() {
    for (thread, name, text) in [
        ("card", "list.md", "tea"),
        ("fork", "list.md", "tea"),
        ("model", "m.md", "milk"),
    ] {
        let serving = fixture().open(thread).serve();
        if thread == "fork" {
            serving.recovers(thread);
        }
        assert_eq!(file(&serving, name), None, "{thread}");
        let view = serving.answers(thread, yes);
        assert_eq!(view["status"], "idle", "{thread}: {view}");
        assert_eq!(file(&serving, name).as_deref(), Some(text), "{thread}");
        assert!(last_words(&view).contains(name), "{thread}: {view}");
    }
}

#[test]
fn react_a_card_that_is_refused_writes_nothing() {
    let serving = fixture().open("card").serve();
    let view = serving.answers("card", |_| json!(false));
    assert_eq!(view["status"], "idle", "{view}");
    assert_eq!(file(&serving, "list.md"), None);
}

#[test]
fn react_a_killed_run_goes_on() {
    let serving = fixture().open("killed").serve();
    let view = serving.recovers("killed");
    assert_eq!(view["status"], "idle", "{view}");
    assert!(!last_words(&view).is_empty(), "{view}");
}

#[test]
fn react_finished_threads_take_another_request() {
    for thread in ["sum", "written", "copy", "memory", "said"] {
        let serving = fixture().open(thread).serve();
        let view = serving.says(thread, "1 + 1");
        assert!(last_words(&view).contains("= 2"), "{thread}: {view}");
    }
    let serving = fixture().open("sum").serve();
    let view = serving.says("sum", "remember that I drink tea");
    assert!(last_words(&view).contains("tea"), "{view}");
    assert_eq!(file(&serving, "done.md").as_deref(), Some("coffee"));
}
