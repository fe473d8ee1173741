//! Cards that are agreed to at the same time, about the same file: each agreement is to what its card
//! said, and to nothing that happened since.
use std::{collections::BTreeSet, fs, sync::Arc};

use axum::Router;
use fugato::{
    Runner,
    axum::{AgentRoutes, AllowAll},
    state::InterruptId,
    store::MemoryLog,
};
use fugato_testkit::{
    TestProgram, assert_contains,
    consent::{TestRequest, TestResponse},
};
use futures::future::join_all;
use react::{BuiltIn, ReactAgent, agent::graph, tools::ToolEnvironment};
use serde_json::{Value, json};

const CARDS: usize = 8;

fn app(folder: &std::path::Path) -> Router {
    let tools = ToolEnvironment::new(folder);
    let registry = tools.built_in(&BuiltIn::ALL).unwrap().build().unwrap();
    let graph = graph(None, registry, Arc::new(tools.notebook), 8).unwrap();
    let agent = ReactAgent::new(Runner::new(graph, Arc::new(MemoryLog::default())));
    AgentRoutes::new(agent).authenticate(AllowAll).router()
}

async fn say(app: &Router, thread: &str, text: &str) -> TestResponse {
    let path = format!("/threads/{thread}/runs");
    TestRequest::post(path, json!({ "text": text }))
        .call(app.clone())
        .await
}

/// Returns the card that waits in a thread.
async fn card(app: &Router, thread: &str) -> Value {
    let shown = TestRequest::new("GET", format!("/threads/{thread}"), json!(null));
    shown.call(app.clone()).await.json()["interrupts"][0].clone()
}

/// Agrees to the card that waits in a thread, as its button does.
async fn agree(app: &Router, thread: &str) -> TestResponse {
    let card = card(app, thread).await;
    let id = card["id"].as_str().expect("a card waits");
    let body = json!({
        "answers": { id: true }, "digests": { id: card["question"]["digest"] },
    });
    TestRequest::post(format!("/threads/{thread}/resume"), body)
        .call(app.clone())
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn k35_of_cards_that_each_make_the_file_one_writes() {
    for (ask, new, refused) in [
        ("write a.md: ", "makes a new file", "nothing was written"),
        ("写入 a.md：", "将新建文件", "没有写入"),
    ] {
        let folder = fugato_testkit::tempdir().unwrap();
        let app = app(folder.path());
        let threads: Vec<_> = (0..CARDS).map(|n| format!("t{n}")).collect();
        for thread in &threads {
            let asked = say(&app, thread, &format!("{ask}{thread}")).await;
            assert_contains(&asked.body, new);
        }
        let told = join_all(threads.iter().map(|thread| agree(&app, thread))).await;
        let there = fs::read_to_string(folder.path().join("files/a.md")).unwrap();
        for (thread, told) in threads.iter().zip(told) {
            // Who agreed after it was made is asked anew, or told that nothing was done.
            let wrote = told.body.contains(": 2 bytes") || told.body.contains("：2 字节");
            let asked = told.body.contains("overwrites ") || told.body.contains("将覆盖");
            let is_told = asked || told.body.contains(refused);
            assert_eq!(
                (wrote, is_told),
                (*thread == there, *thread != there),
                "{told:?}"
            );
        }
    }
}

#[test]
fn k35_of_processes_that_each_make_the_file_one_writes() {
    let work = TestProgram::new(env!("CARGO_BIN_EXE_react"));
    let names: Vec<_> = (0..CARDS).map(|n| format!("t{n}")).collect();
    let runs: Vec<[String; 7]> = names
        .iter()
        .map(|name| {
            let told = work.ok(&["--thread", name, "say", &format!("write a.md: {name}")]);
            let (_, code) = told.rsplit_once("--card ").expect("a card waits");
            [
                "--thread",
                name,
                "say",
                "--answer",
                "true",
                "--card",
                &code[..4],
            ]
            .map(str::to_owned)
        })
        .collect();
    let runs: Vec<Vec<&str>> = runs
        .iter()
        .map(|run| run.iter().map(String::as_str).collect())
        .collect();
    let runs: Vec<&[&str]> = runs.iter().map(Vec::as_slice).collect();
    let ended = work.at_once(&runs);
    let there = fs::read_to_string(work.path("react-data/files/a.md")).unwrap();
    let wrote: BTreeSet<_> = names
        .iter()
        .zip(&ended)
        .filter(|(_, ended)| ended.told().contains("is written"))
        .map(|(name, _)| name.clone())
        .collect();
    assert_eq!(wrote, BTreeSet::from([there]));
}

#[tokio::test]
async fn k35_a_file_that_changed_under_its_card_is_asked_about_anew() {
    let folder = fugato_testkit::tempdir().unwrap();
    let app = app(folder.path());
    let file = folder.path().join("files/a.md");
    fs::write(&file, "tea").unwrap();
    assert_contains(&say(&app, "t", "write a.md: milk").await.body, "3 bytes");
    // As long as before, so that the card reads the same.
    fs::write(&file, "gin").unwrap();
    agree(&app, "t").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "gin");
    agree(&app, "t").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "milk");
}

#[tokio::test]
async fn k35_a_yes_with_a_no_is_asked_again() {
    for words in [
        "no CODE, but yes",
        "yes CODE, but no",
        "不要 CODE，但是好的",
        "好的 CODE，但不要",
    ] {
        let folder = fugato_testkit::tempdir().unwrap();
        let app = app(folder.path());
        say(&app, "t", "write a.md: tea").await;
        let before = card(&app, "t").await;
        let code = InterruptId::from(before["id"].as_str().unwrap()).code();
        say(&app, "t", &words.replace("CODE", &code)).await;
        assert_eq!(card(&app, "t").await, before, "{words}");
        assert!(!folder.path().join("files/a.md").exists(), "{words}");
    }
}
