//! A proxy that says who somebody is, and those who only claim to be one.
use fugato_state::Lang;
use serde_json::{Value, json};

use super::{Client, Response, SECRET, client, key};
use crate::TestProgram;

/// The key that only the proxy knows.
const PROXY: &str = "proxy-0123456789";

/// Serves a program behind a proxy that names the people, and fails if anybody else can name one, or
/// if a name opens what it should not. `words` have the [`SECRET`] in them.
///
/// # Panics
/// At the first request that is let in or refused wrongly.
pub async fn proxied(program: TestProgram, words: &str) {
    let program = program.env("PROXY_KEY", PROXY);
    let keys = [
        ("ada", "person"),
        ("mallory", "person"),
        ("rita", "reader"),
        ("ada@rival", "person"),
    ]
    .map(|(name, role)| key(&program, name, role));
    let mallory = keys[1].clone();
    let server = program.server(&[
        "--trace",
        "trace",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--client-key-env",
        "PROXY_KEY",
        "--person-header",
        "X-User",
    ]);
    let [proxy, mallory] = [PROXY.to_owned(), mallory].map(|key| client(&server, key));
    let said = json!({ "thread": "diary", "text": words });
    let begun = named(&proxy, &["ada"], "POST", "/sse/react", &said).await;
    assert_eq!(begun.status, 200, "{begun:?}");
    let read = async |client: &Client, names: &[&str]| {
        named(
            client,
            names,
            "GET",
            "/threads/diary/timeline",
            &Value::Null,
        )
        .await
    };
    let own = read(&proxy, &["ada"]).await;
    assert!(own.status == 200 && own.body.contains(SECRET), "{own:?}");
    // The header of somebody who is no proxy counts for nothing.
    assert_eq!(read(&mallory, &["ada"]).await.status, 404);
    for wrong in ["", "proxy", "proxy-012345678", "ada"] {
        let unknown = client(&server, wrong.to_owned());
        assert_eq!(read(&unknown, &["ada"]).await.status, 401, "{wrong:?}");
    }
    // A proxy that names nobody, or nobody in particular, opens nothing, and learns nothing.
    let nobody = read(&proxy, &["nobody"]).await;
    assert_eq!(nobody.status, 401, "{nobody:?}");
    let names: [&[&str]; 14] = [
        &[],
        &[""],
        &["ADA"],
        &["ada, mallory"],
        &["ada mallory"],
        &["../ada"],
        &["ada/"],
        &["ada@"],
        &["ada@main@x"],
        &["%61da"],
        &["\u{e1}da"],
        &["ad\u{430}"],
        &["ada", "mallory"],
        &["ada", "ada"],
    ];
    for name in names {
        assert_eq!(read(&proxy, name).await, nobody, "{name:?}");
    }
    assert_eq!(read(&proxy, &["ada@rival"]).await.status, 404);
    assert_eq!(read(&proxy, &["rita"]).await.status, 404);
    let written = named(&proxy, &["rita"], "POST", "/sse/react", &said).await;
    assert_eq!(written.status, 403, "{written:?}");
    let revoked = program.run(&["people", "revoke", "ada"]);
    assert!(revoked.well, "{revoked:?}");
    assert_eq!(read(&proxy, &["ada"]).await, nobody);
    in_their_language(&proxy, &mallory).await;
    // Whoever revokes a key that became known has the whole of it.
    let revoked = program.run(&["people", "revoke", &keys[1]]);
    assert!(revoked.well, "{revoked:?}");
    assert_eq!(mallory.get("/threads").await.status, 401);
    let unknown = program.run(&["people", "revoke", &keys[1]]);
    let log = program.log();
    assert!(log.contains("DEBUG"), "nothing was logged: {log}");
    for key in keys.iter().map(String::as_str).chain([PROXY]) {
        let told = unknown.told() + &revoked.told();
        assert!(!told.contains(key), "{told}");
        let line = log.lines().find(|line| line.contains(key));
        assert_eq!(line, None, "the log has a key");
    }
}

/// Checks that a refusal is in the language that a request asks for.
async fn in_their_language(proxy: &Client, person: &Client) {
    let unknown = Client {
        key: "00000000-".to_owned(),
        ..proxy.clone()
    };
    for (client, path, status) in [
        (&unknown, "/threads", 401),
        (proxy, "/threads", 401),
        (person, "/metrics", 403),
        (person, "/people/ada/threads", 404),
        (person, "/threads/nowhere", 404),
    ] {
        for (asked, lang) in [("zh-CN,en;q=0.5", Lang::Zh), ("en", Lang::En)] {
            let headers = [("accept-language", asked)];
            let refused = client.with("GET", path, &headers, &Value::Null).await;
            let is_so = refused.status == status && Lang::of(&refused.body) == lang;
            assert!(is_so, "{path} {asked}: {refused:?}");
        }
    }
}

async fn named(
    client: &Client,
    names: &[&str],
    method: &str,
    path: &str,
    body: &Value,
) -> Response {
    let headers: Vec<_> = names.iter().map(|name| ("x-user", *name)).collect();
    client.with(method, path, &headers, body).await
}
