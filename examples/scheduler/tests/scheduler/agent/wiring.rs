//! The order of the nodes.
use std::collections::BTreeMap;

use expect_test::expect;
use fugato::{
    state::ThreadId,
    stream::{Event, EventKind},
};
use fugato_testkit::assert_contains;
use scheduler::{
    agent::{CardReply, Phase, QuestionTopic, Request},
    deps::Deps,
    graph::graph,
};
use serde_json::json;

use crate::common::{self, Talk, ask_user, call, card, ends, look, place, plan, task};

/// Returns the edges of the picture, by name: one line for each node.
fn edges() -> String {
    let picture = graph(&Deps::new().unwrap()).unwrap().to_mermaid();
    let mut names = BTreeMap::from([("END", "END")]);
    for line in picture.lines().map(str::trim) {
        if let Some((id, name)) = line.split_once(['[', '{'])
            && !id.contains(' ')
        {
            names.insert(id, name.trim_matches(|c: char| !c.is_alphanumeric()));
        }
    }
    let mut edges: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in picture.lines().map(str::trim) {
        let words: Vec<_> = line.split_whitespace().collect();
        if let [from, "-->" | "-.->", to] = words[..]
            && let (Some(from), Some(to)) = (names.get(from), names.get(to))
        {
            edges.entry(from).or_default().push(*to);
        }
    }
    let lines = edges.into_iter().map(|(from, mut to)| {
        to.sort_unstable();
        format!("{from}: {}\n", to.join(" "))
    });
    lines.collect()
}

#[test]
fn sch_2_the_graph_has_its_nodes_and_no_order_guard() {
    let nodes: Vec<_> = edges()
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.to_owned()))
        .collect();
    expect!["act chat confirm decide deliver execute interrupt keep plan quick_task rough_build"]
        .assert_eq(&nodes.join(" "));
}

/// Execution is three nodes here, and an interruption resumes in place: in addition to the edges of
/// one node for execution there are those between the three, and those out of the interruption.
#[test]
fn sch_3_edges_are_as_declared() {
    expect![[r"
        act: confirm deliver execute interrupt
        chat: END chat confirm deliver execute interrupt plan quick_task rough_build
        confirm: deliver execute interrupt plan rough_build
        decide: act confirm deliver execute interrupt keep
        deliver: END
        execute: act confirm decide deliver interrupt
        interrupt: END confirm deliver execute interrupt keep plan rough_build
        keep: deliver
        plan: confirm deliver execute interrupt plan rough_build
        quick_task: END
        rough_build: deliver execute interrupt
    "]]
    .assert_eq(&edges());
}

#[tokio::test]
async fn sch_1_one_graph_serves_many_threads() {
    let greets = || json!({ "intent": "chat", "reply": "Good morning." });
    let stage = Talk::new([greets(), greets(), greets()]);
    for name in ["one", "two", "three"] {
        let thread = ThreadId::new(name).unwrap();
        let run = stage.service().request(&thread, Request::new(name));
        let scene = stage.follow(run).await;
        assert_eq!(scene.state().conversation.history.len(), 2, "{name}");
        assert_eq!(scene.texts(), ["Good morning."]);
    }
}

#[tokio::test]
async fn sch_4_an_open_question_comes_first() {
    // The planner asks, so the phase does not indicate planning: the question wins.
    let stage = Talk::new([task(), ask_user("Which week?")]);
    let asked = stage.say("Arrange my revision").await;
    assert_eq!(asked.state().phase, Phase::Interrupted);
    assert_eq!(card(&asked).topic, QuestionTopic::AskUser);
    // While it is open no other run begins.
    let other = stage.say("Something else").await;
    assert_contains(&other.error(), "waits for answers");
    // Answering leads back to planning, not to execution.
    stage.says(&plan(["Look"]));
    let planned = stage.answer(CardReply::text("next week")).await;
    assert_eq!(card(&planned).topic, QuestionTopic::Plan);
}

#[tokio::test]
async fn sch_5_the_phase_routes() {
    let nodes = |events: &[Event]| {
        let ended = events.iter().filter_map(|event| match &event.kind {
            EventKind::NodeFinished => Some(event.origin.as_ref()?.node.to_string()),
            _ => None,
        });
        ended.collect::<Vec<_>>().join(" ")
    };
    let quick = Talk::new([task()]).say("make a note: milk").await;
    assert_eq!(nodes(&quick.events), "chat quick_task");
    assert_eq!(quick.state().notes, ["milk"]);
    let talk = Talk::new([json!({ "intent": "chat", "reply": "Hi." })]);
    assert_eq!(nodes(&talk.say("Hello").await.events), "chat");
    let planned = Talk::new([task(), plan(["Look"])]);
    let planned = planned.say("Look at my week").await;
    assert_eq!(nodes(&planned.events), "chat plan confirm");
    let built = Talk::new([
        task(),
        call("continue", "analyze_health", json!({})),
        json!({ "action": "abort", "abort": { "user_message": "enough" } }),
        json!("Over."),
    ]);
    let built = built.say("place everything").await;
    let expected = "chat rough_build execute decide act execute decide deliver";
    assert_eq!(nodes(&built.events), expected);
}

#[tokio::test]
async fn sch_6_planning_and_execution_loop() {
    let more = || json!({ "action": "continue", "reason": "I have to think." });
    let stage = Talk::new([
        task(),
        more(),
        plan(["Look", "Look again"]),
        more(),
        look("get_overview", json!({})),
        ends("next_plan"),
        look("get_overview", json!({})),
        ends("next_plan"),
        json!("Done."),
    ]);
    let scene = stage.request(Request::new("Look").always_execute()).await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    let statuses = scene.statuses();
    let count = |code| statuses.iter().filter(|known| **known == code).count();
    assert_eq!((count("planning"), count("executing")), (2, 5));
    let thought = scene.state().conversation.history.iter();
    let thought = thought.filter(|m| m.content == "I have to think.");
    assert_eq!(thought.count(), 2);
}

#[tokio::test]
async fn sch_38_a_call_is_confirmed_before_a_plan() {
    let stage = Talk::new([task(), plan(["Place it"]), place(common::FIRST, 1, 3)]);
    stage.say("Place it").await;
    let asked = stage.approve().await;
    // There is a plan too, and the question is about the call.
    assert!(asked.state().has_step());
    let card = card(&asked);
    assert_eq!((card.topic, &*card.kind), (QuestionTopic::Tool, "confirm"));
    let monday = "“Chapter 1” goes to Mon 2054-09-14, 10:00–11:40";
    assert_eq!(card.summary, monday);
    assert_eq!(stage.model.requests().len(), 3, "confirming asks no model");
}

#[tokio::test]
async fn sch_60_an_interruption_shows_its_card() {
    let stage = Talk::new([task(), ask_user("Which week?")]);
    let asked = stage.say("Arrange my revision").await;
    assert_eq!(
        asked.card().question.prompt,
        json!({ "type": "ask_user", "topic": "ask_user", "title": "A question", "summary": "Which week?", "streamed": false })
    );
    // The text of the card was not shown separately.
    assert_eq!(asked.texts(), Vec::<String>::new());
}
