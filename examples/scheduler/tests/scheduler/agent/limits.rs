//! Rounds, steps, corrections and failures.

use fugato::llm::{ModelError, ModelErrorKind};
use fugato_testkit::{Scripted, ScriptedReply as Said, assert_contains, consent::WorldStore};
use scheduler::{
    agent::{Request, TerminalStatus},
    llm_config::{LlmConfig, OnFailure},
    schedule::Slot,
};
use serde_json::{Value, json};

use crate::common::{
    FIRST, GYM, Talk, ask_user, assert_paired, call, card, deps, ends, lies, look, place, plan,
    refusals, strict, task, week, write,
};

fn moving(day: u16) -> Value {
    write(
        "move",
        json!({ "task_id": GYM, "new_day": day, "new_slot_start": 9 }),
    )
}

#[tokio::test]
async fn sch_7_exhausted_rounds_are_delivered_and_the_step_limit_is_an_error() {
    // Every round asks the person, which takes the most steps: the rounds run out first.
    let moves = (0..4).map(|n| moving(if n % 2 == 0 { 5 } else { 6 }));
    let script = [task(), plan(["Move it"])].into_iter().chain(moves);
    let model = Scripted::new(script.chain([json!("Over.")]).map(Said::from));
    let deps_of = |model: &Scripted| deps(week()).mind(strict(model.clone()));
    let stage = Talk::over(WorldStore::in_memory(), &deps_of(&model), model, 4);
    let mut scene = stage.say("Move it").await;
    while !scene.is_finished() {
        scene = stage.approve().await;
    }
    let outcome = scene.state().run.outcome.clone().unwrap();
    let ended = (outcome.status, &*outcome.code);
    assert_eq!(ended, (TerminalStatus::Exhausted, "round_exhausted"));

    // A planner that never ends has no rounds to use up; the engine stops it.
    let more = json!({ "action": "continue", "speak": "Hm." });
    let endless = std::iter::once(task()).chain(std::iter::repeat_n(more, 50));
    let model = Scripted::new(endless);
    let stage = Talk::over(WorldStore::in_memory(), &deps_of(&model), model, 1);
    let scene = stage.say("Move it").await;
    assert_contains(&scene.error(), "limit of 16 steps");
    assert_eq!(stage.state().await.run.outcome, None);
}

#[tokio::test]
async fn sch_8_rounds_default_to_thirty() {
    let stage = Talk::new([task(), plan(["Look"])]);
    let asked = stage.say("Look").await;
    assert_eq!(asked.state().run.rounds.limit, 30);
    // A request may lower the limit of the service, and not raise it.
    for (wanted, given) in [(5, 5), (1000, 30)] {
        let stage = Talk::new([task(), plan(["Look"])]);
        let asked = stage.request(Request::new("Look").max_rounds(wanted)).await;
        assert_eq!(asked.state().run.rounds.limit, given);
    }
}

/// Runs an executor that errs once, and then looks and asks.
async fn corrected(wrong: &str) -> String {
    let begin = [task(), plan(["Look"])].map(Said::from);
    let rest = [look("get_overview", json!({})), ask_user("Well?")];
    let rest = rest.map(Said::from);
    let script = begin.into_iter().chain([Said::text(wrong)]).chain(rest);
    let stage = Talk::new(script);
    let scene = stage.request(Request::new("Look").always_execute()).await;
    assert_eq!(card(&scene).summary, "Well?", "{wrong}");
    assert_eq!(scene.corrections().len(), 1, "{wrong}");
    // A valid decision resets the counter.
    assert_eq!(scene.state().run.corrections, 0);
    let history = &scene.state().conversation.history;
    let mut messages = history.iter();
    let at = messages.position(fugato::prompt::is_correction).unwrap();
    let said = &history[at - 1].content;
    let is_empty = wrong.is_empty();
    assert_eq!(said, if is_empty { "(empty answer)" } else { wrong });
    assert_paired(scene.state());
    history[at].content.clone()
}

#[tokio::test]
async fn sch_58_each_class_of_error_is_corrected() {
    let decides = |action: &str| json!({ "action": action }).to_string();
    let finds = |arguments| call("continue", "find_free", arguments).to_string();
    let asks = call("ask_user", "find_free", json!({})).to_string();
    let unknown = call("continue", "conjure", json!({})).to_string();
    let hidden = call("continue", "query_range", json!({ "day": 1 })).to_string();
    for (wrong, hint) in [
        ("I think we should look first.", "no valid JSON object"),
        ("", "it is empty"),
        ("[NEXT_PLAN]", "no valid JSON object"),
        (&decides("explode"), "action"),
        (&decides("next_plan"), "/goal_check"),
        (&decides("confirm"), "/tool_call"),
        (&asks, "must not have a tool call"),
        (&unknown, "there is no tool `conjure`"),
        (&hidden, "packs [\"detail_read\"]"),
        (&finds(json!({ "duration": "long" })), "duration"),
        (&finds(json!({ "duration": 2, "colour": "red" })), "colour"),
    ] {
        assert_contains(&corrected(wrong).await, hint);
    }
}

