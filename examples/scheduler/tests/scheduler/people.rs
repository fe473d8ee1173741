//! People who share the program and nothing else.
#[cfg(feature = "caldav")]
use fugato_testkit::Server;
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

/// The setting of one person's calendar opens for nobody where there are people: the server is not
/// even asked.
#[cfg(feature = "caldav")]
#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_elsewhere_is_never_shared_by_people() {
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    elsewhere.set_nonblocking(true).expect("it is a socket");
    let url = format!(
        "http://{}/plans/",
        elsewhere.local_addr().expect("an address")
    );
    let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler"));
    let keys = ["ada", "mallory"].map(|name| {
        let added = program.run(&["people", "add", name]);
        added.out.lines().next().expect("a key").to_owned()
    });
    let server = program.server(&["serve", "--listen", "127.0.0.1:0", "--caldav", &url]);
    for key in keys {
        let own = [("authorization", format!("Bearer {key}"))];
        for path in ["/threads", "/calendar", "/calendar.ics", "/notes"] {
            let asked = Server::ask(server.address(), ("GET", path), &own, "").await;
            let (status, body) = asked.expect("an answer");
            assert_eq!(status, 503, "{path}: {body}");
        }
    }
    assert!(elsewhere.accept().is_err(), "the calendar was asked");
    let log = program.log();
    assert!(
        log.contains("where there are people, leave them out"),
        "{log}"
    );
}
