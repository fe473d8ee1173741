//! People who share the program and nothing else.
use fugato_testkit::{
    TestProgram,
    people::{PeopleTrial, separate},
};

#[tokio::test(flavor = "multi_thread")]
async fn people_see_nothing_of_each_other() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let private = [
        "Reimburse my taxi 86.50 yuan from February 20, reason heliotrope",
        "报销打车费86.5元，2月20日，事由heliotrope",
    ];
    let probes = ["which claims do I have?", "我有哪些申请"];
    let trial = PeopleTrial::new(&private, &probes).paths(&["/steward/documents"]);
    separate(&program, trial).await;
}
