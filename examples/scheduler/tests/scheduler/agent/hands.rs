//! Calls by hand.
use fugato::stream::ToolStatus;
use fugato_testkit::{Scripted, assert_contains, assert_starts_with};
use scheduler::{
    agent::{BY_HAND, CardAction, CardReply, Phase, QuestionTopic, Request},
    contract::Call,
    schedule::Slot,
};
use serde_json::{Value, json};

use crate::common::{
    FIRST, GYM, Talk, Turn, assert_paired, card, deps, ends, lies, look, place, plan, strict, task,
    told, week,
};

fn call(name: &str, arguments: &Value) -> Call {
    serde_json::from_value(json!({ "name": name, "arguments": arguments })).expect("a call")
}

async fn drag(call: Call) -> (Talk, Turn) {
    // The model has nothing to say, so asking it would fail the run.
    let model = Scripted::new([] as [&str; 0]);
    let deps = deps(week()).mind(strict(model.clone()));
    let stage = Talk::with(&deps, model);
    let scene = stage.request(Request::new("Move it").by_hand(call)).await;
    (stage, scene)
}

#[tokio::test]
async fn an_item_is_moved_by_hand_without_asking_anybody() {
    let to = json!({ "task_id": GYM, "new_day": 5, "new_slot_start": 3 });
    let (stage, scene) = drag(call("move", &to)).await;
    assert!(scene.is_finished());
    assert_eq!(scene.tools(), [("move", ToolStatus::Ok)]);
    assert_eq!(stage.model.requests().len(), 0);
    let agent = scene.state();
    assert_eq!(lies(agent, GYM), [Slot::new(5, 3, 4)]);
    assert_eq!((agent.phase, agent.wanted.clone()), (Phase::Done, None));
    // The call and its result are in the history like any other.
    let last = &agent.conversation.history;
    assert!(last.iter().any(|message| !message.tool_calls.is_empty()));
}

#[tokio::test]
async fn the_gates_hold_for_hands_too() {
    // A lecture takes sections 6 and 7 of day 4.
    let onto = json!({ "task_id": GYM, "new_day": 4, "new_slot_start": 6 });
    let (_, scene) = drag(call("move", &onto)).await;
    assert!(scene.is_finished());
    assert_ne!(scene.tools()[0].1, ToolStatus::Ok);
    assert_eq!(lies(scene.state(), GYM), [Slot::new(3, 1, 2)]);
    assert_starts_with(&scene.texts()[0], "That is not possible");
    // An item that has no place is placed, and not moved.
    let from = json!({ "task_id": FIRST, "new_day": 5, "new_slot_start": 3 });
    let (_, scene) = drag(call("move", &from)).await;
    assert_ne!(scene.tools()[0].1, ToolStatus::Ok);
}

fn moved() -> CardReply {
    let to = json!({ "task_id": GYM, "new_day": 5, "new_slot_start": 3 });
    let reply = CardReply::reject(Some("Move the gym to Friday.".into()));
    reply.by_hand(call("move", &to))
}

#[tokio::test]
async fn who_moves_an_item_in_place_of_answering_is_asked_anew() {
    let stage = Talk::new([
        task(),
        plan(["Only look"]),
        look("get_overview", json!({})),
        ends("done"),
        json!("That was it."),
    ]);
    let asked = stage.say("Look at my week").await;
    let again = stage.answer(moved()).await;
    assert_eq!(again.statuses(), ["resumed", "plan_confirm"]);
    assert_eq!(again.tools(), [("move", ToolStatus::Ok)]);
    assert_eq!(lies(again.state(), GYM), [Slot::new(5, 3, 4)]);
    assert_eq!(again.state().run.evidence, []);
    assert_ne!(again.card().id, asked.card().id);
    assert_eq!(card(&again), card(&asked));
    assert_eq!(stage.model.requests().len(), 2, "no model was asked");
    // The plan is unchanged, and is carried out.
    let end = stage.approve().await;
    assert!(end.is_finished());
}

#[tokio::test]
async fn a_suggested_schedule_is_asked_about_as_it_is_after_a_move() {
    let stage = Talk::by_rule(week());
    let mut asked = stage.say("Plan my weeks: place everything.").await;
    while card(&asked).topic != QuestionTopic::Schedule {
        asked = stage.approve().await;
    }
    let again = stage.answer(moved()).await;
    assert_eq!(card(&again).topic, QuestionTopic::Schedule);
    assert_eq!(lies(again.state(), GYM), [Slot::new(5, 3, 4)]);
    let end = stage.approve().await;
    assert!(end.is_finished());
    assert_eq!(lies(end.state(), GYM), [Slot::new(5, 3, 4)]);
}

#[tokio::test]
async fn who_moves_an_item_while_a_write_asks_is_followed_by_the_rest_of_the_plan() {
    let stage = Talk::new([
        task(),
        plan(["Place the first chapter", "Place the second"]),
        place(FIRST, 1, 3),
        place(FIRST, 2, 5),
    ]);
    stage.say("Place the chapters").await;
    let asked = stage.approve().await;
    assert_eq!(card(&asked).topic, QuestionTopic::Tool);
    let again = stage.answer(moved()).await;
    assert_eq!(again.tools(), [("move", ToolStatus::Ok)]);
    assert_eq!(again.statuses(), ["resumed", "executing", "tool_confirm"]);
    assert_eq!(card(&again).topic, QuestionTopic::Tool);
    let agent = again.state();
    assert_eq!(lies(agent, GYM), [Slot::new(5, 3, 4)]);
    assert_eq!(lies(agent, FIRST), []);
    assert_eq!((agent.plan.current, agent.plan.steps.len()), (0, 2));
    assert_paired(agent);
    // The next decision sees the refused call, and the call in its place.
    let seen = told(stage.model.requests().last().expect("a request"));
    let refused = "not executed, the user rejected it: Move the gym to Friday.";
    assert_contains(&seen, refused);
}

#[tokio::test]
async fn hands_in_place_of_an_answer_reach_nothing_else() {
    let stage = Talk::new([task(), plan(["Only look"]), plan(["Look again"])]);
    stage.say("Look at my week").await;
    let forged = CardReply::reject(None).by_hand(call("upsert_task_class", &json!({})));
    let again = stage.answer(forged).await;
    assert_eq!(again.tools(), []);
    assert_eq!(again.state().wanted, None);
    // An approval cannot have a call at the same time.
    let mut both = moved();
    both.action = Some(CardAction::Approve);
    assert_eq!(both.hands(&BY_HAND), None);
}
