//! Tests of the planner with a model.
use std::{collections::BTreeMap, time::Duration};

use crate::common::{TestResult, World, call, finish, order, plan, respond, say, status};
use fugato::{
    ChatRequest,
    agent::plan::WorkUpdate,
    graph::StateEdit,
    llm::{ModelError, ModelErrorKind},
    memory::ExecutionStatus,
};
use fugato_testkit::{Scripted, ScriptedReply, assert_contains, assert_starts_with};
use planner::{exchange::Kind, graph::PlanningMode, session::SessionUpdate};
use serde_json::json;

fn stages(model: &Scripted) -> Vec<String> {
    let stage = |request: &ChatRequest| request.metadata.get("stage").cloned().unwrap_or_default();
    model.requests().iter().map(stage).collect()
}

/// The reference scenario: a model plans, a person agrees, and a model answers.
#[tokio::test]
async fn the_reference_scenario_with_a_scripted_model() -> TestResult {
    let (world, model, planner) = World::scripted([
        plan(&[call("get_prices", &json!({})), order(), respond()]),
        finish(),
        ScriptedReply::text("You have a quarter of a bitcoin more."),
    ])?;
    let card = say(&planner, "Buy 0.25 BTC for me").await;
    assert_starts_with(&card, "Place an order: ");
    assert_eq!(
        say(&planner, "yes").await,
        "Done: order #1 is filled: buy 0.25 BTC-USDT, 0.25 done for 16002.5\n\n\
         You have a quarter of a bitcoin more."
    );
    assert_eq!(stages(&model), ["planner", "planner", "step"]);
    assert_eq!(world.desk.trades(10).await?.len(), 1);
    assert_eq!(status(&planner).await, ExecutionStatus::Completed);
    Ok(())
}

