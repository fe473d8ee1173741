//! Authentication, tenants, and requests that are refused.
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{Method, Request, StatusCode},
    routing::post,
};
use fugato_axum::{
    AccessDenied, AgentRoutes, Asset, Caller, JsonInput, Limits, Page, Parts, QueryInput,
};
use fugato_state::Lang;
use fugato_testkit::language::foreign;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::server::{Answer, Client, LetterServer, by_header, request};

#[tokio::test]
async fn nobody_is_let_in_until_the_program_says_who() {
    let letters = LetterServer::open();
    let unsaid = Client(AgentRoutes::new(letters.clerk()).router());
    let asked = Client(letters.routes().authenticate(by_header).router());
    let begin = json!({ "text": "a free day" });
    for (method, path, body) in [
        (Method::GET, "/threads", Value::Null),
        (Method::GET, "/metrics", Value::Null),
        (Method::POST, "/threads/desk/runs", begin.clone()),
        (Method::POST, "/v1/chat/completions", begin),
    ] {
        let refused = unsaid.with(method.clone(), path, &[], body.clone()).await;
        assert_eq!(refused.error(), (403, "forbidden".into()), "{path}");
        assert!(refused.body.contains("AgentRoutes::authenticate"), "{path}");
        let refused = asked.with(method, path, &[], body).await;
        assert_eq!(refused.error(), (401, "unauthorized".into()), "{path}");
    }
    assert_eq!(unsaid.get("/health").await.status, StatusCode::OK);
    // The counters are those of everybody.
    let counted = asked
        .with(Method::GET, "/metrics", &[("user", "ada")], Value::Null)
        .await;
    assert_eq!(counted.error(), (403, "forbidden".into()));
}

#[tokio::test]
async fn another_tenants_thread_does_not_exist() {
    let letters = LetterServer::open();
    let client = Client(letters.routes().authenticate(by_header).router());
    let ask = |user: &'static str, method: Method, path: &'static str, body: Value| {
        let client = client.clone();
        async move { client.with(method, path, &[("user", user)], body).await }
    };
    let text = || json!({ "text": "a free day" });
    let begun = ask(
        "ada",
        Method::POST,
        "/sse/react",
        json!({ "thread": "desk", "text": "a free day" }),
    );
    assert_eq!(begun.await.status, StatusCode::OK);
    let shown = ask("ada", Method::GET, "/threads/desk", Value::Null)
        .await
        .json();
    let id = shown["interrupts"][0]["id"].as_str().unwrap();
    let answers = json!({ "answers": { id: true } });
    for (method, path, body) in [
        (Method::GET, "/threads/desk", Value::Null),
        (Method::GET, "/threads/desk/events", Value::Null),
        (Method::GET, "/threads/desk/history", Value::Null),
        (Method::GET, "/threads/desk/state", Value::Null),
        (Method::POST, "/threads/desk/resume", answers),
        (Method::POST, "/threads/desk/cancel", json!({})),
        (Method::POST, "/threads/desk/recover", json!({})),
        (Method::POST, "/threads/desk/fork", json!({ "at": 2 })),
        (Method::DELETE, "/threads/desk", Value::Null),
        (Method::GET, "/sse/react?thread=desk", Value::Null),
        // No slash leads out of a tenant.
        (Method::GET, "/threads/..%2Fada%2Fdesk", Value::Null),
        (Method::GET, "/threads/ada%2Fdesk", Value::Null),
    ] {
        let answer = ask("bob", method, path, body).await;
        assert_eq!(answer.error(), (404, "not_found".into()), "{path}");
    }
    let listed = ask("bob", Method::GET, "/threads", Value::Null)
        .await
        .json();
    assert_eq!(listed, json!({ "threads": [], "next": null }));
    // The same name is another thread.
    let own = ask("bob", Method::POST, "/threads/desk/runs", text()).await;
    assert_eq!(own.status, StatusCode::ACCEPTED);
    let shown = ask("ada", Method::GET, "/threads/desk", Value::Null)
        .await
        .json();
    assert_eq!(shown["status"], "waiting");
}

