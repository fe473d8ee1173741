//! What a person does with their own hands.
use std::sync::Arc;

use fugato::{store::MemoryLog, stream::ToolStatus};
use fugato_testkit::Scripted;
use scheduler::{
    agent::{Phase, Request},
    contract::Call,
    schedule::Slot,
};
use serde_json::{Value, json};

use crate::common::{FIRST, GYM, Scene, Stage, deps, strict, week};

fn call(name: &str, arguments: &Value) -> Call {
    serde_json::from_value(json!({ "name": name, "arguments": arguments })).expect("a call")
}

async fn drag(call: Call) -> (Stage, Scene) {
    // The model has nothing to say, so asking it would fail the run.
    let model = Scripted::new([] as [&str; 0]);
    let deps = deps(week()).mind(strict(model.clone()));
    let stage = Stage::with(&deps, model, Arc::new(MemoryLog::default()), 30);
    let scene = stage.request(Request::new("Move it").by_hand(call)).await;
    (stage, scene)
}

#[tokio::test]
async fn an_item_is_moved_by_hand_without_asking_anybody() {
    let to = json!({ "task_id": GYM, "new_day": 5, "new_slot_start": 3 });
    let (stage, scene) = drag(call("move", &to)).await;
    assert!(scene.is_finished());
    assert_eq!(scene.tools(), [("move".to_owned(), ToolStatus::Ok)]);
    assert_eq!(stage.model.requests().len(), 0);
    let agent = scene.agent();
    let schedule = agent.schedule.as_ref().expect("a schedule");
    assert_eq!(schedule.task(GYM).unwrap().slots, [Slot::new(5, 3, 4)]);
    assert_eq!((agent.phase, agent.wanted.clone()), (Phase::Done, None));
    // The call and its result are in the history like any other.
    let last = &agent.conversation.history;
    assert!(last.iter().any(|message| !message.tool_calls.is_empty()));
}

#[tokio::test]
async fn the_gates_hold_for_hands_too() {
    // A lecture lies in sections 6 and 7 of day 4.
    let onto = json!({ "task_id": GYM, "new_day": 4, "new_slot_start": 6 });
    let (_, scene) = drag(call("move", &onto)).await;
    assert!(scene.is_finished());
    assert_ne!(scene.tools()[0].1, ToolStatus::Ok);
    let schedule = scene.agent().schedule.as_ref().expect("a schedule");
    assert_eq!(schedule.task(GYM).unwrap().slots, [Slot::new(3, 1, 2)]);
    assert!(scene.texts()[0].starts_with("That is not possible"));
    // An item that has no place is placed, and not moved.
    let (_, scene) = drag(call(
        "move",
        &json!({ "task_id": FIRST, "new_day": 5, "new_slot_start": 3 }),
    ))
    .await;
    assert_ne!(scene.tools()[0].1, ToolStatus::Ok);
}
