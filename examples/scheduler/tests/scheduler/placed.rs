//! Conversations that go on after the death of their process, with a Restate server and without.
use fugato_testkit::{
    Server, TestProgram, assert_contains,
    placed::{
        AgreedWrite, TestEngine, has_files, killed_at, killed_at_each_point, killed_on_the_way,
    },
};
use servers::{Moto, Wire};

/// A plan that is made, agreed to and kept.
fn way() -> AgreedWrite {
    AgreedWrite::new("plan my week")
        .tables("scheduler-data/schedule.db")
        .shown("/calendar.ics", "BEGIN:VEVENT")
}

/// Checks that the plan was kept, whole and once.
async fn assert_once(server: &Server, said: &str) {
    assert_contains(said, "It is stored in the calendar.");
    let (_, calendar) = Server::ask(server.address(), ("GET", "/calendar.ics"), &[], "")
        .await
        .expect("an answer");
    assert_eq!(calendar.matches("BEGIN:VEVENT").count(), 21, "{calendar}");
}

/// A plan is made, agreed to and kept once, while program and engine are killed on the way.
#[tokio::test(flavor = "multi_thread")]
async fn k29_killed_with_its_engine_on_the_way_it_keeps_everything_once() {
    let Some(restate) = servers::Restate::start() else {
        return;
    };
    let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
    let (kill, restart) = (|| restate.server().kill9(), || restate.server().restart());
    let engine = TestEngine::new(restate.flags(), &kill, &restart);
    let (server, said) = killed_on_the_way(&program, &engine, &way()).await;
    assert_once(&server, &said).await;
}

/// Its process dies as soon as there are so many commits in a folder.
#[test]
fn k24_killed_at_any_commit_in_a_folder_it_keeps_everything_once() {
    killed_at_each_point(async |commits| {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
        let program = program.flag("--store", "file:commits");
        let folder = program.path("commits/threads");
        let dies = has_files(&folder, commits);
        let (server, said, is_dead) = killed_at(&program, &way(), dies).await;
        assert_once(&server, &said).await;
        is_dead
    });
}

/// Its process dies when so many writes went to a bucket, which hears nothing of the next one.
#[test]
fn k24_killed_at_any_write_to_a_bucket_it_keeps_everything_once() {
    let Some(server) = Moto::start() else { return };
    killed_at_each_point(async |writes| {
        let wire = Wire::to(&server);
        let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
        let place = format!("s3://{}/killed-{writes}", Moto::BUCKET);
        let env = Moto::env(wire.url()).into_iter();
        let program = env.fold(program, |program, (name, value)| program.env(name, value));
        let program = program.flag("--store", &place);
        wire.cut_before("PUT ", u32::try_from(writes).expect("a few"));
        let dies = async {
            while !wire.is_whole() {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        let (server, said, is_dead) = killed_at(&program, &way(), dies).await;
        assert_once(&server, &said).await;
        is_dead
    });
}
