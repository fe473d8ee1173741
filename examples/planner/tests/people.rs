//! People who share the program and nothing else.
use fugato_testkit::{
    TestProgram,
    people::{PeopleTrial, separate},
};

#[tokio::test(flavor = "multi_thread")]
async fn people_see_nothing_of_each_other() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_planner"));
    let private = [
        "remember that my word is heliotrope",
        "记住：我的暗号是heliotrope",
    ];
    let probes = ["what do you know about me?", "/status", "我的暗号是什么"];
    separate(&program, PeopleTrial::new(&private, &probes)).await;
}
