//! Conversations that a Restate server goes on with.
use fugato_testkit::{
    Server, TestProgram, assert_contains,
    placed::{AgreedWrite, TestEngine, killed_on_the_way},
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
    let way = AgreedWrite::new("plan my week")
        .tables("scheduler-data/schedule.db")
        .shown("/calendar.ics", "BEGIN:VEVENT");
    let (server, said) = killed_on_the_way(&program, &engine, &way).await;
    assert_contains(&said, "It is stored in the calendar.");
    let (_, calendar) = Server::ask(server.address(), ("GET", "/calendar.ics"), &[], "")
        .await
        .expect("an answer");
    assert_eq!(calendar.matches("BEGIN:VEVENT").count(), 21, "{calendar}");
}