#[tokio::test]
async fn pln_16_the_same_by_batches() -> TestResult {
    let world = World::new()?;
    let model = Scripted::new([
        plan(&[
            call("get_prices", &json!({})),
            call("get_balances", &json!({})),
        ]),
        plan(&[order()]),
        plan(&[respond()]),
        ScriptedReply::text("Done."),
    ]);
    let deps = world
        .deps()
        .model(model.clone())
        .manner(PlanningMode::NextBatch);
    let planner = world.talk_with(deps);
    say(&planner, "Buy 0.25 BTC for me").await;
    let told = say(&planner, "确定").await;
    assert_starts_with(&told, "Done: order #1 is filled");
    assert_eq!(world.desk.trades(10).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn pln_16a_small_talk_is_answered_at_once_and_on_any_doubt_the_planner_is_asked() -> TestResult
{
    let talk = json!({ "action": "direct_answer", "answer": "Good morning!" });
    let unavailable = ModelError::new(ModelErrorKind::Unavailable, "maintenance");
    let (_, model, planner) = World::scripted([
        talk.into(),
        json!({ "action": "other" }).into(),
        plan(&[respond()]),
        ScriptedReply::text("Planned."),
        ScriptedReply::error(unavailable),
        plan(&[respond()]),
        ScriptedReply::text("Planned again."),
        plan(&[respond()]),
    ])?;
    // A message about the desk does not reach the gate.
    for (said, expected) in [
        ("Good morning", "Good morning!"),
        ("Explain what a spread is", "Planned."),
        ("Hello again", "Planned again."),
        ("Which models are there?", "Models: glimmer, harbour"),
    ] {
        assert_eq!(say(&planner, said).await, expected);
    }
    let expected = "direct_reply direct_reply planner step direct_reply planner step planner";
    assert_eq!(stages(&model).join(" "), expected);
    let gate = model.requests().first().map(|request| request.timeout);
    assert_eq!(gate, Some(Some(Duration::from_secs(8))));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn pln_14_pln_t6_a_planner_that_takes_too_long_has_a_message_and_loses_nothing() -> TestResult
{
    let (_, _, planner) = World::scripted([
        ScriptedReply::hang(),
        plan(&[respond()]),
        ScriptedReply::text("Here I am."),
        plan(&[respond()]),
        ScriptedReply::hang(),
    ])?;
    let start = tokio::time::Instant::now();
    let late = say(&planner, "explain my balance").await;
    assert_starts_with(&late, "The model took longer than I may wait.");
    assert_eq!(start.elapsed().as_secs(), 36);
    let goal = async || planner.state().await.work.execution.goal.clone();
    assert_eq!(goal().await, "explain my balance");
    let told = say(&planner, "try again").await;
    assert!(told.ends_with("\nHere I am."), "{told}");
    assert_eq!(goal().await, "explain my balance");
    let late = say(&planner, "解释余额").await;
    assert_starts_with(&late, "模型太久没有回答");
    assert_eq!(status(&planner).await, ExecutionStatus::Failed);
    Ok(())
}

#[tokio::test]
async fn pln_16_two_orders_that_are_alike_are_two() -> TestResult {
    let (world, _, planner) = World::scripted([
        plan(&[order(), order(), respond()]),
        json!({ "action": "continue" }).into(),
        finish(),
        ScriptedReply::text("Twice."),
    ])?;
    say(&planner, "Buy 0.25 BTC, twice").await;
    say(&planner, "yes").await;
    let told = say(&planner, "yes").await;
    assert_eq!(told.matches("Done: order #").count(), 2, "{told}");
    assert_eq!(world.desk.trades(10).await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn pln_w5_pln_t8_a_plan_for_other_tools_is_dropped_or_goes_on() -> TestResult {
    let rest = || json!({ "action": "continue" }).into();
    let new = json!({ "action": "replace_remaining", "steps": [respond()] }).into();
    let whole = "place_order get_balances ";
    for (changed, reviews, expected) in [
        ("get_balances", vec![rest(), new], "place_order "),
        ("cancel_order", vec![rest()], whole),
    ] {
        let look = call("get_balances", &json!({}));
        let begin = [plan(&[order(), look, respond()])]
            .into_iter()
            .chain(reviews);
        let script = begin.chain([ScriptedReply::text("Done.")]);
        let (_, model, planner) = World::scripted(script)?;
        say(&planner, "Buy 0.25 BTC").await;
        let mut tools: BTreeMap<String, String> = planner.state().await.work.tools.clone();
        let known = tools.insert(changed.into(), "as it was before".into());
        assert!(known.is_some());
        let tooled = SessionUpdate::Work(WorkUpdate::Tooled(tools));
        let older = StateEdit::new([tooled], "an older program", "for the test");
        planner.runner().amend(planner.thread(), older).await?;
        assert_starts_with(&say(&planner, "yes").await, "Done: order #1");
        let steps = &planner.state().await.work.steps;
        let steps: Vec<_> = steps.iter().map(|step| &*step.draft.tool_name).collect();
        assert_eq!(steps.join(" "), expected, "{changed}");
        assert_eq!(model.left(), 0, "{changed}");
    }
    Ok(())
}

#[tokio::test]
async fn rules_stand_in_where_the_model_cannot_be_reached() -> TestResult {
    let down = || ScriptedReply::error(ModelError::new(ModelErrorKind::Unavailable, "maintenance"));
    let (world, _, planner) = World::scripted([down(), down(), down()])?;
    let told = say(&planner, "我的余额").await;
    assert_eq!(told, "余额：0.5 BTC; 4 ETH; 100000 USDT");
    world.desk.unconfigure(Kind::Exchange, "replay").await?;
    let able = say(&planner, "Can I create a trader?").await;
    assert_contains(&able, "No trader can be made now: no exchange is enabled.");
    Ok(())
}

#[tokio::test]
async fn pln_11_words_for_programs_are_no_reply_and_rules_answer() -> TestResult {
    let raw = || ScriptedReply::text("{\"steps\":[{\"type\":\"respond\"");
    let other = || ScriptedReply::from(json!({ "action": "other" }));
    let (_, _, planner) = World::scripted([other(), plan(&[respond()]), raw()])?;
    let told = say(&planner, "Explain what a spread is").await;
    assert_contains(&told, "I look after a paper-trading desk.");
    Ok(())
}