#[tokio::test]
async fn sch_45_a_write_without_consent_is_corrected() {
    let unasked = call(
        "continue",
        "place",
        json!({ "task_id": FIRST, "day": 1, "slot_start": 3 }),
    );
    let read = call("confirm", "get_overview", json!({}));
    let stage = Talk::new([
        task(),
        plan(["Place it"]),
        unasked,
        read,
        place(FIRST, 1, 3),
    ]);
    stage.say("Place it").await;
    let asked = stage.approve().await;
    assert_eq!(asked.corrections().len(), 1);
    let [correction] = refusals(&asked)[..] else {
        panic!("{:?}", refusals(&asked))
    };
    assert_contains(&correction, "`place` writes, so the action must be");
    // A read that asks for consent just runs.
    assert_eq!(asked.tools().len(), 1);
    let monday = "“Chapter 1” goes to Mon 2054-09-14, 10:00–11:40";
    assert_eq!(card(&asked).summary, monday);
}

#[tokio::test]
async fn sch_57_three_in_a_row_fail_the_run_or_leave_it_to_a_rule() {
    let script = || {
        let begin = [task(), plan(["Look"])].map(Said::from);
        begin.into_iter().chain(["?", "??", "???"].map(Said::text))
    };
    let model = Scripted::new(script());
    let mind = strict(model.clone());
    let stage = Talk::with(&deps(week()).mind(mind), model);
    let scene = stage.request(Request::new("Look").always_execute()).await;
    assert_contains(&scene.error(), "3 unusable answers in a row");

    let broken = || Said::error(ModelError::new(ModelErrorKind::Other, "gone"));
    let model = Scripted::new(script().chain((0..20).map(|_| broken())));
    let mind = LlmConfig {
        on_failure: OnFailure::Rules,
        ..strict(model.clone())
    };
    let stage = Talk::with(&deps(week()).mind(mind), model);
    let scene = stage.request(Request::new("Look").always_execute()).await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    let told = "The model scripted gave 3 answers in a row that cannot be used, so I go on by rules alone.";
    assert_eq!(scene.texts().iter().filter(|text| *text == told).count(), 1);
    // A request that rules do not understand ends here, and the model is not asked again.
    assert_eq!(stage.model.left(), 20);
    let outcome = scene.state().run.outcome.clone().unwrap();
    assert_eq!(&*outcome.code, "not_understood");
    assert_paired(scene.state());
}

#[tokio::test]
async fn sch_61_a_failed_summary_is_made_by_rule() {
    let script = [
        task(),
        plan(["Look", "Look again"]),
        look("get_overview", json!({})),
        ends("done"),
    ];
    let failed = Said::error(ModelError::new(ModelErrorKind::Other, "gone"));
    let model = Scripted::new(script.map(Said::from).into_iter().chain([failed]));
    let stage = Talk::with(&deps(week()).mind(strict(model.clone())), model);
    let scene = stage.request(Request::new("Look").always_execute()).await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    let summary = "Nothing was changed.\n[x] Look\n- Look again (nothing was done for it)\n\
        0 placed, 0 moved, 0 taken out, 2 still pending";
    let why = "The model scripted did not answer (it failed), so these are the facts alone.";
    assert_eq!(scene.texts().split_off(1), [summary, why]);
    let said = scene.state().conversation.history.iter();
    assert_eq!(said.filter(|message| message.content == summary).count(), 1);
}

#[tokio::test]
async fn sch_51_tomorrow_is_the_day_after_the_request() {
    let stage = Talk::new([
        task(),
        plan(["Place chapter 1 tomorrow"]),
        place(FIRST, 2, 1),
        place(FIRST, 11, 3),
        ends("done"),
        json!("Done."),
    ]);
    let mut request = Request::new("Tomorrow, please").classes([1]);
    request.now = Some("2054-09-23T08:30".parse().unwrap());
    stage.request(request).await;
    stage.approve().await;
    let second = stage.approve().await;
    assert_eq!(lies(second.state(), FIRST), [], "day 2 is another day");
    let done = stage.approve().await;
    assert!(done.is_finished(), "{:?}", done.end);
    assert_eq!(lies(done.state(), FIRST), [Slot::new(11, 3, 4)]);
}
