use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, Serving},
    served::last_words,
};

const TRIP: &str = "申请出差：2096年3月2日到2096年3月5日去上海拜访客户，坐火车，预算1200元";

pub(crate) fn fixture() -> Fixture {
    Fixture::of("steward")
}

/// The number of applications and claims that are written.
fn written(serving: &Serving) -> (usize, usize) {
    let documents = serving.get("/steward/documents");
    let count = |name: &str| documents[name].as_array().map_or(0, Vec::len);
    (count("applications"), count("reimbursements"))
}

/// Uploads the file that a claim of an older version only named: a name is no attachment any more.
fn attach(serving: &Serving, thread: &str) {
    let content = "JVBERi0xLjQgdGF4aQ==";
    let file = json!({ "conversation_id": thread, "name": "发票.pdf", "content": content });
    let (status, told) = serving.ask("POST", "/steward/attachments", &file);
    assert_eq!(status, 200, "{told}");
}

fn agree(_: &Value) -> Value {
    json!({ "action": "approve" })
}

#[test]
fn steward_threads_read_the_same() {
    fixture().reads_the_same();
}

#[test]
fn steward_cards_are_agreed_to_and_write_once() {
    for (thread, more) in [("trip", (1, 0)), ("claim", (0, 1)), ("both", (1, 1))] {
        writes(&fixture(), thread, more);
    }
}

#[test]
fn steward_interrupted_threads_go_on_and_write_once() {
    for thread in ["fork", "killed"] {
        writes(&fixture(), thread, (1, 0));
    }
}

pub(crate) fn writes(fixture: &Fixture, thread: &str, more: (usize, usize)) {
    let serving = fixture.open(thread).serve();
    let before = written(&serving);
    assert_eq!(before, (1, 0), "{thread}");
    serving.recovers(thread);
    let mut view = serving.answers(thread, agree);
    if written(&serving).0 == before.0 && more.0 > 0 {
        // A check before a write counts for minutes; then the person has to ask once more.
        assert!(last_words(&view).contains("已过期"), "{thread}: {view}");
        let wish = view["timeline"][0]["text"].as_str().unwrap();
        if more.1 > 0 {
            attach(&serving, thread);
        }
        serving.says(thread, wish);
        view = serving.answers(thread, agree);
    }
    assert_eq!(view["status"], "idle", "{thread}: {view}");
    let after = (before.0 + more.0, before.1 + more.1);
    assert_eq!(written(&serving), after, "{thread}: {view}");
}

#[test]
fn steward_a_card_that_is_refused_writes_nothing() {
    let serving = fixture().open("trip").serve();
    let view = serving.answers("trip", |_| json!({ "action": "reject" }));
    assert_eq!(view["status"], "idle", "{view}");
    assert_eq!(written(&serving), (1, 0), "{view}");
}

#[test]
fn steward_a_form_is_completed() {
    completes_a_form(&fixture());
}

pub(crate) fn completes_a_form(fixture: &Fixture) {
    let serving = fixture.open("form").serve();
    let rest = "事由拜访客户，2096年6月1日到2096年6月3日，预算1000元";
    serving.says("form", rest);
    let view = serving.answers("form", agree);
    assert_eq!(written(&serving), (2, 0), "{view}");
}

#[test]
fn steward_finished_threads_take_another_request() {
    for thread in ["done", "copy", "topic", "blocked"] {
        takes_another(&fixture(), thread);
    }
}

pub(crate) fn takes_another(fixture: &Fixture, thread: &str) {
    let serving = fixture.open(thread).serve();
    let view = serving.says(thread, TRIP);
    assert_eq!(view["status"], "waiting", "{thread}: {view}");
    let view = serving.answers(thread, agree);
    assert_eq!(written(&serving), (2, 0), "{thread}: {view}");
}