#[tokio::test]
async fn nobody_comes_in_unknown() {
    let client = Client(
        LetterServer::open()
            .routes()
            .authenticate(by_header)
            .router(),
    );
    for path in ["/threads", "/graph", "/v1/models", "/nowhere", "/ws/chat"] {
        let answer = client.get(path).await;
        assert_eq!(answer.error(), (401, "unauthorized".into()), "{path}");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    let mallory = [("user", "mallory")];
    let answer = client
        .with(Method::GET, "/threads", &mallory, Value::Null)
        .await;
    assert_eq!(answer.error(), (403, "forbidden".into()));
    assert_eq!(
        client.get("/health").await.json(),
        json!({ "status": "ok" })
    );
}

#[tokio::test]
async fn what_is_not_there_is_told_as_json() {
    let client = LetterServer::open().client();
    assert_eq!(
        client.get("/nowhere").await.error(),
        (404, "not_found".into())
    );
    assert_eq!(client.get("/agui").await.error(), (405, "method".into()));
    assert_eq!(
        client.get("/threads/x").await.error(),
        (404, "not_found".into())
    );
    assert_eq!(
        client.get("/threads?limit=many").await.error(),
        (400, "invalid_request".into())
    );
    assert_eq!(
        client.get("/ws/chat").await.error(),
        (426, "websocket".into())
    );
    let long = format!("/threads/{}", "x".repeat(300));
    assert_eq!(
        client.get(&long).await.error(),
        (400, "invalid_request".into())
    );
}

#[tokio::test(start_paused = true)]
async fn bodies_are_json_and_small_and_come_in_time() {
    let limits = Limits::default()
        .body(100)
        .body_timeout(Duration::from_secs(3));
    let client = Client(LetterServer::open().routes().limits(limits).router());
    let post = |kind: &str, body: Body| {
        let request = Request::post("/threads/desk/runs").header("content-type", kind);
        request.body(body).unwrap()
    };
    let json = "application/json; charset=utf-8";
    let large = format!("{{\"text\": \"{}\"}}", "x".repeat(100));
    let pieces = stream::iter([Ok::<_, Infallible>(Bytes::from(large.clone()))]);
    let slow = stream::iter([Ok::<_, Infallible>(Bytes::from("{"))]).chain(stream::pending());
    for (request, error) in [
        (post(json, Body::from(large)), (413, "too_large")),
        (post(json, Body::from_stream(pieces)), (413, "too_large")),
        (post(json, Body::from_stream(slow)), (408, "too_slow")),
        (post("text/plain", Body::from("{}")), (415, "not_json")),
        (post(json, Body::from("{")), (400, "invalid_request")),
        (post(json, Body::from("[]")), (400, "invalid_request")),
        (
            post(json, Body::from("{\"text\": 7}")),
            (400, "invalid_request"),
        ),
    ] {
        let (status, kind) = client.send(request).await.error();
        assert_eq!((status, kind.as_str()), error);
    }
}

/// A path of the program's own.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Stamp {
    color: String,
    value: u32,
    place: Option<Place>,
}

#[derive(Debug, serde::Deserialize)]
struct Place {
    corner: String,
}

