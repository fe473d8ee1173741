//! People who share the program and nothing else.
use fugato_testkit::{
    TestProgram,
    people::{PeopleTrial, limited, proxied, separate},
};

#[tokio::test(flavor = "multi_thread")]
async fn people_see_nothing_of_each_other() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
    let private = [
        "remind me to water the heliotrope today at 0:00",
        "记住：我的暗号是heliotrope",
    ];
    let probes = ["what is planned?", "list my notes", "我的暗号是什么"];
    let tasks = r#"{"replace": true, "tasks": "zone = \"UTC\"\n[window]\nstart = 2054-03-02\nweeks = 2\n[[classes]]\nname = \"heliotrope\"\nitems = [\"heliotrope\"]\n"}"#;
    let changes = [("PUT", "/calendar", tasks)];
    let named = [
        ("PUT", "/calendar", r#"{"replace": true, "tasks": "{}"}"#),
        ("PUT", "/calendar", r#"{"replace": true, "courses": "{}"}"#),
    ];
    let paths = ["/calendar", "/calendar.ics", "/notes"];
    let trial = PeopleTrial::new(&private, &probes);
    let trial = trial.paths(&paths).changes(&changes).named(&named);
    separate(&program, trial.card("at most four sections a day")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_person_hold_and_are_told() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
    limited(&program, "tell me a story about the heliotrope").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_proxy_says_who_somebody_is() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
    proxied(program, "remember that my word is heliotrope").await;
}
