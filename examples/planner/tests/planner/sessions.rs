//! Sessions, commands, and words that begin something again.
use crate::common::{START, TestResult, World, say, status};
use fugato::{memory::ExecutionStatus, store::ThreadLog as _};
use fugato_testkit::{Scripted, ScriptedReply, assert_contains, assert_starts_with};
use serde_json::json;

#[tokio::test]
async fn pln_w3_pln_t7_two_sessions_of_a_person_do_not_meet() -> TestResult {
    let world = World::new()?;
    let [one, two, three] =
        ["ada.one", "ada.two", "ada.three"].map(|name| world.talk().thread_named(name));
    one.say("create a trader").await;
    two.say("sell 1 ETH").await;
    assert_starts_with(&say(&two, "yes").await, "Done: order #1");
    assert_eq!(
        say(&one, "glimmer").await,
        "What shall the trader be called?"
    );
    // What a person stated in one session is known in the other.
    two.say_all(["记住：我只做白天", "hello"]).await;
    three.say("hello").await;
    assert_eq!(three.state().await.person.task.facts, ["我只做白天"]);
    world.talk().thread_named("bob.one").say("hello").await;
    let states = world.config("agent_execution_state_ada").await?;
    let names: Vec<_> = states.as_object().ok_or("no object")?.keys().collect();
    assert_eq!(names, ["ada.one", "ada.three", "ada.two"]);
    assert_eq!(
        world.planner()?.config("agent_execution_state_eve").await?,
        None
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn pln_5_pln_6_pln_16c_how_far_the_work_is_has_the_names_that_others_know() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    say(&planner, "create a trader named alpha").await;
    let states = world.config("agent_execution_state_ada").await?;
    let mut state = states["ada.one"].clone();
    let snapshots = state["dynamic_snapshots"].take();
    let kinds: Vec<_> = snapshots
        .as_object()
        .ok_or("no snapshots")?
        .keys()
        .collect();
    assert_eq!(
        kinds,
        [
            "current_exchange_configs",
            "current_model_configs",
            "current_strategies",
            "current_traders"
        ]
    );
    let question = "Which model? There are: glimmer, harbour";
    let step = json!({
        "id": "s1", "type": "ask_user", "title": "", "instruction": question, "missing": ["model"],
        "requires_confirmation": false, "status": "running",
    });
    let waiting = json!({
        "question": question, "intent": "create a trader named alpha",
        "pending_fields": ["model"], "confirmation_target": null, "created_at": START,
    });
    let expected = json!({
        "session_id": "ada.one", "user_id": "ada", "goal": "create a trader named alpha",
        "status": "waiting_user", "plan_id": "ada.one/1", "steps": [step],
        "current_step_id": "s1", "execution_log": [], "summary_notes": [],
        "dynamic_snapshots": null,
        "current_references": { "strategy": null, "trader": null, "model": null, "exchange": null },
        "waiting": waiting, "final_answer": "", "last_error": "", "updated_at": START,
    });
    assert_eq!(state, expected);
    say(&planner, "harbour").await;
    let states = world.config("agent_execution_state_ada").await?;
    let waiting = &states["ada.one"]["waiting"];
    assert_eq!(waiting["confirmation_target"], "create_trader");
    assert_eq!(states["ada.one"]["status"], "waiting_user_confirmation");
    say(&planner, "yes").await;
    let states = world.config("agent_execution_state_ada").await?;
    assert_eq!(
        states["ada.one"]["current_references"]["trader"]["name"],
        "alpha"
    );
    assert_eq!(states["ada.one"]["waiting"], json!(null));
    Ok(())
}

#[tokio::test]
async fn pln_t1_pln_t2_an_answer_finds_its_question_after_a_restart() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    planner.say("sell 1 ETH").await;
    planner.reopen().await;
    assert_starts_with(&say(&planner, "yes").await, "Done: order #1 is filled");
    Ok(())
}

/// A question that a crash kept from the person is shown before words can answer it.
#[tokio::test]
async fn pln_t2_words_after_a_crash_do_not_answer_a_question_that_nobody_has_seen() -> TestResult {
    let order = json!({ "symbol": "BTC-USDT", "side": "buy", "quantity": "0.25" });
    let step = json!({ "type": "tool", "tool_name": "place_order", "tool_args": order });
    let plan = json!({ "goal": "", "steps": [step] }).to_string();
    for words in ["continue", "yes", "no"] {
        let world = World::new()?;
        let model = Scripted::new([ScriptedReply::hang(), ScriptedReply::text(&*plan)]);
        let planner = world.with(model.clone());
        let asked = async {
            while model.requests().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            turn = planner.say("Buy 0.25 BTC") => panic!("the model hangs: {turn:?}"),
            () = asked => {}
        }
        planner.reopen().await;
        assert_starts_with(&say(&planner, words).await, "Place an order: ");
        planner.card();
        assert_eq!(world.desk.trades(10).await?, [], "{words}");
    }
    Ok(())
}

#[tokio::test]
async fn pln_22_pln_c6_another_try_begins_the_work_anew_and_an_answer_never_does() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    assert_eq!(say(&planner, "继续").await, "没有可以继续的事。");
    say(&planner, "What are the prices?").await;
    let before = planner.state().await;
    world.wait(9_000);
    let again = say(&planner, "再试一次").await;
    assert_starts_with(&again, "Prices: ");
    let after = planner.state().await;
    assert_eq!(after.work.execution.goal, before.work.execution.goal);
    assert_ne!(
        after.work.execution.snapshots,
        before.work.execution.snapshots
    );
    // PLN-W10: words within more words are no word for another try.
    let told = say(&planner, "continue with my balance").await;
    assert_starts_with(&told, "Balances: ");
    // PLN-C1: "try again" answers a question, and only "start over" begins again.
    say(&planner, "create a trader").await;
    say(&planner, "try again").await;
    assert_eq!(status(&planner).await, ExecutionStatus::WaitingUser);
    let anew = say(&planner, "重新开始").await;
    assert_eq!(anew, "Which model? There are: glimmer, harbour");
    assert_eq!(planner.state().await.work.steps.len(), 1);
    Ok(())
}

