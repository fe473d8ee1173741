use serde_json::{Value, json};

use crate::{fixture::Fixture, served::last_words};

fn fixture() -> Fixture {
    Fixture::of("transparent")
}

fn yes(_: &Value) -> Value {
    json!(true)
}

#[test]
fn transparent_threads_read_the_same() {
    fixture().reads_the_same();
}

#[test]
fn transparent_cards_are_answered() {
    for (thread, words) in [
        ("card", "tea is ready"),
        ("fork", "tea is ready"),
        ("reminder", "It is scheduled"),
    ] {
        let serving = fixture().open(thread).serve();
        serving.recovers(thread);
        let view = serving.answers(thread, yes);
        assert_eq!(view["status"], "idle", "{thread}: {view}");
        assert!(last_words(&view).contains(words), "{thread}: {view}");
    }
}

#[test]
fn transparent_a_notice_that_was_cut_short_is_shown() {
    let serving = fixture().open("doubt").serve();
    serving.recovers("doubt");
    let view = serving.answers("doubt", yes);
    assert!(last_words(&view).contains("the bath is full"), "{view}");
    let items = view["timeline"].as_array().unwrap();
    let shown = items.iter().filter(|item| item["card"] == "notification");
    assert_eq!(shown.count(), 1, "{view}");
}

#[test]
fn transparent_a_killed_run_goes_on() {
    let serving = fixture().open("killed").serve();
    let view = serving.recovers("killed");
    assert_eq!(view["status"], "idle", "{view}");
    assert!(!last_words(&view).is_empty(), "{view}");
}

#[test]
fn transparent_jobs_and_memories_are_still_known() {
    let serving = fixture().open("yearly").serve();
    let view = serving.says("yearly", "有哪些定时任务");
    assert!(last_words(&view).contains("call Ann"), "{view}");
    let serving = fixture().open("memory").serve();
    let view = serving.says("memory", "what do you know about rain");
    assert!(last_words(&view).contains("I like rain"), "{view}");
}

#[test]
fn transparent_finished_threads_take_another_request() {
    for thread in ["found", "told", "copy", "long", "once"] {
        let serving = fixture().open(thread).serve();
        let view = serving.says(thread, "find the project plan");
        assert!(last_words(&view).contains("plan_v1.md"), "{thread}: {view}");
    }
}
