//! People who share the program and nothing else.
use fugato_testkit::{
    TestProgram,
    people::{PeopleTrial, separate, shared},
};

#[tokio::test(flavor = "multi_thread")]
async fn people_see_nothing_of_each_other() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_react"));
    let private = [
        "remember that my word is heliotrope",
        "记住：我的暗号是heliotrope",
    ];
    let probes = [
        "what do you remember about my word?",
        "你记得我的暗号吗",
        "list files",
    ];
    separate(&program, PeopleTrial::new(&private, &probes)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[should_panic(expected = "somebody else's are listed")]
async fn the_trial_of_people_finds_what_they_share() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_react"));
    let private = ["remember that my word is heliotrope"];
    shared(
        &program,
        PeopleTrial::new(&private, &["what do you remember about my word?"]),
    )
    .await;
}
