//! The order of the nodes.
use std::collections::{BTreeMap, BTreeSet};

use fugato::state::ThreadId;
use fugato_testkit::{Scripted, ScriptedReply as Said, assert_contains};
use scheduler::{
    agent::{CardReply, Phase, QuestionTopic, Request},
    deps::Deps,
    graph::graph,
};
use serde_json::json;

use crate::common::{self, Talk, call, card, deps, ends, look, place, plan, strict, task, week};

/// Returns the edges of the picture, by name.
fn edges() -> BTreeSet<(String, String)> {
    let picture = graph(&Deps::new().unwrap()).unwrap().to_mermaid();
    let mut names = BTreeMap::from([("END".to_owned(), "END".to_owned())]);
    for line in picture.lines().map(str::trim) {
        if let Some((id, name)) = line.split_once(['[', '{'])
            && !id.contains(' ')
        {
            let name = name.trim_matches(|c: char| !c.is_alphanumeric());
            names.insert(id.to_owned(), name.to_owned());
        }
    }
    let mut edges = BTreeSet::new();
    for line in picture.lines().map(str::trim) {
        let words: Vec<_> = line.split_whitespace().collect();
        if let [from, "-->" | "-.->", to] = words[..]
            && let (Some(from), Some(to)) = (names.get(from), names.get(to))
        {
            edges.insert((from.clone(), to.clone()));
        }
    }
    edges
}

#[test]
fn sch_2_the_graph_has_its_nodes_and_no_order_guard() {
    let nodes: BTreeSet<_> = edges().into_iter().map(|(from, _)| from).collect();
    let expected = [
        "act",
        "chat",
        "confirm",
        "decide",
        "deliver",
        "execute",
        "interrupt",
        "keep",
        "plan",
        "quick_task",
        "rough_build",
    ];
    assert_eq!(nodes, expected.map(str::to_owned).into());
}

/// Execution is three nodes here, and an interruption resumes in place: in addition to the edges of
/// one node for execution there are those between the three, and those out of the interruption.
#[test]
fn sch_3_edges_are_as_declared() {
    let mut expected = BTreeSet::new();
    let mut edge = |from: &str, to: &[&str]| {
        expected.extend(to.iter().map(|to| (from.to_owned(), (*to).to_owned())));
    };
    edge(
        "chat",
        &[
            "END",
            "chat",
            "plan",
            "confirm",
            "rough_build",
            "execute",
            "quick_task",
            "deliver",
            "interrupt",
        ],
    );
    edge(
        "plan",
        &[
            "plan",
            "confirm",
            "rough_build",
            "execute",
            "deliver",
            "interrupt",
        ],
    );
    edge(
        "confirm",
        &["plan", "rough_build", "execute", "deliver", "interrupt"],
    );
    edge("rough_build", &["execute", "deliver", "interrupt"]);
    edge("execute", &["decide", "act", "deliver", "interrupt"]);
    edge(
        "decide",
        &["execute", "act", "confirm", "keep", "deliver", "interrupt"],
    );
    edge("act", &["execute", "confirm", "deliver", "interrupt"]);
    edge(
        "interrupt",
        &[
            "END",
            "interrupt",
            "plan",
            "confirm",
            "rough_build",
            "execute",
            "keep",
            "deliver",
        ],
    );
    edge("keep", &["deliver", "interrupt"]);
    edge("deliver", &["END", "interrupt"]);
    edge("quick_task", &["END", "interrupt"]);
    let found = edges();
    let missing: Vec<_> = expected.difference(&found).collect();
    let unknown: Vec<_> = found.difference(&expected).collect();
    // The guard may or may not be drawn after nodes that never ask.
    let asked = |edge: &&&(String, String)| edge.1 != "interrupt";
    assert_eq!(
        missing.iter().filter(asked).count(),
        0,
        "missing: {missing:?}"
    );
    assert_eq!(unknown, Vec::<&(String, String)>::new());
}

#[tokio::test]
async fn sch_1_one_graph_serves_many_threads() {
    let model = Scripted::new(
        (0..3)
            .flat_map(|_| [json!({ "intent": "chat", "reply": "Good morning." })].map(Said::from)),
    );
    let deps = deps(week()).mind(strict(model.clone()));
    let stage = Talk::with(&deps, model);
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
    let stage = Talk::new([
        task(),
        json!({ "action": "ask_user", "speak": "Which week?" }),
    ]);
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
    let nodes = |events: &[fugato::stream::Event]| {
        let mut nodes: Vec<String> = vec![];
        for event in events {
            if let (Some(origin), fugato::stream::EventKind::NodeFinished) =
                (&event.origin, &event.kind)
            {
                nodes.push(origin.node.to_string());
            }
        }
        nodes
    };
    let quick = Talk::new([task()]).say("make a note: milk").await;
    assert_eq!(nodes(&quick.events), ["chat", "quick_task"]);
    assert_eq!(quick.state().notes, ["milk"]);
    let talk = Talk::new([json!({ "intent": "chat", "reply": "Hi." })])
        .say("Hello")
        .await;
    assert_eq!(nodes(&talk.events), ["chat"]);
    let planned = Talk::new([task(), plan(["Look"])])
        .say("Look at my week")
        .await;
    assert_eq!(nodes(&planned.events), ["chat", "plan", "confirm"]);
    let built = Talk::new([
        task(),
        call("continue", "analyze_health", json!({})),
        json!({ "action": "abort", "abort": { "user_message": "enough" } }),
        json!("Over."),
    ]);
    let built = built.say("place everything").await;
    assert_eq!(
        nodes(&built.events),
        [
            "chat",
            "rough_build",
            "execute",
            "decide",
            "act",
            "execute",
            "decide",
            "deliver"
        ]
    );
}

#[tokio::test]
async fn sch_6_planning_and_execution_loop() {
    let more = json!({ "action": "continue", "reason": "I have to think." });
    let stage = Talk::new([
        task(),
        more.clone(),
        plan(["Look", "Look again"]),
        more.clone(),
        look("get_overview", json!({})),
        ends("next_plan"),
        look("get_overview", json!({})),
        ends("next_plan"),
        json!("Done."),
    ]);
    let scene = stage.request(Request::new("Look").always_execute()).await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    assert_eq!(
        scene
            .statuses()
            .iter()
            .filter(|code| **code == "planning")
            .count(),
        2
    );
    assert_eq!(
        scene
            .statuses()
            .iter()
            .filter(|code| **code == "executing")
            .count(),
        5
    );
    let thought = scene.state().conversation.history.iter();
    assert_eq!(
        thought.filter(|m| m.content == "I have to think.").count(),
        2
    );
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
    assert_eq!(
        card.summary,
        "“Chapter 1” goes to Mon 2026-09-14, from section 3"
    );
    assert_eq!(stage.model.requests().len(), 3, "confirming asks no model");
}

#[tokio::test]
async fn sch_60_an_interruption_shows_its_card() {
    let stage = Talk::new([
        task(),
        json!({ "action": "ask_user", "speak": "Which week?" }),
    ]);
    let asked = stage.say("Arrange my revision").await;
    assert_eq!(
        asked.card().question.prompt,
        json!({ "type": "ask_user", "topic": "ask_user", "title": "A question", "summary": "Which week?", "streamed": false })
    );
    // The text of the card was not shown separately.
    assert_eq!(asked.texts(), Vec::<String>::new());
}
