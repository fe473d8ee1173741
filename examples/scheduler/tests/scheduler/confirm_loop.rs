//! SCH-T1: the person is asked, and the agent continues from the answer. No service, a scripted
//! model.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
mod common;

use common::{FIRST, Stage, assert_paired, ends, lies, place, plan, task};
use fugato::state::Role;
use scheduler::{
    agent::{CardReply, Phase, QuestionTopic},
    schedule::{PlacementStatus, Slot},
    service::{CardAnswer, answer_status},
};
use serde_json::{Value, json};

/// Returns a plan whose steps name no day, so they limit none.
fn two_steps() -> Value {
    plan(["Look for free time", "Place the first chapter"])
}

fn resume(id: &str, action: &str) -> CardAnswer {
    serde_json::from_value(json!({ "interaction_id": id, "type": "confirm", "action": action }))
        .unwrap()
}

#[tokio::test]
async fn sch_t1_a_plan_is_accepted() {
    let stage = Stage::new([task(), two_steps()]);
    let asked = stage.ask("Place the first chapter").await;
    assert_eq!(asked.card().topic, QuestionTopic::Plan);
    assert_eq!(
        asked.card().summary,
        "1. Look for free time (done when: it is so)\n2. Place the first chapter (done when: it is so)"
    );
    assert_eq!(asked.agent().phase, Phase::Interrupted);
    assert_eq!(stage.model.requests().len(), 2);

    stage.says(&common::look("find_free", json!({ "duration": 2 })));
    stage.says(&json!({ "action": "ask_user", "speak": "When?" }));
    let went_on = stage.reply(asked.open(), &CardReply::approve()).await;
    let told = ["confirmed", "executing", "executing", "ask_user"];
    assert_eq!(went_on.statuses(), told);
    assert_eq!(
        went_on.tools(),
        [("find_free".to_owned(), fugato::stream::ToolStatus::Ok)]
    );
    assert_eq!(went_on.agent().plan.steps.len(), 2);
    assert_eq!(went_on.card().summary, "When?");
}

#[tokio::test]
async fn sch_t1_a_plan_is_rejected() {
    let stage = Stage::new([task(), two_steps(), plan(["Only look"])]);
    let asked = stage.ask("Place the first chapter").await;
    let again = stage
        .reply(asked.open(), &CardReply::reject(Some("just look".into())))
        .await;
    assert_eq!(again.statuses(), ["rejected", "planning", "plan_confirm"]);
    assert_eq!(again.card().summary, "1. Only look (done when: it is so)");
    // The planner saw the reason, and the old plan was gone when it planned again.
    let seen = common::told(stage.model.requests().last().unwrap());
    assert!(seen.contains("just look"), "{seen}");
    assert!(!seen.contains("Look for free time"), "{seen}");
}

/// Starts a conversation that waits for consent to a write.
async fn writing(rest: impl IntoIterator<Item = Value>) -> (Stage, common::Scene) {
    let script = [task(), two_steps(), place(FIRST, 1, 3)];
    let stage = Stage::new(script.into_iter().chain(rest));
    let asked = stage.ask("Place the first chapter").await;
    let asked = stage.reply(asked.open(), &CardReply::approve()).await;
    assert_eq!(asked.card().topic, QuestionTopic::Tool);
    assert_eq!(lies(asked.agent(), FIRST), []);
    (stage, asked)
}

#[tokio::test]
async fn sch_t1_a_write_is_accepted() {
    let (stage, asked) = writing([]).await;
    let before = stage.model.requests().len();
    // The script is over, so the rest runs without a model.
    let done = stage.reply(asked.open(), &CardReply::approve()).await;
    assert!(
        done.error().contains("call 4 of a script with 3 replies"),
        "{}",
        done.error()
    );
    assert_eq!(stage.model.requests().len(), before + 1);
    let agent = stage.state().await;
    assert_eq!(lies(&agent, FIRST), [Slot::new(1, 3, 4)]);
    let placed = agent.schedule.as_ref().unwrap().task(FIRST).unwrap();
    assert_eq!(placed.status, PlacementStatus::Suggested);
    assert_eq!(agent.wanted, None);
    assert_paired(&agent);
    // The pair was in the history before the model was asked again.
    let seen = common::told(stage.model.requests().last().unwrap());
    assert!(seen.contains("placed task 3"), "{seen}");
}

