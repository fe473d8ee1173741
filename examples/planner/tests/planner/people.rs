//! People who share the program and nothing else.
use fugato_testkit::{
    TestProgram,
    people::{PeopleTrial, limited, proxied, separate},
};

#[tokio::test(flavor = "multi_thread")]
async fn people_see_nothing_of_each_other() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_planner"));
    let private = [
        "remember that my word is heliotrope",
        "记住：我的暗号是heliotrope",
    ];
    let probes = [
        "what do you know about me?",
        "/status",
        "我的暗号是什么",
        "cancel order 1",
        "forget everything about me",
    ];
    let trial = PeopleTrial::new(&private, &probes);
    separate(
        &program,
        trial
            .card("buy 0.1 BTC")
            .still(&["what do you know about me?"]),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_person_hold_and_are_told() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_planner"));
    limited(&program, "tell me a story about the heliotrope").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_proxy_says_who_somebody_is() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_planner"));
    proxied(program, "remember that my word is heliotrope").await;
}
