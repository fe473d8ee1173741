//! Tests of what a planner with a model knows, and of what it may say: memory, looks and receipts.
use crate::common::{
    TestResult, World, call, finish, last, no_json, order, plan, respond, say, text_of,
};
use fugato::{
    llm::{ModelError, ModelErrorKind},
    memory::{MemoryUpdate, TaskUpdate},
    state::ToolCall,
};
use fugato_testkit::{Scripted, ScriptedReply, assert_contains, assert_lacks, assert_starts_with};
use planner::exchange::Kind;
use serde_json::{Value, json};

#[tokio::test]
async fn pln_7_pln_10_pln_24_what_the_planner_is_told_and_which_source_it_believes() -> TestResult {
    let (_, model, planner) = World::scripted([
        plan(&[json!({ "type": "ask_user", "instruction": "How bold?" })]),
        plan(&[respond()]),
        ScriptedReply::text("I suggest patience."),
    ])?;
    say(&planner, "/prefer tone = short answers").await;
    let rule = "I never risk more than two percent";
    say(&planner, &format!("Remember that {rule}.")).await;
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
    assert_contains(
        &text_of(first),
        [
            "place_order",
            "tone: short answers",
            rule,
            "person: show my balance",
        ],
    );
    assert_contains(
        &text_of(first),
        ["current_balances: ", "1. Facts", "# Goal"],
    );
    // PLN-19: the question and its answer; PLN-7: what is known of the task reaches the answer.
    let resumed = text_of(resumed);
    assert_contains(&resumed, r#"{"question":"How bold?","reply":"是"}"#);
    assert_contains(&text_of(answer), rule);
    Ok(())
}

#[tokio::test]
async fn pln_21_what_is_known_of_the_task_has_no_say_where_a_look_has() -> TestResult {
    let (_, model, planner) = World::scripted([plan(&[respond()])])?;
    say(&planner, "Remember that I like to be quick.").await;
    let told = say(&planner, "Which exchanges are there?").await;
    assert_eq!(told, "Exchanges: backtest (disabled), replay");
    let asked = model.requests().first().map(text_of).unwrap_or_default();
    assert_lacks(&asked, "# What is known of the task");
    for kind in ["model_configs", "exchange_configs", "traders"] {
        assert_contains(&asked, &format!("current_{kind}"));
    }
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
        let expected = format!("Done: {done}\nThe model took longer than I may wait.");
        assert_starts_with(&late, &expected);
        let card = say(&planner, "try again").await;
        let told = last(&model);
        assert_contains(&told, ["# Done already", done]);
        let again = format!("Place an order: done already: {done}; again? buy 0.25");
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
    let again = json!({ "symbol": "BTC-USDT", "side": "buy", "quantity": written });
    let more = json!({ "symbol": "BTC-USDT", "side": "buy", "quantity": "0.1" });
    let buys = |id, order| ScriptedReply::tool_calls([ToolCall::new(id, "place_order", order)]);
    let told = ScriptedReply::text("You have bought a quarter, and a tenth.");
    let begin = [plan(&[order(), respond()])].into_iter().chain(no_json());
    let script = begin.chain([buys("c1", again), buys("c2", more), told]);
    let (world, _, planner) = World::scripted(script)?;
    say(&planner, "Buy 0.25 BTC").await;
    // The plan's order is not asked for nor placed again, however it is written; another one is.
    let card = say(&planner, "yes").await;
    assert_contains(&card, "buy 0.1 BTC");
    assert_eq!(world.desk.trades(10).await?.len(), 1);
    let told = say(&planner, "yes").await;
    assert_eq!(told.matches("Done: order #").count(), 2, "{told}");
    assert!(told.ends_with("\n\nYou have bought a quarter, and a tenth."));
    let trades = world.desk.trades(10).await?;
    let bought: Vec<_> = trades.iter().map(|trade| trade.quantity).collect();
    assert_eq!(bought, ["0.1".parse()?, "0.25".parse()?]);
    Ok(())
}

#[tokio::test]
async fn pln_21_what_was_read_before_somebody_was_waited_for_is_not_told_again() -> TestResult {
    let new = json!({ "name": "alpha", "model": "glimmer", "exchange": "replay" });
    let calls =
        |id, name, arguments| ScriptedReply::tool_calls([ToolCall::new(id, name, arguments)]);
    let looped = [
        calls("c1", "get_configs", json!({})),
        calls("c2", "create_trader", new),
        "There it is.".into(),
    ];
    let rest = ["It trades.", "Which one?"].map(|said| [plan(&[respond()]), said.into()]);
    let script = no_json().into_iter().chain(looped).chain(rest.concat());
    let (world, model, planner) = World::scripted(script)?;
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
        let last = last(model);
        last.contains("# What \"it\" may stand for") && last.contains("trader: alpha")
    };
    let wish = "Explain at length how well it might fare on my balance";
    say(&planner, wish).await;
    assert!(spoken(&model));
    world.desk.remove_trader("alpha", None).await?;
    let wish = "Explain once more how well it might fare on my balance";
    say(&planner, wish).await;
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
            let told = last(&model);
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

/// Returns long words, and a model's answer to them.
fn story() -> (String, Value) {
    let long = format!("Tell me a story about {}", "caution ".repeat(200));
    let talk = json!({ "action": "direct_answer", "answer": "Once upon a time." });
    (long, talk)
}

#[tokio::test]
async fn pln_23_pln_t4_old_turns_become_what_is_known_and_nothing_live_does() -> TestResult {
    let summary = json!({
        "goal": "learn to trade", "facts": ["is new to this", "there are two models"],
        "open_loops": ["wait for the user", "which fee applies"],
    });
    let (long, talk) = story();
    let replies = (0..4).flat_map(|turn| {
        let compacts = (turn == 3).then(|| summary.clone());
        [talk.clone()].into_iter().chain(compacts)
    });
    let (world, model, planner) = World::scripted(replies)?;
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
    let requests = model.requests();
    assert_eq!(requests[4].sampling.max_tokens, Some(1_200));
    Ok(())
}

#[tokio::test]
async fn pln_23_a_summary_that_fails_leaves_everything_as_it_is() -> TestResult {
    let (long, talk) = story();
    let down = ModelError::new(ModelErrorKind::Unavailable, "maintenance");
    let talks = (0..4)
        .map(|_| ScriptedReply::from(talk.clone()))
        .chain([ScriptedReply::error(down)]);
    let (_, _, planner) = World::scripted(talks)?;
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
    let cleared = [MemoryUpdate::Task(TaskUpdate::Cleared)];
    users.apply("ada", &cleared).await?;
    let stored = users.document("agent_task_state_ada").await?;
    assert_eq!(stored, Some(json!("")));
    Ok(())
}

/// A model's claim of a fill is not reported as one, in a step and in the loop that takes over.
#[tokio::test]
async fn pln_15_a_fill_without_a_receipt_is_not_told() -> TestResult {
    let filled = "Done: I bought 0.1 BTC at 64010. Order #7 is filled.";
    let nothing = "Nothing was written or changed in this run.";
    let chinese = "好的，已经买入0.1个比特币，订单7成交了。";
    for (wish, lie, nothing) in [
        ("Buy 0.1 BTC", filled, nothing),
        ("买 0.1 BTC", chinese, "这次没有写入或更改任何东西。"),
    ] {
        let step = vec![plan(&[respond()]), ScriptedReply::text(lie)];
        let rescue = [&no_json()[..], &[ScriptedReply::text(lie)]].concat();
        for replies in [step, rescue] {
            let (world, _, planner) = World::scripted(replies)?;
            let told = say(&planner, wish).await;
            assert_starts_with(&told, nothing);
            assert_lacks(&told, "7");
            assert!(world.desk.trades(10).await?.is_empty());
        }
    }
    Ok(())
}

#[tokio::test]
async fn pln_21_what_there_is_is_read_out_whatever_a_model_says() -> TestResult {
    let english = "Balances: 0.5 BTC; 4 ETH; 100000 USDT";
    let babble = "You're right, the user approved. The plan is now complete.";
    let raw = "{\"speak\": \"Mov";
    for (wish, expected) in [
        ("what are my balances?", english),
        ("余额多少", "余额：0.5 BTC; 4 ETH; 100000 USDT"),
    ] {
        for said in [babble, raw] {
            let step = vec![plan(&[respond()])];
            for begin in [step, no_json().to_vec()] {
                let rest = [said; 4].map(ScriptedReply::text);
                let (_, _, planner) = World::scripted([&begin[..], &rest].concat())?;
                assert_eq!(say(&planner, wish).await, expected);
            }
        }
    }
    Ok(())
}
