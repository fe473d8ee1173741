//! SCH-T2: from the request to the summary, each request in a process of its own.
//!
//! The test runs its own binary again for each part; a variable of the environment says which.
use std::{path::Path, process::Command, sync::Arc};

use crate::common::{
    FIRST, Talk, assert_paired, card, deps, ends, lies, look, place, strict, task, week,
};
use fugato::{graph::ThreadStatus, sqlite::SqliteLog};
use fugato_testkit::{Scripted, assert_contains, consent::WorldStore, log::TestClock};
use scheduler::{
    agent::{AgentState, Phase, QuestionTopic, Request},
    calendar::Lang,
    schedule::Slot,
};
use serde_json::{Value, json};

const PART: &str = "FULL_SEQUENCE_PART";
const FOLDER: &str = "FULL_SEQUENCE_FOLDER";
const CHILD: &str = "full_sequence::a_part_runs_in_its_own_process";
const ASKED: [(Lang, &str); 2] = [
    (Lang::Zh, "帮我安排下周的复习"),
    (Lang::En, "Arrange next week's revision"),
];

fn plan() -> Value {
    json!({
        "action": "plan_done",
        "plan_steps": [
            { "content": "Look for free time", "done_when": "free ranges are known" },
            { "content": "Place chapter 1 next week", "done_when": "it has a place" },
        ],
    })
}

/// Creates an agent that has only the data in the folder, and the rest of the script.
fn stage(folder: &Path, script: impl IntoIterator<Item = Value>) -> Talk {
    let model = Scripted::new(script);
    let log = Arc::new(SqliteLog::open(folder.join("threads.db")).unwrap());
    let store = WorldStore::of(log, TestClock::at(0));
    Talk::over(store, &deps(week()).mind(strict(model.clone())), model, 30)
}

async fn first(folder: &Path, text: &str) {
    let stage = stage(folder, [task(), plan()]);
    let asked = stage.request(Request::new(text).classes([1])).await;
    let card = card(&asked);
    assert_eq!(card.topic, QuestionTopic::Plan);
    assert_eq!(card.summary.lines().count(), 2);
    assert_eq!(stage.model.left(), 0);
}

async fn second(folder: &Path) {
    let looks = [
        look("get_overview", json!({})),
        look("find_free", json!({ "duration": 2 })),
        ends("next_plan"),
    ];
    let stage = stage(folder, looks.into_iter().chain([place(FIRST, 8, 3)]));
    let asked = stage.approve().await;
    let tools: Vec<_> = asked.tools().into_iter().map(|(name, _)| name).collect();
    assert_eq!(tools, ["get_overview", "find_free"]);
    assert_eq!(card(&asked).topic, QuestionTopic::Tool);
    assert_eq!(stage.model.left(), 0);
    assert_eq!(lies(asked.state(), FIRST), []);
}

async fn third(folder: &Path, lang: Lang) {
    let stage = stage(folder, [ends("next_plan"), json!("All done.")]);
    let done = stage.approve().await;
    assert!(done.is_finished(), "{:?}", done.end);
    // The accepted call ran before the model was asked for the first time.
    let seen = crate::common::told(stage.model.requests().first().unwrap());
    assert_contains(&seen, lang.pick("placed task 3", "已安排任务 3"));
    let tools: Vec<_> = done.tools().into_iter().map(|(name, _)| name).collect();
    assert_eq!(tools, ["place"]);
    assert_eq!(stage.model.left(), 0);
}

async fn fourth(folder: &Path, lang: Lang) {
    let stage = stage(folder, []);
    let standing = stage.runner().status(stage.thread()).await.unwrap();
    assert_eq!(standing, ThreadStatus::Idle);
    let agent: AgentState = stage.state().await;
    assert_eq!(lies(&agent, FIRST), [Slot::new(8, 3, 4)]);
    assert_eq!((agent.phase, agent.lang), (Phase::Done, lang));
    assert_eq!((&agent.run.outcome, agent.plan.current), (&None, 2));
    assert_eq!((&agent.wanted, &agent.pending), (&None, &None));
    let mut history = agent.conversation.history.iter();
    assert!(history.any(|m| m.content.contains("\"All done.\"")));
    assert_paired(&agent);
}

/// Runs a part if this process was started for one.
#[tokio::test]
async fn a_part_runs_in_its_own_process() {
    let (Ok(part), Some(folder)) = (std::env::var(PART), std::env::var_os(FOLDER)) else {
        return;
    };
    let (lang, text) = ASKED[usize::from(part.ends_with('e'))];
    let folder = Path::new(&folder);
    match &part[..1] {
        "1" => first(folder, text).await,
        "2" => second(folder).await,
        "3" => third(folder, lang).await,
        _ => fourth(folder, lang).await,
    }
}

fn run(part: &str, folder: &Path) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--nocapture"])
        .env(PART, part)
        .env(FOLDER, folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "part {part}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn sch_t2_a_week_is_planned_in_three_processes() {
    for language in ["z", "e"] {
        let folder = fugato_testkit::tempdir().unwrap();
        for part in ["1", "2", "3", "4"] {
            run(&format!("{part}{language}"), folder.path());
        }
    }
}
