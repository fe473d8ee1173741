use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, Serving},
    served::last_words,
};

pub(crate) fn fixture() -> Fixture {
    Fixture::of("scheduler")
}

fn answer(question: &Value) -> Value {
    match question["prompt"]["type"].as_str() {
        Some("confirm") => json!({ "action": "approve" }),
        _ => json!({ "text": "accept the risk and close" }),
    }
}

/// The number of writes to the calendar.
fn kept(serving: &Serving, thread: &str) -> usize {
    let log = serving.log(thread, 1);
    log.iter()
        .filter(|entry| entry["fact"]["receipt"].is_object())
        .count()
}

#[test]
fn scheduler_threads_read_the_same() {
    fixture().reads_the_same();
}

#[test]
fn scheduler_cards_are_agreed_to_and_kept_once() {
    // The place that is agreed to in `place` was in the future when it was asked about, and is over
    // now: this is said, and nothing is kept.
    for (thread, writes) in [
        ("keep", 1),
        ("plan", 0),
        ("place", 0),
        ("question", 0),
        ("choice", 1),
    ] {
        keeps(&fixture(), thread, writes);
    }
}

pub(crate) fn keeps(fixture: &Fixture, thread: &str, writes: usize) {
    let serving = fixture.open(thread).serve();
    assert_eq!(kept(&serving, thread), 0, "{thread}");
    let view = serving.answers(thread, answer);
    assert_eq!(view["status"], "idle", "{thread}: {view}");
    assert_eq!(kept(&serving, thread), writes, "{thread}: {view}");
}

#[test]
fn scheduler_interrupted_threads_go_on() {
    for thread in ["fork", "killed"] {
        let serving = fixture().open(thread).serve();
        serving.recovers(thread);
        let view = serving.answers(thread, answer);
        assert_eq!(view["status"], "idle", "{thread}: {view}");
    }
}

#[test]
fn scheduler_finished_threads_take_another_request() {
    for thread in ["kept", "draft", "note", "copy"] {
        takes_a_note(&fixture(), thread);
    }
}

pub(crate) fn takes_a_note(fixture: &Fixture, thread: &str) {
    let serving = fixture.open(thread).serve();
    let view = serving.says(thread, "Make a note: buy bread");
    assert!(
        last_words(&view).contains("Noted: buy bread"),
        "{thread}: {view}"
    );
}
