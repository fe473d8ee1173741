//! Conversations that go on after the death of their process, with a Restate server and without.
use fugato_testkit::{
    Server, TestProgram, assert_contains,
    placed::{AgreedWrite, TestEngine, killed_in_a_bucket, killed_in_a_folder, killed_on_the_way},
};
use servers::{Moto, Wire};

const PROGRAM: &str = env!("CARGO_BIN_EXE_steward");

/// An application that is made, agreed to and booked.
fn way() -> AgreedWrite {
    AgreedWrite::new("Apply for a business trip to Shanghai from 2054-03-02 to 2054-03-04 by train, estimated amount 2000, reason visit")
        .tables("steward-data/steward.db")
        .shown("/steward/documents", "A-1")
}

/// Checks that the application was booked once.
async fn assert_once(server: &Server, said: &str) {
    assert_contains(said, "Done: A-1");
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

/// A card is made, agreed to and booked once, while program and engine are killed on the way.
#[tokio::test(flavor = "multi_thread")]
async fn k29_killed_with_its_engine_on_the_way_it_keeps_everything_once() {
    let Some(restate) = servers::Restate::start() else {
        return;
    };
    let program = TestProgram::new(PROGRAM);
    let (kill, restart) = (|| restate.server().kill9(), || restate.server().restart());
    let engine = TestEngine::new(restate.flags(), &kill, &restart);
    let (server, said) = killed_on_the_way(&program, &engine, &way()).await;
    assert_once(&server, &said).await;
}

/// Its process dies as soon as there are so many commits in a folder.
#[test]
fn k24_killed_at_any_commit_in_a_folder_it_keeps_everything_once() {
    killed_in_a_folder(PROGRAM, &way(), assert_once);
}

/// Its process dies when so many writes went to a bucket, which hears nothing of the next one.
#[test]
fn k24_killed_at_any_write_to_a_bucket_it_keeps_everything_once() {
    let Some(server) = Moto::start() else { return };
    let bucket = |writes| {
        let wire = Wire::to(&server);
        wire.cut_before("PUT ", writes);
        let place = format!("s3://{}/killed-{writes}", Moto::BUCKET);
        (Moto::env(wire.url()), place, wire)
    };
    killed_in_a_bucket(PROGRAM, &way(), bucket, Wire::is_whole, assert_once);
}
