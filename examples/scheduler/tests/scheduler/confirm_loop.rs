//! SCH-T1: the person is asked, and the agent continues from the answer. No service, a scripted
//! model.
use crate::common::{
    FIRST, Talk, Turn, ask_user, assert_paired, card, ends, lies, look, place, plan, task, told,
};
use expect_test::expect;
use fugato::{
    graph::{AnswerError, RunError, RunErrorKind},
    state::Role,
};
use fugato_testkit::{assert_contains, session::TurnEnd};
use scheduler::{
    agent::{CardReply, QuestionTopic},
    schedule::{PlacementStatus, Slot},
};
use serde_json::{Value, json};

/// Returns a plan whose steps name no day, so they limit none.
fn two_steps() -> Value {
    plan(["Look for free time", "Place the first chapter"])
}

/// Returns the reason for which an answer was not accepted.
fn refusal(turn: Turn) -> AnswerError {
    match turn.end {
        TurnEnd::Run(Err(RunError {
            kind: RunErrorKind::Answer(refused),
            ..
        })) => refused,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn sch_t1_a_plan_is_accepted() {
    let free = look("find_free", json!({ "duration": 2 }));
    let question = ask_user("When?");
    let stage = Talk::new([task(), two_steps(), free, question]);
    stage.say("Place the first chapter").await;
    assert_eq!(stage.model.requests().len(), 2);
    stage.approve().await;
    assert_eq!(stage.state().await.plan.steps.len(), 2);
    expect![[r#"
        > Place the first chapter
          status accepted
          model_call {"answer":"{\"intent\":\"task\"}","attempts":[{"failure":null,"model":"scripted"}],"prompt":"system:…
          status planning
          model_call {"answer":"{\"action\":\"plan_done\",\"plan_steps\":[{\"content\":\"Look for free time\",\"done_when…
          status plan_confirm
        ? [<code 1>] Shall I carry out this plan?
          1. Look for free time (done when: it is so)
          2. Place the first chapter (done when: it is so)
        = Here is the plan.
        < {"action":"approve"}
          status confirmed, executing
          model_call {"answer":"{\"action\":\"continue\",\"tool_call\":{\"arguments\":{\"duration\":2},\"name\":\"find_fr…
          tool find_free: duration=2 → ok: 16 free ranges, 1 inside courses
          status executing, ask_user
          model_call {"answer":"{\"action\":\"ask_user\",\"speak\":\"When?\"}","attempts":[{"failure":null,"model":"scrip…
        ? A question
          When?
    "#]].assert_eq(&stage.transcript());
}

#[tokio::test]
async fn sch_t1_a_plan_is_rejected() {
    let stage = Talk::new([task(), two_steps(), plan(["Only look"])]);
    stage.say("Place the first chapter").await;
    let rejected = CardReply::reject(Some("just look".into()));
    let again = stage.answer(rejected).await;
    assert_eq!(again.statuses(), ["rejected", "planning", "plan_confirm"]);
    assert_eq!(card(&again).summary, "1. Only look (done when: it is so)");
    // The planner saw the reason, and the old plan was gone when it planned again.
    let seen = told(stage.model.requests().last().unwrap());
    assert_contains(&seen, "just look");
    assert!(!seen.contains("Look for free time"), "{seen}");
}

/// Starts a conversation that waits for consent to a write.
async fn writing(rest: impl IntoIterator<Item = Value>) -> Talk {
    let script = [task(), two_steps(), place(FIRST, 1, 3)];
    let stage = Talk::new(script.into_iter().chain(rest));
    stage.say("Place the first chapter").await;
    let asked = stage.approve().await;
    assert_eq!(card(&asked).topic, QuestionTopic::Tool);
    assert_eq!(lies(asked.state(), FIRST), []);
    stage
}

#[tokio::test]
async fn sch_t1_a_write_is_accepted() {
    let stage = writing([]).await;
    let before = stage.model.requests().len();
    // The script is over, so the rest runs without a model.
    let done = stage.approve().await;
    assert_contains(&done.error(), "call 4 of a script with 3 replies");
    assert_eq!(stage.model.requests().len(), before + 1);
    let agent = stage.state().await;
    assert_eq!(lies(&agent, FIRST), [Slot::new(1, 3, 4)]);
    let placed = agent.schedule.as_ref().unwrap().task(FIRST).unwrap();
    assert_eq!(placed.status, PlacementStatus::Suggested);
    assert_eq!(agent.wanted, None);
    assert_paired(&agent);
    // The pair was in the history before the model was asked again.
    let seen = told(stage.model.requests().last().unwrap());
    assert_contains(&seen, "placed task 3");
}

#[tokio::test]
async fn sch_t1_a_write_is_rejected() {
    let stage = writing([place(FIRST, 2, 5)]).await;
    let rejected = CardReply::reject(Some("not on Monday".into()));
    let other = stage.answer(rejected).await;
    assert_eq!(other.statuses(), ["rejected", "executing", "tool_confirm"]);
    let tuesday = "“Chapter 1” goes to Tue 2054-09-15, 14:00–15:40";
    assert_eq!(card(&other).summary, tuesday);
    let agent = other.state();
    assert_eq!(lies(agent, FIRST), []);
    assert_paired(agent);
    let [.., result, said] = &agent.conversation.history[..] else {
        panic!("a result and words")
    };
    let refused = "not executed, the user rejected it: not on Monday";
    assert_eq!((result.role, &*result.content), (Role::Tool, refused));
    assert_eq!((said.role, &*said.content), (Role::User, "not on Monday"));
}

#[tokio::test]
async fn sch_t1_a_question_is_answered() {
    let asks = |speak: &str| json!({ "action": "ask_user", "speak": speak });
    let question = asks("Mornings or evenings?");
    let stage = Talk::new([
        task(),
        two_steps(),
        question,
        ends("next_plan"),
        asks("And then?"),
    ]);
    stage.say("Place the first chapter").await;
    let asked = stage.approve().await;
    assert_eq!(card(&asked).topic, QuestionTopic::AskUser);
    assert_eq!(card(&asked).summary, "Mornings or evenings?");
    let went_on = stage.answer(CardReply::text("mornings")).await;
    // The answer counts as evidence, so the step could be closed.
    let expected = ["resumed", "executing", "executing", "ask_user"];
    assert_eq!(went_on.statuses(), expected);
    assert_eq!(went_on.state().plan.current, 1);
    let seen = told(stage.model.requests().get(3).unwrap());
    assert_contains(&seen, ["Mornings or evenings?", "mornings"]);
}

#[tokio::test]
async fn sch_t1_a_stale_id_changes_nothing() {
    let stage = writing([]).await;
    let before = (stage.state().await, stage.records().await);
    for id in ["interrupt#1~1", "nothing"] {
        let refused = stage.resume(id, json!({ "action": "approve" })).await;
        let refused = refusal(refused);
        assert!(matches!(refused, AnswerError::Unknown { .. }), "{refused}");
    }
    let now = (stage.state().await, stage.records().await);
    assert_eq!(now, before);
    assert_eq!(stage.model.requests().len(), 3);
    // The card is still open, and can be answered.
    let done = stage.approve().await;
    assert_eq!(done.tools().len(), 1);
}

#[tokio::test]
async fn sch_t1_an_unknown_action_changes_nothing() {
    let stage = writing([]).await;
    let before = (stage.state().await, stage.records().await);
    let id = stage.card().id.to_string();
    for action in ["maybe", ""] {
        let answer = json!({ "action": action, "text": "perhaps" });
        let refused = refusal(stage.resume(&id, answer).await);
        assert!(matches!(refused, AnswerError::Schema { .. }), "{refused}");
    }
    let now = (stage.state().await, stage.records().await);
    assert_eq!(now, before);
    let done = stage.resume(&id, json!({ "action": "approve" })).await;
    assert_eq!(done.tools().len(), 1);
}
