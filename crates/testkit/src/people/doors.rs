//! Bodies that no door can read, and the language in which each door says so.
use fugato_state::Lang;
use serde_json::Value;

use super::{Client, PeopleTrial};
use crate::{Server, language::foreign};

/// The paths of every agent that take a body.
const DOORS: [(&str, &str); 8] = [
    ("POST", "/threads/doors/runs"),
    ("POST", "/threads/doors/resume"),
    ("POST", "/threads/doors/cancel"),
    ("POST", "/threads/doors/fork"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/agui"),
    ("POST", "/api/chat"),
    ("POST", "/sse/planner"),
];

/// Bodies that cannot be read, each with its media type.
const BODIES: [(&str, &str); 5] = [
    ("application/json", "{"),
    ("application/json", "{\"text\": \"1\",}"),
    ("application/json", "[7]"),
    ("application/json", "\"7\""),
    ("text/plain", "{}"),
];

/// Sends what cannot be read to every door, and fails if one of them takes it, or says what is wrong
/// in another language than that of the request.
pub(super) async fn told(person: &Client, trial: &PeopleTrial<'_>) {
    let own = trial.changes.iter().chain(trial.named);
    let own = own.map(|(method, path, _)| (*method, *path));
    let takes_a_body = |method: &str| method == "POST" || method == "PUT";
    let own = own.filter(|(method, path)| takes_a_body(method) && !path.contains('{'));
    let key = format!("Bearer {}", person.key);
    for door in DOORS.into_iter().chain(own) {
        for (kind, body) in BODIES {
            for (name, lang) in [("en-GB,en;q=0.9", Lang::En), ("zh-CN", Lang::Zh)] {
                let headers = [
                    ("authorization", key.clone()),
                    ("accept-language", name.to_owned()),
                    ("content-type", kind.to_owned()),
                ];
                let asked = Server::ask(&person.address, door, &headers, body).await;
                let (status, text) = asked.expect("the server answers");
                let told: Value = serde_json::from_str(&text).unwrap_or_default();
                let told = told.pointer("/error/message").and_then(Value::as_str);
                let told = told.unwrap_or_default();
                let right = (400..500).contains(&status)
                    && !told.is_empty()
                    && foreign(lang, told, "").is_none()
                    && Lang::of(told) == lang;
                assert!(right, "{door:?} of {body:?} in {lang}: {status} {text}");
            }
        }
    }
}
