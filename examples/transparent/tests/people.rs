//! People who share the program and nothing else.
use fugato_testkit::{
    TestProgram,
    people::{PeopleTrial, separate},
};

#[tokio::test(flavor = "multi_thread")]
async fn people_see_nothing_of_each_other() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_transparent"));
    let private = [
        "remember that my word is heliotrope",
        "请记住我的暗号是heliotrope",
    ];
    let probes = [
        "what do you remember about my word?",
        "list my reminders",
        "what files do I have?",
        "我的暗号是什么",
    ];
    separate(&program, PeopleTrial::new(&private, &probes)).await;
}