#[tokio::test]
async fn sch_t1_a_write_is_rejected() {
    let (stage, asked) = writing([place(FIRST, 2, 5)]).await;
    let other = stage
        .reply(
            asked.open(),
            &CardReply::reject(Some("not on Monday".into())),
        )
        .await;
    assert_eq!(other.statuses(), ["rejected", "executing", "tool_confirm"]);
    assert_eq!(
        other.card().summary,
        "“Chapter 1” goes to Tue 2026-09-15, from section 5"
    );
    let agent = other.agent();
    assert_eq!(lies(agent, FIRST), []);
    assert_paired(agent);
    let said: Vec<_> = agent
        .conversation
        .history
        .iter()
        .rev()
        .take(2)
        .map(|message| (message.role, message.content.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (Role::User, "not on Monday"),
            (
                Role::Tool,
                "not executed, the user rejected it: not on Monday"
            ),
        ]
    );
}

#[tokio::test]
async fn sch_t1_a_question_is_answered() {
    let question = json!({ "action": "ask_user", "speak": "Mornings or evenings?" });
    let stage = Stage::new([
        task(),
        two_steps(),
        question,
        ends("next_plan"),
        json!({ "action": "ask_user", "speak": "And then?" }),
    ]);
    let asked = stage.ask("Place the first chapter").await;
    let asked = stage.reply(asked.open(), &CardReply::approve()).await;
    assert_eq!(asked.card().topic, QuestionTopic::AskUser);
    assert_eq!(asked.card().summary, "Mornings or evenings?");
    let went_on = stage
        .reply(asked.open(), &CardReply::text("mornings"))
        .await;
    // The answer counts as evidence, so the step could be closed.
    let told = ["resumed", "executing", "executing", "ask_user"];
    assert_eq!(went_on.statuses(), told);
    assert_eq!(went_on.agent().plan.current, 1);
    let seen = common::told(stage.model.requests().get(3).unwrap());
    assert!(
        seen.contains("Mornings or evenings?") && seen.contains("mornings"),
        "{seen}"
    );
}

#[tokio::test]
async fn sch_t1_a_stale_id_changes_nothing() {
    let (stage, asked) = writing([]).await;
    let (before, records) = (stage.state().await, stage.records().await);
    for id in ["interrupt#1~1", "nothing"] {
        let run = stage
            .service
            .resume(&stage.thread, &resume(id, "approve"), "")
            .unwrap();
        let refused = common::watch(run).await;
        assert_eq!(answer_status(&refused.end), Some("stale_resume"), "{id}");
    }
    assert_eq!(
        (stage.state().await, stage.records().await),
        (before, records)
    );
    assert_eq!(stage.model.requests().len(), 3);
    // The card is still open, and can be answered.
    let done = stage.reply(asked.open(), &CardReply::approve()).await;
    assert_eq!(done.tools().len(), 1);
}

#[tokio::test]
async fn sch_t1_an_unknown_action_changes_nothing() {
    let (stage, asked) = writing([]).await;
    let (before, records) = (stage.state().await, stage.records().await);
    let id = asked.open().id.to_string();
    let mut silent = resume(&id, "");
    silent.action = None;
    for answer in [resume(&id, "maybe"), silent] {
        let run = stage
            .service
            .resume(&stage.thread, &answer, "perhaps")
            .unwrap();
        let refused = common::watch(run).await;
        assert_eq!(answer_status(&refused.end), Some("invalid_confirm_action"));
    }
    assert_eq!(
        (stage.state().await, stage.records().await),
        (before, records)
    );
    let run = stage
        .service
        .resume(&stage.thread, &resume(&id, "approve"), "")
        .unwrap();
    assert_eq!(common::watch(run).await.tools().len(), 1);
}
