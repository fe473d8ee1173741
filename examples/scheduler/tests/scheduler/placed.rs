//! Conversations that a Restate server goes on with.
use fugato_testkit::{
    Server, TestProgram,
    placed::{TestEngine, killed_on_the_way},
};

/// A plan is made, agreed to and kept once, while program and engine are killed on the way.
#[tokio::test(flavor = "multi_thread")]
async fn k29_killed_with_its_engine_on_the_way_it_keeps_everything_once() {
    let Some(restate) = servers::Restate::start() else {
        return;
    };
    let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
    let (kill, restart) = (|| restate.server().kill9(), || restate.server().restart());
    let engine = TestEngine::new(restate.flags(), &kill, &restart);
    let words = "plan my week";
    let server = killed_on_the_way(&program, &engine, ("killed", words)).await;
    let (_, calendar) = Server::ask(server.address(), ("GET", "/calendar.ics"), &[], "")
        .await
        .expect("an answer");
    assert_eq!(calendar.matches("BEGIN:VEVENT").count(), 21, "{calendar}");
}
