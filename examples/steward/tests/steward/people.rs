//! People who share the program and nothing else.
use fugato_testkit::{
    Server, TestProgram,
    people::{PeopleTrial, limited, proxied, separate},
};
use serde_json::{Value, json};

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

/// The numbers of documents in shared tables tell nobody how many others wrote.
#[tokio::test(flavor = "multi_thread")]
async fn shared_tables_number_the_documents_of_each_person() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let tables = program.path("tables.db").display().to_string();
    let keys = ["ada", "bob"].map(|name| {
        let added = program.ok(&["people", "add", name, "--role", "person"]);
        format!("Bearer {}", added.lines().next().unwrap())
    });
    let server = program.server(&["--tables", &tables, "serve", "--listen", "127.0.0.1:0"]);
    let ask = async |who: usize, path: &str, body: Value| {
        let headers = [("authorization", keys[who].clone())];
        let method = if body.is_null() { "GET" } else { "POST" };
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let came = Server::ask(server.address(), (method, path), &headers, &text).await;
        let (status, text) = came.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(status, 200, "{answer}");
        answer
    };
    let writes = async |who: usize, action: &str, arguments: Value| {
        let mut body = json!({
            "conversation_id": "c", "client_trace_id": format!("{action} {}", arguments["start_date"]),
            "action": action, "arguments": arguments, "base_date": "2026-02-25",
        });
        let waits = ask(who, "/steward/actions/execute", body.clone()).await;
        let card = &waits["pending_interrupt"];
        body["confirmation"] = json!({ "interrupt_id": card["id"], "digest": card["digest"] });
        let done = ask(who, "/steward/actions/execute", body).await;
        assert_eq!(done["outcome"], "succeeded", "{done}");
        done["action_result"]["data"]["document"].clone()
    };
    let drafts = async |who: usize, nth: u32| {
        let day = format!("2026-03-{:02}", nth + 1);
        let trip = json!({
            "reason": "fair", "start_date": day, "end_date": day, "destination": "Oslo",
            "transport": "train", "estimated_amount": 900,
        });
        writes(who, "save_application_draft", trip).await
    };
    for nth in 1..=3 {
        assert_eq!(drafts(0, nth).await, format!("A-{nth}"));
    }
    assert_eq!(drafts(1, 1).await, "A-1");
    let documents = async |who| {
        let told = ask(who, "/steward/documents", Value::Null).await;
        let told = told["applications"].as_array().unwrap().clone();
        let told = told
            .iter()
            .map(|it| format!("{} {}", it["id"], it["status"]));
        told.collect::<Vec<_>>().join(", ").replace('"', "")
    };
    assert_eq!(documents(1).await, "A-1 draft");
    // A document of the same number is somebody else's.
    writes(1, "withdraw_document", json!({ "document": "A-1" })).await;
    assert_eq!(documents(1).await, "A-1 withdrawn");
    assert_eq!(documents(0).await, "A-1 draft, A-2 draft, A-3 draft");
    assert_eq!(drafts(1, 2).await, "A-2");
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
