//! People who share the program and nothing else.
use fugato_testkit::{
    TestProgram,
    people::{PeopleTrial, gone, limited, proxied, separate},
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
        "read ../../ada/notes/MEMORY.md",
        "find all files in ../../ada",
        "cancel all my reminders",
        "我的暗号是什么",
    ];
    let trial = PeopleTrial::new(&private, &probes);
    separate(
        &program,
        trial
            .card("remind me on 2054-03-02 at 9:00 to water the heliotrope")
            .still(&["list my reminders"])
            .peeks(&[
                "read peek.md",
                "read peek/notes/MEMORY.md",
                "find all files in peek",
                "list peek",
            ]),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_gone_has_no_jobs_until_they_come_back() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_transparent"));
    gone(&program, "remind me in 15 seconds to water the heliotrope").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_person_hold_and_are_told() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_transparent"));
    limited(&program, "tell me a story about the heliotrope").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_proxy_says_who_somebody_is() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_transparent"));
    proxied(program, "remember that my word is heliotrope").await;
}
