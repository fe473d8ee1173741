use serde_json::{Value, json};

use super::{Client, ONCE, PeopleTrial, Response, SECRET, THREAD, folders, socket};
use crate::TestProgram;

/// A name of a conversation that nobody has.
const NOWHERE: &str = "zzz-nowhere";

/// Names by which a stranger may hope to reach the conversation of another.
const GUESSES: [&str; 10] = [
    THREAD,
    super::cards::THREAD,
    "diary-openai",
    "diary-ws",
    "ada%2Fdiary",
    "main%2Fdiary",
    "..%2Fada%2Fdiary",
    "@people%2Fada%2Fdiary",
    "..%2F..%2Fada",
    "ada",
];

/// Everything that can be asked about a conversation, with its name as `{}`.
const REQUESTS: [(&str, &str, &str); 16] = [
    ("GET", "/threads/{}", ""),
    ("GET", "/threads/{}/timeline", ""),
    ("GET", "/threads/{}/events?follow=false", ""),
    ("GET", "/threads/{}/history", ""),
    ("GET", "/threads/{}/state", ""),
    ("GET", "/sse/planner?thread={}", ""),
    ("GET", "/sse/react?thread={}", ""),
    ("GET", "/api/chat/{}/stream", ""),
    ("POST", "/threads/{}/resume", r#"{"answers":{"x":true}}"#),
    ("POST", "/threads/{}/recover", "{}"),
    ("POST", "/threads/{}/retry", "{}"),
    ("POST", "/threads/{}/cancel", "{}"),
    ("POST", "/threads/{}/fork", r#"{"at":2}"#),
    ("DELETE", "/threads/{}", ""),
    ("GET", "/people/ada/threads/{}", ""),
    ("POST", "/people/ada/threads/{}/runs", r#"{"text":"hello"}"#),
];

/// The paths that every caller gets, and those that list something.
const SHARED: [&str; 6] = [
    "/",
    "/graph",
    "/health",
    "/v1/models",
    "/threads?after=diar&limit=1",
    "/threads?after=ada%2Fdiar",
];

/// Lets somebody look for what is not theirs. What they find is what they would find if it were not
/// there.
pub(super) async fn attack(attacker: &Client, trial: &PeopleTrial<'_>) {
    assert_eq!(
        attacker.threads().await.len(),
        0,
        "somebody else's are listed"
    );
    for guess in GUESSES {
        for (method, path, body) in REQUESTS {
            // An approver finds the conversations of ada there.
            if path.starts_with("/people/") && path.ends_with("/{}") {
                continue;
            }
            let body = serde_json::from_str(body).unwrap_or(Value::Null);
            let at = async |name: &str| {
                let path = path.replace("{}", name);
                let response = attacker.ask(method, &path, &body).await;
                without(&response, name)
            };
            let (found, nowhere) = (at(guess).await, at(NOWHERE).await);
            assert_eq!(
                found, nowhere,
                "{method} {path} tells {guess:?} from nothing"
            );
            let is_nothing = found.status >= 400 || found.status == 204 && method == "GET";
            assert!(is_nothing, "{method} {path} {guess:?}: {found:?}");
        }
    }
    for seen in ["0", "1", "9", "999999", "diary", "-1"] {
        let headers = [("last-event-id", seen)];
        for path in ["/threads/{}/events?follow=false", "/sse/react?thread={}"] {
            let at = async |name: &str| {
                let path = path.replace("{}", name);
                let response = attacker.with("GET", &path, &headers, &Value::Null).await;
                without(&response, name)
            };
            assert_eq!(at(THREAD).await, at(NOWHERE).await, "{path} {seen}");
        }
    }
    let listed = attacker.get("/threads").await;
    for page in [
        "limit=1",
        "after=diar",
        "after=ada%2Fdiar",
        "after=zzz&limit=1",
    ] {
        let page = attacker.get(&format!("/threads?{page}")).await;
        assert_eq!(page, listed, "a page of nothing is not empty");
    }
    for path in trial.paths.iter().chain(&SHARED) {
        let shown = attacker.get(path).await;
        assert!(!shown.body.contains(SECRET), "{path}: {shown:?}");
    }
    let (address, key) = (&attacker.address, &attacker.key);
    let heard = socket::listen(address, key, THREAD, socket::SILENCE).await;
    assert!(!heard.contains(SECRET), "{heard}");
    // A request of the same key is another one.
    let hello = json!({ "text": "hello again" });
    let path = "/threads/keyed/runs";
    let begun = attacker.with("POST", path, &ONCE, &hello).await;
    assert_eq!(begun.status, 202, "{begun:?}");
    // A conversation of the same name is another one.
    for probe in trial.probes {
        for (protocol, said) in attacker.say_everywhere(THREAD, probe).await {
            assert!(
                !said.body.contains(SECRET),
                "{protocol} {probe:?}: {said:?}"
            );
        }
    }
    for name in attacker.threads().await {
        for part in ["timeline", "history", "state"] {
            let shown = attacker.get(&format!("/threads/{name}/{part}")).await;
            assert!(!shown.body.contains(SECRET), "{name}/{part}: {shown:?}");
        }
        let removed = attacker
            .ask(
                "DELETE",
                &format!("/threads/{}", escaped(&name)),
                &Value::Null,
            )
            .await;
        assert!([204, 409].contains(&removed.status), "{name}: {removed:?}");
    }
}

/// Names that may lead somewhere else, look like another one, or be too much.
fn hard_names() -> Vec<String> {
    let names = [
        "..",
        ".",
        "",
        "../ada/diary",
        "../../ada",
        "x/../../ada",
        "..\\ada\\diary",
        "/etc/diary",
        "%2e%2e%2fada%2fdiary",
        "@people",
        "@people/ada",
        "@people.json",
        "diary\0",
        "diary\n",
        "../ada\0.pdf",
        "di\u{430}ry",
        "\u{ff44}iary",
        "diary\u{200b}",
        "\u{202e}yraid",
        "Diary",
        "diary ",
        "CON",
    ];
    let long = ["x".repeat(201), "../".repeat(2_000)];
    names.map(str::to_owned).into_iter().chain(long).collect()
}

/// Returns a name as a part of a path on the web.
fn escaped(name: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        byte => format!("%{byte:02x}"),
    };
    name.bytes().map(byte).collect()
}

/// Lets somebody use hard names wherever a name is taken, and fails if anything lies in another
/// place than in their own folder then, or if they read what is another's.
pub(super) async fn by_hard_names(
    program: &TestProgram,
    attacker: &Client,
    trial: &PeopleTrial<'_>,
) {
    let own = folders::folder(program, "mallory");
    let others = || {
        let mut files = folders::content(program.folder());
        files.retain(|path, _| !path.starts_with(&own) && path.extension() != Some("log".as_ref()));
        files
    };
    let before = others();
    for name in hard_names() {
        let in_path = escaped(&name);
        for (method, path, body) in REQUESTS.iter().chain(trial.named) {
            let mut body = serde_json::from_str(body).unwrap_or(Value::Null);
            put_name(&mut body, &name);
            let path = path.replace("{}", &in_path);
            let said = attacker.ask(method, &path, &body).await;
            assert!(said.status < 500, "{method} {path} {name:?}: {said:?}");
            assert!(!said.body.contains(SECRET), "{method} {path}: {said:?}");
        }
        let path = format!("/threads/{in_path}/runs");
        let said = attacker
            .ask("POST", &path, &json!({ "text": "hello" }))
            .await;
        assert!(said.status < 500, "{name:?}: {said:?}");
        let now = others();
        let changed = now
            .iter()
            .find(|(path, bytes)| before.get(*path) != Some(bytes));
        let changed = changed.map(|(path, _)| path);
        assert_eq!(changed, None, "{name:?} leads out of the folder");
        assert_eq!(
            now.len(),
            before.len(),
            "{name:?} removes what is another's"
        );
    }
}

/// Puts a name in the place of `{}` in all texts.
fn put_name(body: &mut Value, name: &str) {
    match body {
        Value::String(text) => *text = text.replace("{}", name),
        Value::Array(items) => items.iter_mut().for_each(|item| put_name(item, name)),
        Value::Object(fields) => fields.values_mut().for_each(|field| put_name(field, name)),
        _ => {}
    }
}

/// Returns a response in which the name that was asked for is a mark.
fn without(response: &Response, name: &str) -> Response {
    let plain = name.replace("%2F", "/");
    let body = response.body.replace(&plain, "NAME");
    Response {
        body,
        ..response.clone()
    }
}

/// Checks the rights of roles, and the requests that have none.
pub(super) async fn without_a_right(
    reader: &Client,
    ada: &Client,
    approver: &Client,
    operator: &Client,
) {
    let seen = reader.get(&format!("/threads/{THREAD}/timeline")).await;
    assert!(seen.status == 200 && seen.body.contains(SECRET), "{seen:?}");
    for (method, path, body) in REQUESTS.iter().filter(|(method, ..)| *method != "GET") {
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        let path = path.replace("{}", THREAD);
        let refused = reader.ask(method, &path, &body).await;
        let expected = if path.starts_with("/people/") {
            404
        } else {
            403
        };
        assert_eq!(refused.status, expected, "{method} {path}: {refused:?}");
    }
    for (protocol, said) in reader.say_everywhere(THREAD, "hello").await {
        let is_refused = said.status == 403 || said.body.contains("forbidden");
        assert!(is_refused, "{protocol}: {said:?}");
    }
    // An approver reads the conversations of the tenant, and says nothing in them.
    let listed = approver.get("/people/ada/threads").await;
    assert!(listed.body.contains(THREAD), "{listed:?}");
    let read = approver.get(&format!("/people/ada/threads/{THREAD}")).await;
    assert!(read.body.contains(SECRET), "{read:?}");
    for path in ["threads", "threads/diary", "threads/diary/timeline"] {
        for stranger in [ada, operator, reader] {
            let refused = stranger.get(&format!("/people/pat/{path}")).await;
            assert_eq!(refused.status, 404, "{path}: {refused:?}");
        }
        for name in ["ada@rival", "nobody", "..", "%61da"] {
            let refused = approver.get(&format!("/people/{name}/{path}")).await;
            assert_eq!(refused.status, 404, "{name}/{path}: {refused:?}");
        }
    }
    for (client, status) in [(ada, 403), (reader, 403), (approver, 403), (operator, 200)] {
        let counted = client.get("/metrics").await;
        assert_eq!(counted.status, status, "{counted:?}");
    }
    for key in ["", "ada", "Bearer", "00000000-"] {
        let unknown = Client {
            key: key.to_owned(),
            ..ada.clone()
        };
        for (_, said) in unknown.say_everywhere(THREAD, "hello").await {
            assert_eq!(said.status, 401, "{key:?}: {said:?}");
        }
        for path in ["/threads", "/metrics"] {
            let asked = unknown.get(path).await;
            assert_eq!(asked.status, 401, "{path} {key:?}: {asked:?}");
        }
    }
}