/// An unreadable body is refused in the language of the request at every door, with what is wrong
/// and what is allowed.
#[tokio::test]
async fn what_cannot_be_read_is_told_in_the_language_of_the_request() {
    let stamp = |JsonInput(stamp): JsonInput<Stamp>| async move {
        let corner = stamp.place.map(|place| place.corner);
        format!("{} {} {corner:?}", stamp.color, stamp.value)
    };
    let found = |QueryInput(stamp): QueryInput<Stamp>| async move { stamp.color };
    let beside = Router::new().route("/stamp", post(stamp).get(found));
    let routes = LetterServer::open().routes().beside(beside);
    let client = Client(routes.limits(Limits::default().body(100)).router());
    let own = [
        ("{}", 200, ["", ""]),
        ("{\"color\":", 400, ["ends too early", "没有写完"]),
        (
            "{\"color\": \"red\",}",
            400,
            ["line 1, column 17", "第 1 行第 17 列"],
        ),
        ("{color: 1}", 400, ["must be in quotes", "应带双引号"]),
        ("{} {}", 400, ["more follows", "多余的内容"]),
        (
            "{\"color\": 7}",
            422,
            ["it is 7, and must be a text", "给的是7，应为文字"],
        ),
        (
            "{\"value\": \"7\"}",
            422,
            ["must be a whole number", "应为整数"],
        ),
        ("{\"value\": -1}", 422, ["it is -1", "给的是-1"]),
        ("{\"value\": []}", 422, ["it is a list", "给的是列表"]),
        (
            "{\"hue\": 1}",
            422,
            [
                "no field `hue`; allowed are `color`, `value`, `place`",
                "没有字段 `hue`；允许的有 `color`、`value`、`place`",
            ],
        ),
        (
            "{\"place\": {}}",
            422,
            ["the field `corner` is missing", "缺少字段 `corner`"],
        ),
        ("{\"place\": 1}", 422, ["must be an object", "应为对象"]),
        ("7", 422, ["must be an object", "应为对象"]),
        (
            "{\"value\": 1, \"value\": 2}",
            422,
            ["`value` comes twice", "字段 `value` 出现了两次"],
        ),
    ];
    for (body, status, parts) in own {
        for (lang, part) in ["en", "zh-CN"].into_iter().zip(parts) {
            let answer = sent(&client, "/stamp", lang, ("application/json", body)).await;
            assert_eq!(answer.status.as_u16(), status, "{body}: {}", answer.body);
            assert!(answer.body.contains(part), "{body}: {}", answer.body);
            is_in(lang, &answer);
        }
    }
    // The language that the body names counts.
    let body = ("application/json", "{\"lang\": \"zh\"}");
    let answer = sent(&client, "/stamp", "en", body).await;
    assert!(answer.body.contains("没有字段"), "{}", answer.body);
    let large = format!("{{\"text\": \"{}\"}}", "x".repeat(200));
    let doors = [
        "/threads/a/runs",
        "/threads/a/resume",
        "/threads/a/cancel",
        "/threads/a/fork",
        "/v1/chat/completions",
        "/agui",
        "/api/chat",
        "/sse/react",
        "/stamp",
    ];
    for door in doors {
        for lang in ["en", "zh"] {
            for (kind, body) in [
                ("text/plain", "{}"),
                ("application/json", "{\"text\""),
                ("application/json", "7"),
                ("application/json", &*large),
            ] {
                let answer = sent(&client, door, lang, (kind, body)).await;
                assert!(answer.status.is_client_error(), "{door}: {}", answer.body);
                is_in(lang, &answer);
            }
        }
    }
    for path in ["/threads?limit=many", "/stamp?value=many", "/stamp?hue=1"] {
        for lang in ["en", "zh"] {
            let headers = [("accept-language", lang)];
            let answer = client.with(Method::GET, path, &headers, Value::Null).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.body);
            is_in(lang, &answer);
        }
    }
}

async fn sent(client: &Client, path: &str, lang: &str, (kind, body): (&str, &str)) -> Answer {
    let request = Request::post(path)
        .header("content-type", kind)
        .header("accept-language", lang);
    client
        .send(request.body(Body::from(body.to_owned())).unwrap())
        .await
}

/// Asserts that a refusal is in the language.
fn is_in(lang: &str, answer: &Answer) {
    if answer.status.is_success() {
        return;
    }
    let lang: Lang = lang.parse().unwrap();
    let told = answer.json()["error"]["message"].clone();
    let told = told.as_str().unwrap();
    assert_eq!(Lang::of(told), lang, "{told}");
    assert_eq!(foreign(lang, told, ""), None, "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_open_stream_ends_soon_after_its_key() {
    let (letters, valid) = (LetterServer::open(), Arc::new(AtomicBool::new(true)));
    let known = valid.clone();
    let who = move |_: &Parts| {
        if known.load(Ordering::Relaxed) {
            Ok(Caller::default())
        } else {
            Err(AccessDenied::unauthorized("the key was revoked"))
        }
    };
    let client = Client(letters.routes().authenticate(who).router());
    client.run("desk", "talk").await;
    let follow = request(Method::GET, "/threads/desk/events", &[], &Value::Null);
    let open = client.0.clone().oneshot(follow).await.unwrap();
    let began = Instant::now();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        valid.store(false, Ordering::Relaxed);
    });
    let all = to_bytes(open.into_body(), usize::MAX).await.unwrap();
    let open = began.elapsed().as_secs();
    assert!((60..=65).contains(&open), "{open}");
    assert!(!all.is_empty());
}

