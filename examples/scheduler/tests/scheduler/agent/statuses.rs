//! The statuses by which a reader follows the agent.
use std::collections::BTreeSet;

use fugato::stream::EventKind;
use fugato_testkit::Scripted;
use scheduler::agent::{CardReply, QuestionTopic, Request};
use serde_json::json;

use crate::common::{FIRST, Talk, Turn, ask_user, card, deps, place, plan, task, week};

/// Runs everything that rules can do, with consent to all questions, or to all but that about the
/// schedule.
async fn by_rule(agrees: bool) -> Vec<Turn> {
    let deps = deps(week());
    let stage = Talk::with(&deps, Scripted::new([""; 0]));
    let mut scenes = vec![stage.say("Plan my weeks: place everything.").await];
    loop {
        let last = scenes.last().expect("it was asked");
        if last.is_finished() {
            return scenes;
        }
        let reply = if agrees || card(last).topic != QuestionTopic::Schedule {
            CardReply::approve()
        } else {
            CardReply::reject(None)
        };
        let next = stage.answer(reply).await;
        scenes.push(next);
    }
}

fn codes(scenes: &[Turn]) -> BTreeSet<String> {
    let codes = scenes.iter().flat_map(Turn::statuses);
    codes.map(str::to_owned).collect()
}

#[tokio::test]
async fn sch_120_what_the_agent_is_at_is_told_by_stable_codes() {
    let mut told = codes(&by_rule(true).await);
    told.extend(codes(&by_rule(false).await));
    let question = ask_user("Which week?");
    let stage = Talk::new([task(), plan(["Place it"]), question, place(FIRST, 1, 3)]);
    let run = Request::new("Place the first chapter");
    let asked = stage.request(run).await;
    let accepted = stage.approve().await;
    let resumed = stage.answer(CardReply::text("the first")).await;
    told.extend(codes(&[asked, accepted, resumed]));
    let all = [
        "accepted",
        "planning",
        "resumed",
        "confirmed",
        "rejected",
        "executing",
        "plan_confirm",
        "tool_confirm",
        "confirm",
        "ask_user",
        "summarizing",
        "done",
        "rough_building",
        "rough_build_done",
    ];
    let missing: Vec<_> = all.iter().filter(|code| !told.contains(**code)).collect();
    assert!(missing.is_empty(), "{missing:?} are not among {told:?}");
}

#[tokio::test]
async fn what_came_of_something_is_kept_and_what_is_under_way_is_not() {
    let scenes = by_rule(true).await;
    let events = scenes.iter().flat_map(|scene| &scene.events);
    let kept: BTreeSet<_> = events
        .filter_map(|event| match &event.kind {
            EventKind::Status { code, .. } if event.seq.is_some() => Some(code.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(kept, BTreeSet::from(["done", "rough_build_done"]));
}

#[tokio::test]
async fn sch_127_the_card_at_the_end_carries_nothing_and_comes_after_what_it_shows() {
    let scenes = by_rule(true).await;
    let last = scenes.last().expect("it was asked");
    let card = last.events.iter().find_map(|event| match &event.kind {
        EventKind::Card { card, data } => Some((event.seq, card.as_str(), data.clone())),
        _ => None,
    });
    let (seq, card, data) = card.expect("a card");
    assert_eq!((card, data), ("schedule_completed", json!({})));
    // A reader of the card finds the stored result: the card is sent with its record, and not
    // before.
    assert!(seq.is_some());
    let schedule = last.state().schedule.as_ref().expect("a schedule");
    assert!(!schedule.task(FIRST).expect("the item").slots.is_empty());
}
