//! People who share the program and nothing else.
use fugato_testkit::{
    TestProgram,
    people::{PeopleTrial, limited, proxied, separate},
};

#[tokio::test(flavor = "multi_thread")]
async fn people_see_nothing_of_each_other() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let private = [
        "Reimburse my taxi 86.50 yuan from February 20, reason heliotrope",
        "报销打车费86.5元，2月20日，事由heliotrope",
    ];
    let probes = ["which claims do I have?", "我有哪些申请"];
    let file = ["diary", "heliotrope.pdf"].map(|name| format!("{name:?}"));
    let upload = |[conversation, name]: [&str; 2]| {
        format!(r#"{{"conversation_id":{conversation},"name":{name},"content":"JVBERi0xLjQK"}}"#)
    };
    let [own, in_place, by_name] = [
        [&*file[0], &*file[1]],
        [r#""{}""#, r#""same.pdf""#],
        [&*file[0], r#""{}.pdf""#],
    ]
    .map(upload);
    let to = "/steward/attachments";
    let changes = [("POST", to, &*own)];
    let named = [
        ("POST", to, &*in_place),
        ("POST", to, &*by_name),
        ("GET", "/steward/attachments?conversation_id={}", ""),
    ];
    let trial = PeopleTrial::new(&private, &probes)
        .paths(&[
            "/steward/documents",
            "/steward/attachments?conversation_id=diary",
        ])
        .changes(&changes)
        .named(&named);
    let card = "Apply for a business trip to Shanghai from 2054-03-02 to 2054-03-04 by train, estimated amount 2000, reason heliotrope";
    separate(&program, trial.card(card)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_person_hold_and_are_told() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    limited(&program, "tell me a story about the heliotrope").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_proxy_says_who_somebody_is() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    proxied(program, "remember that my word is heliotrope").await;
}