#[tokio::test]
async fn without_tenants_the_names_of_threads_are_those_of_the_store() {
    let letters = LetterServer::open();
    let client = letters.client();
    let tenants = Client(letters.routes().authenticate(by_header).router());
    let ada = [("user", "ada"), ("accept", "text/event-stream")];
    let body = json!({ "text": "talk" });
    let begun = tenants
        .with(Method::POST, "/threads/desk/runs", &ada, body)
        .await;
    assert_eq!(begun.events().last().unwrap().thread.as_str(), "desk");
    client.run("desk", "talk").await;
    let listed = client.get("/threads").await.json();
    let names: Vec<_> = listed["threads"].as_array().unwrap().iter().collect();
    let names: Vec<_> = names
        .iter()
        .map(|it| it["thread"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ada/desk", "desk"]);
}

#[tokio::test]
async fn pages_of_elsewhere_are_let_in_by_name() {
    let letters = LetterServer::open();
    let strict = letters.client();
    let open = letters.routes().origins(["https://app.example"]);
    let open = Client(open.hosts(["desk.example"]).router());
    let post = |client: &Client, host: &str, origin: &str| {
        let headers = [("host", host), ("origin", origin)];
        let (client, headers) = (client.clone(), headers.map(|(k, v)| (k, v.to_owned())));
        async move {
            let headers = headers.each_ref().map(|(k, v)| (*k, v.as_str()));
            let body = json!({ "messages": [{ "content": "talk" }] });
            client
                .with(Method::POST, "/v1/chat/completions", &headers, body)
                .await
        }
    };
    let own = post(&strict, "desk.example:80", "http://desk.example:80").await;
    assert_eq!(own.status, StatusCode::OK);
    assert_eq!(own.header("access-control-allow-origin"), "");
    for origin in ["https://app.example", "null", "http://"] {
        let foreign = post(&strict, "desk.example", origin).await;
        assert_eq!(foreign.error(), (403, "origin".into()), "{origin}");
    }
    let allowed = post(&open, "desk.example:80", "https://app.example").await;
    assert_eq!(allowed.status, StatusCode::OK);
    assert_eq!(
        allowed.header("access-control-allow-origin"),
        "https://app.example"
    );
    let other = post(&open, "desk.example", "https://evil.example").await;
    assert_eq!(other.error(), (403, "origin".into()));
    let renamed = post(&open, "evil.example", "http://evil.example").await;
    assert_eq!(renamed.error(), (421, "host".into()));
    let asked = [
        ("host", "desk.example"),
        ("origin", "https://app.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type"),
    ];
    let preflight = open
        .with(Method::OPTIONS, "/agui", &asked, Value::Null)
        .await;
    assert_eq!(preflight.status, StatusCode::OK);
    assert_eq!(
        preflight.header("access-control-allow-origin"),
        "https://app.example"
    );
}

#[tokio::test]
async fn a_page_is_served_with_its_policy() {
    let html = Asset::new("text/html; charset=utf-8", b"<p>up").gzip(b"packed");
    let page = Page::new().file("/", html);
    let client = Client(
        LetterServer::open()
            .routes()
            .authenticate(by_header)
            .page(page)
            .router(),
    );
    let plain = client.get("/").await;
    assert_eq!(
        (plain.body.as_str(), plain.header("content-encoding")),
        ("<p>up", "")
    );
    assert!(
        plain
            .header("content-security-policy")
            .starts_with("default-src 'none'")
    );
    assert_eq!(plain.header("x-content-type-options"), "nosniff");
    let ask = |name: &'static str, value: String| {
        let client = client.clone();
        async move {
            client
                .with(Method::GET, "/", &[(name, &value)], Value::Null)
                .await
        }
    };
    let packed = ask("accept-encoding", "br, gzip;q=0.5".into()).await;
    assert_eq!(
        (packed.body.as_str(), packed.header("content-encoding")),
        ("packed", "gzip")
    );
    assert_eq!(
        ask("accept-encoding", "gzip;q=0".into()).await.body,
        "<p>up"
    );
    let known = ask("if-none-match", format!("W/{}", plain.header("etag"))).await;
    assert_eq!(
        (known.status, known.body.as_str()),
        (StatusCode::NOT_MODIFIED, "")
    );
}
