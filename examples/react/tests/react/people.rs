//! People who share the program and nothing else.
use fugato_testkit::{
    TestProgram,
    people::{PeopleTrial, limited, proxied, separate, shared},
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
        "read a.txt",
        "read ../ada/a.txt",
        "read ../../ada/files/a.txt",
    ];
    let trial = PeopleTrial::new(&private, &probes);
    separate(
        &program,
        trial
            .card("write a.txt: my word is heliotrope")
            .still(&["read a.txt"])
            .peeks(&[
                "list files",
                "read peek.md",
                "read peek/a.txt",
                "write peek/a.txt: no",
            ]),
    )
    .await;
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

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_person_hold_and_are_told() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_react"));
    limited(&program, "tell me a story about the heliotrope").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_proxy_says_who_somebody_is() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_react"));
    proxied(program, "remember that my word is heliotrope").await;
}
