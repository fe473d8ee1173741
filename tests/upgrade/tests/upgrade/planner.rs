use planner::exchange::Exchange;
use serde_json::{Value, json};

use crate::{
    fixture::{Fixture, Serving},
    served::last_words,
};

/// The number of orders when a copy is opened.
const TRADES: usize = 1;

pub(crate) fn fixture() -> Fixture {
    Fixture::of("planner")
}

fn trades(serving: &Serving) -> usize {
    let desk = Exchange::open(serving.opened.program.path("planner-data/desk.db")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(desk.trades(10)).unwrap().len()
}

fn answer(question: &Value) -> Value {
    match question["schema"]["type"].as_str() {
        Some("boolean") => json!(true),
        _ => json!("glimmer"),
    }
}

#[test]
fn planner_threads_read_the_same() {
    fixture().reads_the_same();
}

#[test]
fn planner_orders_are_placed_once() {
    for thread in ["order", "model"] {
        places_one(&fixture(), thread);
    }
}

#[test]
fn planner_interrupted_threads_go_on_and_place_one_order() {
    for thread in ["fork", "killed"] {
        places_one(&fixture(), thread);
    }
}

pub(crate) fn places_one(fixture: &Fixture, thread: &str) {
    let serving = fixture.open(thread).serve();
    assert_eq!(trades(&serving), TRADES, "{thread}");
    serving.recovers(thread);
    let view = serving.answers(thread, answer);
    assert_eq!(view["status"], "idle", "{thread}: {view}");
    assert_eq!(trades(&serving), TRADES + 1, "{thread}: {view}");
    assert!(last_words(&view).contains("order #"), "{thread}: {view}");
}

#[test]
fn planner_a_question_is_answered() {
    takes_an_answer(&fixture());
}

pub(crate) fn takes_an_answer(fixture: &Fixture) {
    let serving = fixture.open("question").serve();
    let view = serving.answers("question", answer);
    let words = last_words(&view);
    assert!(
        words.contains("made the trader alpha with glimmer"),
        "{view}"
    );
}

#[test]
fn planner_finished_threads_take_another_request() {
    for thread in ["done", "told", "memory", "copy"] {
        tells_balances(&fixture(), thread);
    }
}

pub(crate) fn tells_balances(fixture: &Fixture, thread: &str) {
    let serving = fixture.open(thread).serve();
    let view = serving.says(thread, "what is my balance");
    assert!(last_words(&view).contains("Balances:"), "{thread}: {view}");
}
