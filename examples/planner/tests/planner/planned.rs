//! Tests of the planner with a model.
use std::{collections::BTreeMap, time::Duration};

use crate::common::{TestResult, World, plan, respond, say, status};
use fugato::{
    ChatRequest,
    agent::plan::WorkUpdate,
    graph::StateEdit,
    llm::{ModelError, ModelErrorKind},
    memory::{ExecutionStatus, MemoryUpdate, TaskUpdate},
    state::ToolCall,
};
use fugato_testkit::{Scripted, ScriptedReply, assert_contains, assert_lacks, assert_starts_with};
use planner::{exchange::Kind, graph::PlanningMode, session::SessionUpdate};
use serde_json::{Value, json};

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "type": "tool", "tool_name": tool, "tool_args": arguments })
}

fn order() -> Value {
    call(
        "place_order",
        &json!({ "symbol": "BTC-USDT", "side": "buy", "quantity": "0.25" }),
    )
}

fn finish() -> ScriptedReply {
    json!({ "action": "finish", "instruction": "Tell what came of it." }).into()
}

fn text_of(request: &ChatRequest) -> String {
    let texts = request
        .messages
        .iter()
        .map(|message| message.content.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn stages(model: &Scripted) -> Vec<String> {
    let stage = |request: &ChatRequest| request.metadata.get("stage").cloned().unwrap_or_default();
    model.requests().iter().map(stage).collect()
}

/// The reference scenario: a model plans, a person agrees, and a model answers.
#[tokio::test]
async fn the_reference_scenario_with_a_scripted_model() -> TestResult {
    let world = World::new()?;
    let model = Scripted::new([
        plan(&[call("get_prices", &json!({})), order(), respond()]),
        finish(),
        ScriptedReply::text("You have a quarter of a bitcoin more."),
    ]);
    let planner = world.with(model.clone());
    let card = say(&planner, "Buy 0.25 BTC for me").await;
    assert_starts_with(&card, "place_order: ");
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
    let world = World::new()?;
    let talk = json!({ "action": "direct_answer", "answer": "Good morning!" });
    let other = json!({ "action": "other" });
    let unavailable = ModelError::new(ModelErrorKind::Unavailable, "maintenance");
    let model = Scripted::new([
        talk.clone().into(),
        other.clone().into(),
        plan(&[respond()]),
        ScriptedReply::text("Planned."),
        ScriptedReply::error(unavailable),
        plan(&[respond()]),
        ScriptedReply::text("Planned again."),
        plan(&[respond()]),
    ]);
    let planner = world.with(model.clone());
    assert_eq!(say(&planner, "Good morning").await, "Good morning!");
    assert_eq!(say(&planner, "Explain what a spread is").await, "Planned.");
    assert_eq!(say(&planner, "Hello again").await, "Planned again.");
    // A message about the desk does not reach the gate.
    let told = say(&planner, "Which models are there?").await;
    assert_eq!(told, "Models: glimmer, harbour");
    let expected = [
        "direct_reply",
        "direct_reply",
        "planner",
        "step",
        "direct_reply",
        "planner",
        "step",
        "planner",
    ];
    assert_eq!(stages(&model), expected);
    let gate = model.requests().first().map(|request| request.timeout);
    assert_eq!(gate, Some(Some(Duration::from_secs(8))));
    Ok(())
}

#[tokio::test]
async fn pln_7_pln_10_pln_24_what_the_planner_is_told_and_which_source_it_believes() -> TestResult {
    let world = World::new()?;
    let model = Scripted::new([
        plan(&[json!({ "type": "ask_user", "instruction": "How bold?" })]),
        plan(&[respond()]),
        ScriptedReply::text("I suggest patience."),
    ]);
    let planner = world.with(model.clone());
    say(&planner, "/prefer tone = short answers").await;
    say(
        &planner,
        "Remember that I never risk more than two percent.",
    )
    .await;
    say(&planner, "show my balance and suggest something").await;
    let told = say(&planner, "是").await;
    assert_eq!(
        told,
        "Balances: 0.5 BTC; 4 ETH; 100000 USDT\nI suggest patience."
    );
    let requests = model.requests();
    let [first, resumed, answer] = &requests[..] else {
        panic!("{} requests", requests.len())
    };
    let told = text_of(first);
    assert_contains(
        &told,
        [
            "place_order",
            "tone: short answers",
            "I never risk more than two percent",
            "person: show my balance",
            "current_balances: ",
            "1. Facts",
            "# Goal",
        ],
    );
    // PLN-19: the question and its answer; PLN-7: what is known of the task reaches the answer.
    let resumed = text_of(resumed);
    assert_contains(&resumed, r#"{"question":"How bold?","reply":"是"}"#);
    assert!(text_of(answer).contains("I never risk more than two percent"));
    Ok(())
}

#[tokio::test]
async fn pln_21_what_is_known_of_the_task_has_no_say_where_a_look_has() -> TestResult {
    let world = World::new()?;
    let model = Scripted::new([plan(&[respond()])]);
    let planner = world.with(model.clone());
    say(&planner, "Remember that I like to be quick.").await;
    let told = say(&planner, "Which exchanges are there?").await;
    assert_eq!(told, "Exchanges: backtest (disabled), replay");
    let asked = model.requests().first().map(text_of).unwrap_or_default();
    assert!(!asked.contains("# What is known of the task"), "{asked}");
    assert_contains(
        &asked,
        [
            "current_model_configs",
            "current_exchange_configs",
            "current_traders",
        ],
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn pln_14_pln_t6_a_planner_that_takes_too_long_has_a_message_and_loses_nothing() -> TestResult
{
    let world = World::new()?;
    let model = Scripted::new([
        ScriptedReply::hang(),
        plan(&[respond()]),
        ScriptedReply::text("Here I am."),
        plan(&[respond()]),
        ScriptedReply::hang(),
    ]);
    let planner = world.with(model.clone());
    let start = tokio::time::Instant::now();
    let late = say(&planner, "explain my balance").await;
    assert_starts_with(&late, "This took longer than I may wait.");
    assert_eq!(start.elapsed().as_secs(), 36);
    assert_eq!(
        planner.state().await.work.execution.goal,
        "explain my balance"
    );
    let told = say(&planner, "try again").await;
    assert!(told.ends_with("\nHere I am."), "{told}");
    assert_eq!(
        planner.state().await.work.execution.goal,
        "explain my balance"
    );
    let late = say(&planner, "解释余额").await;
    assert_starts_with(&late, "等待的时间太长了");
    assert_eq!(status(&planner).await, ExecutionStatus::Failed);
    Ok(())
}

/// The model is late after the order was placed: when it looks at the plan again, or answers.
#[tokio::test(start_paused = true)]
async fn pln_t6_what_was_done_before_it_took_too_long_is_told_and_not_done_again_unseen()
-> TestResult {
    let order_again = || plan(&[order(), respond()]);
    for replies in [
        vec![ScriptedReply::hang()],
        vec![finish(), ScriptedReply::hang()],
    ] {
        let world = World::new()?;
        let replies = [order_again()].into_iter().chain(replies);
        let model = Scripted::new(replies.chain([order_again()]));
        let planner = world.with(model.clone());
        say(&planner, "Buy 0.25 BTC").await;
        let late = say(&planner, "yes").await;
        let done = "order #1 is filled: buy 0.25 BTC-USDT, 0.25 done for 16002.5";
        let expected = format!("Done: {done}\nThis took longer than I may wait.");
        assert_starts_with(&late, &expected);
        let card = say(&planner, "try again").await;
        let told = model.requests().last().map(text_of).unwrap_or_default();
        assert_contains(&told, ["# Done already", done]);
        let again = format!("place_order: done already: {done}; again? quantity 0.25");
        assert_starts_with(&card, &again);
        assert_eq!(world.desk.trades(10).await?.len(), 1);
        say(&planner, "cancel").await;
        say(&planner, "/clear").await;
        assert_eq!(planner.state().await.done, []);
    }
    Ok(())
}

#[tokio::test]
async fn pln_15_pln_w9_the_loop_that_takes_over_inherits_what_the_plan_has_done() -> TestResult {
    for written in ["0.25", "0.250"] {
        taken_over(written).await?;
    }
    Ok(())
}

/// The loop repeats the plan's order, written in this way, and then places another one.
async fn taken_over(written: &str) -> TestResult {
    let world = World::new()?;
    let again = json!({ "symbol": "BTC-USDT", "side": "buy", "quantity": written });
    let more = json!({ "symbol": "BTC-USDT", "side": "buy", "quantity": "0.1" });
    let model = Scripted::new([
        plan(&[order(), respond()]),
        ScriptedReply::text("no JSON"),
        ScriptedReply::text("no JSON"),
        ScriptedReply::text("no JSON"),
        ScriptedReply::tool_calls([ToolCall::new("c1", "place_order", again)]),
        ScriptedReply::tool_calls([ToolCall::new("c2", "place_order", more)]),
        ScriptedReply::text("You have bought a quarter, and a tenth."),
    ]);
    let planner = world.with(model.clone());
    say(&planner, "Buy 0.25 BTC").await;
    // The plan's order is not asked for nor placed again, however it is written; another one is.
    let card = say(&planner, "yes").await;
    assert_contains(&card, "quantity 0.1");
    assert_eq!(world.desk.trades(10).await?.len(), 1);
    let told = say(&planner, "yes").await;
    assert_eq!(told.matches("Done: order #").count(), 2, "{told}");
    assert!(
        told.ends_with("\n\nYou have bought a quarter, and a tenth."),
        "{told}"
    );
    let bought: Vec<_> = world
        .desk
        .trades(10)
        .await?
        .iter()
        .map(|trade| trade.quantity)
        .collect();
    assert_eq!(bought, ["0.1".parse()?, "0.25".parse()?]);
    Ok(())
}

#[tokio::test]
async fn pln_21_what_was_read_before_somebody_was_waited_for_is_not_told_again() -> TestResult {
    let world = World::new()?;
    let new = json!({ "name": "alpha", "model": "glimmer", "exchange": "replay" });
    let model = Scripted::new([
        ScriptedReply::text("no JSON"),
        ScriptedReply::text("no JSON"),
        ScriptedReply::text("no JSON"),
        ScriptedReply::tool_calls([ToolCall::new("c1", "get_configs", json!({}))]),
        ScriptedReply::tool_calls([ToolCall::new("c2", "create_trader", new)]),
        ScriptedReply::text("There it is."),
        plan(&[respond()]),
        ScriptedReply::text("It trades."),
        plan(&[respond()]),
        ScriptedReply::text("Which one?"),
    ]);
    let planner = world.with(model.clone());
    say(&planner, "create a trader named alpha and look around").await;
    world.desk.unconfigure(Kind::Model, "harbour").await?;
    let told = say(&planner, "yes").await;
    assert_starts_with(&told, "Done: made the trader alpha");
    let requests = model.requests();
    let [.., before, after] = &requests[..] else {
        panic!("{} requests", requests.len())
    };
    assert!(text_of(before).contains("harbour"));
    assert!(!text_of(after).contains("harbour"), "{}", text_of(after));
    // The referent of "it" is in the context as long as it exists.
    let spoken = |model: &Scripted| {
        let last = model.requests().last().map(text_of).unwrap_or_default();
        last.contains("# What \"it\" may stand for") && last.contains("trader: alpha")
    };
    say(
        &planner,
        "Explain at length how well it might fare on my balance",
    )
    .await;
    assert!(spoken(&model));
    world.desk.remove_trader("alpha").await?;
    say(
        &planner,
        "Explain once more how well it might fare on my balance",
    )
    .await;
    assert!(!spoken(&model));
    Ok(())
}

#[tokio::test]
async fn pln_21_neither_looks_nor_refusals_outlive_a_question() -> TestResult {
    let ask = || json!({ "type": "ask_user", "instruction": "Shall I go on?" });
    let wrong = json!({ "name": "alpha", "model": "nothing", "exchange": "replay" });
    let asks = json!({ "action": "ask_user", "question": "Shall I go on?" });
    let looks = vec![plan(&[call("get_configs", &json!({})), ask()])];
    let refused = vec![
        plan(&[call("create_trader", &wrong), respond()]),
        asks.clone().into(),
    ];
    for (replies, agrees) in [(looks, false), (refused, true)] {
        let world = World::new()?;
        let rest = [plan(&[respond()]), ScriptedReply::text("Done.")];
        let model = Scripted::new(replies.into_iter().chain(rest));
        let planner = world.with(model.clone());
        say(&planner, "Look at my traders, and make one").await;
        if agrees {
            let asked = say(&planner, "yes").await;
            assert_eq!(asked, "Shall I go on?");
            let told = model.requests().last().map(text_of).unwrap_or_default();
            assert_contains(&told, "there is: glimmer, harbour");
        }
        world.desk.unconfigure(Kind::Model, "harbour").await?;
        let told = say(&planner, "continue").await;
        assert!(!told.contains("Done."), "nothing was made: {told}");
        let requests = model.requests();
        let [.., asked, answered] = &requests[..] else {
            panic!("{} requests", requests.len())
        };
        for told in [text_of(asked), text_of(answered)] {
            assert_contains(&told, "glimmer");
            assert_lacks(&told, "harbour");
        }
    }
    Ok(())
}

#[tokio::test]
async fn pln_16_two_orders_that_are_alike_are_two() -> TestResult {
    let world = World::new()?;
    let model = Scripted::new([
        plan(&[order(), order(), respond()]),
        json!({ "action": "continue" }).into(),
        finish(),
        ScriptedReply::text("Twice."),
    ]);
    let planner = world.with(model);
    say(&planner, "Buy 0.25 BTC, twice").await;
    say(&planner, "yes").await;
    let told = say(&planner, "yes").await;
    assert_eq!(told.matches("Done: order #").count(), 2, "{told}");
    assert_eq!(world.desk.trades(10).await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn pln_w5_pln_t8_a_plan_for_other_tools_is_dropped_or_goes_on() -> TestResult {
    for (changed, survives) in [("get_balances", false), ("cancel_order", true)] {
        let world = World::new()?;
        let rest = json!({ "action": "continue" });
        let new = json!({ "action": "replace_remaining", "steps": [respond()] });
        let mut replies = vec![plan(&[
            order(),
            call("get_balances", &json!({})),
            respond(),
        ])];
        if survives {
            replies.push(rest.clone().into());
        } else {
            replies.extend([rest.clone().into(), new.clone().into()]);
        }
        replies.push(ScriptedReply::text("Done."));
        let model = Scripted::new(replies);
        let planner = world.with(model.clone());
        say(&planner, "Buy 0.25 BTC").await;
        let mut tools: BTreeMap<String, String> = planner.state().await.work.tools.clone();
        assert!(
            tools
                .insert(changed.into(), "as it was before".into())
                .is_some()
        );
        let older = StateEdit::new(
            [SessionUpdate::Work(WorkUpdate::Tooled(tools))],
            "an older program",
            "for the test",
        );
        planner.runner().amend(planner.thread(), older).await?;
        let told = say(&planner, "yes").await;
        assert!(told.starts_with("Done: order #1"), "{changed}: {told}");
        let done = planner.state().await;
        let steps: Vec<_> = done
            .work
            .steps
            .iter()
            .map(|step| step.draft.tool_name.as_str())
            .collect();
        let expected: &[&str] = if survives {
            &["place_order", "get_balances", ""]
        } else {
            &["place_order", ""]
        };
        assert_eq!(steps, expected, "{changed}");
        assert_eq!(model.left(), 0, "{changed}");
    }
    Ok(())
}

#[tokio::test]
async fn pln_23_pln_t4_old_turns_become_what_is_known_and_nothing_live_does() -> TestResult {
    let world = World::new()?;
    let summary = json!({
        "goal": "learn to trade", "facts": ["is new to this", "there are two models"],
        "open_loops": ["wait for the user", "which fee applies"],
    });
    let long = format!("Tell me a story about {}", "caution ".repeat(200));
    let talk = json!({ "action": "direct_answer", "answer": "Once upon a time." });
    let replies = (0..4).flat_map(|turn| {
        let compacts = (turn == 3).then(|| summary.clone());
        [talk.clone()].into_iter().chain(compacts)
    });
    let model = Scripted::new(replies);
    let planner = world.with(model.clone());
    for _ in 0..4 {
        say(&planner, &long).await;
    }
    let done = planner.state().await;
    assert_eq!(done.history.turns().len(), 6);
    assert_eq!(done.person.task.facts, ["is new to this"]);
    assert_eq!(done.person.unsaved, []);
    // It is stored under the name that other programs use, without the live facts.
    let stored = world.config("agent_task_state_ada").await?;
    assert_eq!(stored["current_goal"], "learn to trade");
    assert_eq!(stored["important_facts"], json!(["is new to this"]));
    assert_eq!(stored["open_loops"], json!(["which fee applies"]));
    let compacts = model
        .requests()
        .last()
        .map(|request| request.sampling.max_tokens);
    assert_eq!(compacts, Some(Some(1_200)));
    Ok(())
}

#[tokio::test]
async fn pln_23_a_summary_that_fails_leaves_everything_as_it_is() -> TestResult {
    let world = World::new()?;
    let long = format!("Tell me a story about {}", "caution ".repeat(200));
    let talk = json!({ "action": "direct_answer", "answer": "Once upon a time." });
    let down = ModelError::new(ModelErrorKind::Unavailable, "maintenance");
    let talks = (0..4)
        .map(|_| ScriptedReply::from(talk.clone()))
        .chain([ScriptedReply::error(down)]);
    let planner = world.with(Scripted::new(talks));
    for _ in 0..4 {
        say(&planner, &long).await;
    }
    assert_eq!(planner.state().await.history.turns().len(), 8);
    Ok(())
}

#[tokio::test]
async fn pln_3_what_two_sessions_learn_at_once_is_kept_by_both() -> TestResult {
    let world = World::new()?;
    let users = world.deps().users().clone();
    let learnt = |fact: &str| {
        MemoryUpdate::Task(TaskUpdate::Learnt {
            fact: fact.to_owned(),
            at: 1,
        })
    };
    let all = (0..8).map(|n| {
        let (users, update) = (users.clone(), learnt(&format!("fact {n}")));
        async move { users.apply("ada", &[update]).await }
    });
    for done in futures::future::join_all(all).await {
        done?;
    }
    let (task, _) = users.recall("ada").await?;
    assert_eq!(task.facts.len(), 8);
    users
        .apply("ada", &[MemoryUpdate::Task(TaskUpdate::Cleared)])
        .await?;
    assert_eq!(
        users.document("agent_task_state_ada").await?,
        Some(json!(""))
    );
    Ok(())
}

#[tokio::test]
async fn rules_stand_in_where_the_model_cannot_be_reached() -> TestResult {
    let world = World::new()?;
    let down = || ScriptedReply::error(ModelError::new(ModelErrorKind::Unavailable, "maintenance"));
    let planner = world.with(Scripted::new([down(), down(), down()]));
    let told = say(&planner, "我的余额").await;
    assert_eq!(told, "余额：0.5 BTC; 4 ETH; 100000 USDT");
    world.desk.unconfigure(Kind::Exchange, "replay").await?;
    let able = say(&planner, "Can I create a trader?").await;
    assert_contains(&able, "No trader can be made now: no exchange is enabled.");
    Ok(())
}

/// A model's claim of a fill is not reported as one, in a step and in the loop that takes over.
#[tokio::test]
async fn pln_15_a_fill_without_a_receipt_is_not_told() -> TestResult {
    let wishes = [
        (
            "Buy 0.1 BTC",
            "Done: I bought 0.1 BTC at 64010. Order #7 is filled.",
            "Nothing was written or changed in this run.",
        ),
        (
            "买 0.1 BTC",
            "好的，已经买入0.1个比特币，订单7成交了。",
            "这次没有写入或更改任何东西。",
        ),
    ];
    let rubbish = || ScriptedReply::text("no JSON");
    for (wish, lie, nothing) in wishes {
        let step = vec![plan(&[respond()]), ScriptedReply::text(lie)];
        let rescue = vec![rubbish(), rubbish(), rubbish(), ScriptedReply::text(lie)];
        for replies in [step, rescue] {
            let world = World::new()?;
            let planner = world.with(Scripted::new(replies));
            let told = say(&planner, wish).await;
            assert!(told.starts_with(nothing), "{told}");
            assert!(!told.contains('7'), "{told}");
            assert!(world.desk.trades(10).await?.is_empty());
        }
    }
    Ok(())
}

#[tokio::test]
async fn pln_21_what_there_is_is_read_out_whatever_a_model_says() -> TestResult {
    let asked = [
        (
            "what are my balances?",
            "Balances: 0.5 BTC; 4 ETH; 100000 USDT",
        ),
        ("余额多少", "余额：0.5 BTC; 4 ETH; 100000 USDT"),
    ];
    let babble = "You're right, the user approved. The plan is now complete.";
    let raw = "{\"speak\": \"Mov";
    for (wish, expected) in asked {
        for said in [babble, raw] {
            let rest = [said, said, said, said].map(ScriptedReply::text);
            let step = [plan(&[respond()])].into_iter().chain(rest.clone());
            let world = World::new()?;
            let planner = world.with(Scripted::new(step));
            assert_eq!(say(&planner, wish).await, expected);
            let rescued = ["no JSON"; 3]
                .map(ScriptedReply::text)
                .into_iter()
                .chain(rest);
            let world = World::new()?;
            let planner = world.with(Scripted::new(rescued));
            assert_eq!(say(&planner, wish).await, expected);
        }
    }
    Ok(())
}

#[tokio::test]
async fn pln_11_words_for_programs_are_no_reply_and_rules_answer() -> TestResult {
    let raw = || ScriptedReply::text("{\"steps\":[{\"type\":\"respond\"");
    let other = || ScriptedReply::from(json!({ "action": "other" }));
    let world = World::new()?;
    let planner = world.with(Scripted::new([other(), plan(&[respond()]), raw()]));
    let told = say(&planner, "Explain what a spread is").await;
    assert_starts_with(&told, "I look after a paper-trading desk.");
    Ok(())
}
