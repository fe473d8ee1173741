//! Conversations that a Restate server goes on with.
use fugato_testkit::{
    Server, TestProgram, assert_contains,
    placed::{AgreedWrite, TestEngine, killed_on_the_way},
};

/// A card is made, agreed to and booked once, while program and engine are killed on the way.
#[tokio::test(flavor = "multi_thread")]
async fn k29_killed_with_its_engine_on_the_way_it_keeps_everything_once() {
    let Some(restate) = servers::Restate::start() else {
        return;
    };
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let (kill, restart) = (|| restate.server().kill9(), || restate.server().restart());
    let engine = TestEngine::new(restate.flags(), &kill, &restart);
    let way = AgreedWrite::new("Apply for a business trip to Shanghai from 2054-03-02 to 2054-03-04 by train, estimated amount 2000, reason visit")
        .tables("steward-data/steward.db")
        .shown("/steward/documents", "A-1");
    let (server, said) = killed_on_the_way(&program, &engine, &way).await;
    assert_contains(&said, "Done: A-1");
    let (_, kept) = Server::ask(server.address(), ("GET", "/steward/documents"), &[], "")
        .await
        .expect("an answer");
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("documents");
    assert_eq!(
        kept["applications"].as_array().map(Vec::len),
        Some(1),
        "{kept}"
    );
}