#[tokio::test]
async fn pln_8_pln_t9_commands_come_first() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    say(&planner, "Remember that I trade by day.").await;
    say(&planner, "/prefer tone = short").await;
    say(&planner, "create a trader").await;
    // The status is shown while the question waits, and the question stays open.
    let told = say(&planner, "/status").await;
    assert_contains(&told, "waits for an answer: Which model?");
    planner.card();
    assert_eq!(status(&planner).await, ExecutionStatus::WaitingUser);
    say(&planner, "/clear").await;
    let cleared = planner.state().await;
    assert!(cleared.person.task.is_empty() && cleared.work.execution.goal.is_empty());
    assert_eq!(
        cleared.history.turns().len(),
        1,
        "what was told of the command"
    );
    assert_eq!(cleared.person.preferences.get("tone"), Some("short"));
    assert_eq!(world.config("agent_task_state_ada").await?, json!(""));
    say(&planner, "/new").await;
    say(&planner, "hello").await;
    let states = world.config("agent_execution_state_ada").await?;
    assert_eq!(states["ada.one"]["session_id"], "ada.one#1");
    let told = say(&planner, "/dance").await;
    assert_contains(&told, "/clear, /help, /new, /prefer, /status");
    let told = say(&planner, "/prefer tone").await;
    assert_contains(&told, "/prefer tone = short answers");
    Ok(())
}

#[tokio::test]
async fn pln_2_a_history_ages_and_is_bounded() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    for _ in 0..51 {
        say(&planner, "/help").await;
    }
    assert_eq!(planner.state().await.history.turns().len(), 100);
    world.wait(25 * 60 * 60 * 1000);
    say(&planner, "yes").await;
    assert_eq!(planner.state().await.history.turns().len(), 2);
    Ok(())
}

#[tokio::test]
async fn pln_17_pln_w6_the_status_goes_only_where_it_may() -> TestResult {
    use ExecutionStatus::{Completed, Planning, Running, WaitingUser, WaitingUserConfirmation};
    let world = World::new()?;
    let planner = world.talk();
    let said = [
        "create a trader named alpha",
        "glimmer",
        "yes",
        "my balance?",
    ];
    planner.say_all(said).await;
    let head = world.store.open()?.head(planner.thread()).await?;
    let head = head.ok_or("no log")?.seq;
    let mut seen = vec![];
    for seq in 1..=head {
        let Ok(state) = planner.runner().state_at(planner.thread(), seq).await else {
            continue;
        };
        let now = state.work.status();
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    }
    let expected = [
        Planning,
        Running,
        WaitingUser,
        Planning,
        Running,
        WaitingUserConfirmation,
        Running,
        Completed,
        Planning,
        Running,
        Completed,
    ];
    assert_eq!(seen, expected);
    for pair in seen.windows(2) {
        let [from, to] = pair else { continue };
        assert!(from.may_become(*to), "{from:?} became {to:?}");
    }
    Ok(())
}

#[tokio::test]
async fn pln_9_a_stream_tells_what_happens_and_ends_in_a_reply() -> TestResult {
    use futures::StreamExt as _;
    let world = World::new()?;
    let planner = world.planner()?;
    let (events, end) = planner
        .handle_message_stream("ada", "one", "my balance")
        .await?;
    let names: Vec<String> = events
        .filter_map(async |event| match event.kind {
            fugato::EventKind::Custom { name, .. } => Some(name),
            fugato::EventKind::TextDelta { .. } => Some("delta".to_owned()),
            _ => None,
        })
        .collect()
        .await;
    let ended = planner::service::PlannerReply::of(&end.await?);
    assert_starts_with(&ended.text, "Balances: ");
    let expected = [
        "planning",
        "plan",
        "step_start",
        "step_complete",
        "step_start",
        "delta",
        "step_complete",
    ];
    assert_eq!(names, expected);
    Ok(())
}

#[tokio::test]
async fn a_wish_that_another_replaces_is_said_to_be_left() -> TestResult {
    for (wish, other, told) in [
        (
            "sell 1 ETH",
            "create a trader called bob",
            "I leave “sell 1 ETH”; nothing of it was done.",
        ),
        (
            "create a trader called bob",
            "buy 0.01 btc",
            "I leave “create a trader called bob”; nothing of it was done.",
        ),
        (
            "卖1个以太坊",
            "建一个交易员叫小明",
            "“卖1个以太坊”先放下了，没有做任何操作。",
        ),
    ] {
        let world = World::new()?;
        let talk = world.talk();
        talk.say_all([wish, other]).await;
        let turns = talk.state().await.history.turns().to_vec();
        let said: Vec<_> = turns.iter().map(|turn| turn.text.as_str()).collect();
        assert_eq!(said, [wish, other, told]);
    }
    // Words that change the card leave nothing.
    let world = World::new()?;
    let talk = world.talk();
    talk.say_all(["buy 0.01 btc", "make it 0.02"]).await;
    let turns = talk.state().await.history.turns().to_vec();
    let said: Vec<_> = turns.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(said, ["buy 0.01 btc", "make it 0.02"]);
    Ok(())
}
