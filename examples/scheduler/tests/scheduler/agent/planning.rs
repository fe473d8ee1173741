//! Making a plan.

use fugato::llm::{ModelError, ModelErrorKind, Thinking};
use fugato_testkit::{Scripted, ScriptedReply as Said};
use scheduler::{
    agent::{CardReply, Phase, QuestionTopic, Request},
    llm_config::{LlmConfig, ModelStage, OnFailure},
};
use serde_json::{Value, json};

use crate::common::{Talk, Turn, ask_user, card, deps, look, plan, strict, task, week};

fn complex() -> Value {
    let mut plan = plan(["A quick step"]);
    plan["complexity"] = json!("complex");
    plan
}

#[tokio::test]
async fn sch_33_a_complex_request_gets_a_second_slower_look() {
    let deep = plan(["A careful step", "Another one"]);
    let stage = Talk::new([task(), complex(), deep]);
    let asked = stage.say("Rebuild my month").await;
    assert_eq!(asked.state().plan.steps.len(), 2);
    assert_eq!(stage.model.requests()[2].thinking, Thinking::On);
    // A simple one is planned in one call.
    let simple = Talk::new([task(), plan(["One step"])]);
    simple.say("Move gym").await;
    assert_eq!(simple.model.requests().len(), 2);
}

#[tokio::test]
async fn sch_33_a_quick_plan_stands_in_for_a_deep_one_that_fails() {
    let failed = Said::error(ModelError::new(ModelErrorKind::Other, "gone"));
    let mind = LlmConfig {
        on_failure: OnFailure::Rules,
        ..strict(Scripted::new([task().into(), complex().into(), failed]))
    };
    let asked = Talk::minded(mind).say("Rebuild my month").await;
    let quick = "1. A quick step (done when: it is so)";
    assert_eq!(card(&asked).summary, quick);
    assert!(!asked.texts().concat().contains("did not answer"));
}

#[tokio::test]
async fn sch_34_a_plan_in_one_call() {
    let model = Scripted::new([task(), complex()]);
    let mut mind = strict(model.clone());
    mind.stages.of_mut(ModelStage::Plan).max_tokens = Some(60_000);
    mind.stages.drop_deep_plan();
    let stage = Talk::with(&deps(week()).mind(mind), model);
    let asked = stage.say("Rebuild my month").await;
    assert_eq!(card(&asked).topic, QuestionTopic::Plan);
    let requests = stage.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].sampling.temperature, Some(0.2));
    assert_eq!(requests[1].sampling.max_tokens, Some(60_000));
}

#[tokio::test]
async fn sch_36_each_action_of_a_plan_leads_on() {
    let more = json!({ "action": "continue", "speak": "Let me think." });
    let question = ask_user("Which week?");
    let stage = Talk::new([task(), more, question, plan(["Look"])]);
    let asked = stage.say("Arrange it").await;
    assert_eq!(asked.texts(), ["Let me think."]);
    assert_eq!(card(&asked).topic, QuestionTopic::AskUser);
    assert_eq!(asked.state().phase, Phase::Interrupted);
    let planned = stage.answer(CardReply::text("next week")).await;
    assert_eq!(card(&planned).topic, QuestionTopic::Plan);
    let history = planned.state().conversation.history.iter();
    let said: Vec<_> = history.map(|message| &*message.content).collect();
    let expected = "Arrange it | Let me think. | Which week? | next week | Here is the plan.";
    assert_eq!(said.join(" | "), expected);
}

/// Carries out a plan with this hook until it asks.
async fn hooked(hook: Value) -> Turn {
    let mut planned = plan(["Look"]);
    planned["context_hook"] = hook;
    let question = ask_user("Enough?");
    let stage = Talk::new([task(), planned, look("get_overview", json!({})), question]);
    stage.request(Request::new("Look").always_execute()).await
}

#[tokio::test]
async fn sch_95_execution_begins_with_tools_of_the_schedule() {
    for hook in [
        json!(null),
        json!({ "domain": "schedule", "packs": ["mutation"] }),
        json!({ "domain": "magic", "packs": [] }),
        json!({ "domain": "schedule", "packs": ["spells"] }),
    ] {
        let scene = hooked(hook.clone()).await;
        assert_eq!(scene.tools().len(), 1, "{hook}");
        let active = &scene.state().tools;
        assert_eq!(active.domain.as_deref(), Some("schedule"), "{hook}");
        assert!(active.packs.contains("mutation"));
    }
}

#[tokio::test]
async fn a_plan_does_not_invent_classes() {
    let mut planned = plan(["Look"]);
    planned["task_class_ids"] = json!([1, 99]);
    let stage = Talk::new([task(), planned]);
    let asked = stage.request(Request::new("Look").classes([1, 2])).await;
    assert_eq!(asked.state().task_class_ids, [1]);
}
