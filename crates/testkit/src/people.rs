//! People who share a server, one of whom is hostile.
//!
//! [`separate`] serves a program to several people, lets one of them keep something private by every
//! protocol, and lets another one ask for it, guess its name, change it and remove it. [`limited`]
//! gives them limits, and [`proxied`] puts a proxy before them.
mod attack;
mod cards;
mod doors;
mod folders;
mod gone;
mod limits;
mod proxy;
mod socket;

pub use gone::gone;
pub use limits::limited;
pub use proxy::proxied;

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::{Server, TestProgram};

/// The word that nobody but its owner may read.
pub const SECRET: &str = "heliotrope";

/// The time in which an open stream of a revoked key ends.
const REVOKED: Duration = Duration::from_secs(20);

/// The conversation that holds it.
const THREAD: &str = "diary";

/// The parts of the trial that a program adds.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct PeopleTrial<'a> {
    /// The words of the owner, each in a conversation of its own; each has the [`SECRET`] in it, and
    /// at least one lets the program keep it outside of the conversation, too.
    pub private: &'a [&'a str],
    /// The words by which others ask for what is kept.
    pub probes: &'a [&'a str],
    /// The paths of the program's own, which show what belongs to the caller.
    pub paths: &'a [&'a str],
    /// Changes of the program's own that the owner makes once, as path and body; the secret may be
    /// in them.
    pub changes: &'a [(&'a str, &'a str, &'a str)],
    /// The words by which somebody follows the links `peek` and `peek.md` in their folders, which
    /// lead to what is another's.
    pub peeks: &'a [&'a str],
    /// Requests of the program's own that anybody may make, with a `{}` for the name of something.
    pub named: &'a [(&'a str, &'a str, &'a str)],
    /// The words of the owner that end with a card; none if the program has no cards.
    pub card: &'a str,
    /// The words by which the owner is still told of the [`SECRET`] after everything.
    pub still: &'a [&'a str],
}

impl<'a> PeopleTrial<'a> {
    /// Creates a trial with these private words and these questions about them.
    pub fn new(private: &'a [&'a str], probes: &'a [&'a str]) -> Self {
        Self {
            private,
            probes,
            ..Self::default()
        }
    }

    fugato_state::setters! {
        /// Sets the paths of the program's own that show what belongs to the caller.
        pub fn paths(paths: &'a [&'a str]) { paths = paths }

        /// Sets the changes of the program's own that the owner makes: method, path, and body.
        pub fn changes(changes: &'a [(&'a str, &'a str, &'a str)]) { changes = changes }

        /// Sets the words by which somebody follows links `peek` and `peek.md`.
        pub fn peeks(words: &'a [&'a str]) { peeks = words }

        /// Sets requests of the program's own that name something as `{}`: method, path, and body.
        pub fn named(requests: &'a [(&'a str, &'a str, &'a str)]) { named = requests }

        /// Sets the words of the owner that end with a card.
        pub fn card(words: &'a str) { card = words }

        /// Sets the words by which the owner is still told of the [`SECRET`] after everything.
        pub fn still(words: &'a [&'a str]) { still = words }
    }
}

/// A person with a key, as a client of a server.
#[derive(Debug, Clone)]
struct Client {
    address: String,
    key: String,
}

/// A response, and the request for the message of a failure.
#[derive(Debug, Clone, PartialEq)]
struct Response {
    status: u16,
    body: String,
}

impl Client {
    async fn ask(&self, method: &str, path: &str, body: &Value) -> Response {
        self.with(method, path, &[], body).await
    }

    async fn get(&self, path: &str) -> Response {
        self.ask("GET", path, &Value::Null).await
    }

    async fn with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Response {
        let own = ("authorization", format!("Bearer {}", self.key));
        let more = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        let headers: Vec<_> = std::iter::once(own).chain(more).collect();
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let asked = Server::ask(&self.address, (method, path), &headers, &body).await;
        let (status, body) = asked.expect("the server answers");
        Response { status, body }
    }

    /// Says something by every protocol that takes words, each in a conversation of this name and
    /// the protocol's, and returns what comes back.
    async fn say_everywhere(&self, thread: &str, text: &str) -> Vec<(&'static str, Response)> {
        let messages = json!([{ "role": "user", "content": text }]);
        let parts =
            json!([{ "id": "m", "role": "user", "parts": [{ "type": "text", "text": text }] }]);
        let named = |protocol| format!("{thread}-{protocol}");
        let begun = self
            .ask(
                "POST",
                &format!("/threads/{thread}/runs"),
                &json!({ "text": text }),
            )
            .await;
        let openai = named("openai");
        let openai = self
            .with(
                "POST",
                "/v1/chat/completions",
                &[("x-conversation-id", &openai)],
                &json!({ "messages": messages }),
            )
            .await;
        let ag_ui = json!({ "threadId": named("agui"), "runId": "r", "messages":
            [{ "id": "m", "role": "user", "content": text }] });
        let ai_sdk = json!({ "id": named("aisdk"), "messages": parts });
        let sse = json!({ "thread": named("sse"), "text": text });
        let socket = socket::say(&self.address, &self.key, &named("ws"), text).await;
        vec![
            ("runs", begun),
            ("openai", openai),
            ("ag-ui", self.ask("POST", "/agui", &ag_ui).await),
            ("ai-sdk", self.ask("POST", "/api/chat", &ai_sdk).await),
            ("sse", self.ask("POST", "/sse/planner", &sse).await),
            ("websocket", socket),
        ]
    }

    /// Returns the names of the listed conversations.
    async fn threads(&self) -> BTreeSet<String> {
        let listed = self.get("/threads?limit=200").await;
        assert_eq!(listed.status, 200, "{}", listed.body);
        let listed: Value = serde_json::from_str(&listed.body).expect("a list is JSON");
        let threads = listed.get("threads").and_then(Value::as_array);
        let names = threads.into_iter().flatten();
        names
            .filter_map(|line| line.get("thread")?.as_str().map(str::to_owned))
            .collect()
    }
}

/// Returns the person with this key as a client of a server.
fn client(server: &Server, key: String) -> Client {
    let address = server.address().to_owned();
    Client { address, key }
}

/// Returns a new key of a person.
fn key(program: &TestProgram, name: &str, role: &str) -> String {
    key_with(program, name, &["--role", role])
}

/// Returns a new key of a person, with these flags.
fn key_with(program: &TestProgram, name: &str, flags: &[&str]) -> String {
    let added = program.run(&[&["people", "add", name][..], flags].concat());
    assert!(added.well, "{added:?}");
    let key = added.out.lines().next().expect("the key is printed");
    key.to_owned()
}

/// Lets somebody attack what is their own, so that the trial finds that everything is shared.
///
/// # Panics
/// Always, at the first thing that is found.
pub async fn shared(program: &TestProgram, trial: PeopleTrial<'_>) {
    let key = key(program, "ada", "person");
    let server = program.server(&["serve", "--listen", "127.0.0.1:0"]);
    let ada = client(&server, key);
    ada.keep(&trial).await;
    attack::attack(&ada, &trial).await;
}

/// Serves the program to its people, and fails at the first thing that one of them gets of another.
///
/// # Panics
/// If anything is read, changed, guessed or counted across, or a right is missing.
pub async fn separate(program: &TestProgram, trial: PeopleTrial<'_>) {
    let keys = [
        ("ada", "person"),
        ("mallory", "person"),
        ("ada@rival", "approver"),
        ("ada", "reader"),
        ("pat", "approver"),
        ("olga", "operator"),
    ]
    .map(|(name, role)| key(program, name, role));
    let listed = program.ok(&["people", "list"]);
    assert!(
        keys.iter().all(|key| !listed.contains(key.as_str())),
        "{listed}"
    );
    let server = program.server(&["serve", "--listen", "127.0.0.1:0"]);
    let secrets = keys.clone();
    let [ada, mallory, rival, reader, approver, operator] = keys.map(|key| client(&server, key));
    doors::told(&ada, &trial).await;
    let first = ada.first_reply(&trial).await;
    let before = ada.keep(&trial).await;
    if !trial.card.is_empty() {
        let strangers = [&mallory, &rival, &reader, &operator];
        cards::answered(&trial, &ada, strangers, &approver).await;
    }
    for attacker in [&mallory, &rival, &approver, &operator] {
        attack::attack(attacker, &trial).await;
    }
    attack::by_hard_names(program, &mallory, &trial).await;
    folders::linked(program, &mallory, &trial, ["ada", "mallory"]).await;
    for stranger in ["mallory", "ada@rival", "pat", "olga"] {
        folders::holds_no_secret(&folders::folder(program, stranger));
    }
    // No number tells a newcomer that others were there before.
    let nina = client(&server, key(program, "nina", "person"));
    assert_eq!(nina.first_reply(&trial).await, first);
    attack::without_a_right(&reader, &ada, &approver, &operator).await;
    assert_eq!(ada.threads().await, before, "what is ada's is changed");
    let kept = ada.get(&format!("/threads/{THREAD}/timeline")).await;
    assert!(kept.body.contains(SECRET), "{kept:?}");
    let open = mallory.stays().await;
    let revoked = program.run(&["people", "revoke", "mallory"]);
    assert!(revoked.well, "{revoked:?}");
    let ended = tokio::time::timeout(REVOKED, open).await;
    assert!(ended.is_ok(), "a stream goes on with a revoked key");
    let refused = mallory.get("/threads").await;
    assert_eq!(refused.status, 401, "a revoked key: {refused:?}");
    drop(server);
    let again = program.server(&["serve", "--listen", "127.0.0.1:0"]);
    let ada = client(&again, ada.key);
    assert_eq!(ada.threads().await, before, "after a restart");
    for words in trial.still {
        let messages = json!([{ "role": "user", "content": words }]);
        let body = json!({ "messages": messages });
        let told = ada.ask("POST", "/v1/chat/completions", &body).await;
        assert!(told.body.contains(SECRET), "{words:?}: {told:?}");
    }
    let log = program.log();
    for secret in secrets.iter().map(String::as_str).chain([SECRET]) {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "the log of the operator has what is a person's");
    }
}

/// The key of a request of the owner, which others use, too.
const ONCE: [(&str, &str); 1] = [("idempotency-key", "once")];

impl Client {
    /// Returns the reply to the first words that the person says to the program.
    async fn first_reply(&self, trial: &PeopleTrial<'_>) -> String {
        let words = trial.private.first().expect("something is private");
        let messages = json!([{ "role": "user", "content": words }]);
        let body = json!({ "messages": messages });
        let own = [("x-conversation-id", "first")];
        let said = self.with("POST", "/v1/chat/completions", &own, &body).await;
        assert_eq!(said.status, 200, "{said:?}");
        let said: Value = serde_json::from_str(&said.body).expect("a reply is JSON");
        let text = said.pointer("/choices/0/message/content");
        let text = text.and_then(Value::as_str).unwrap_or_default();
        text.to_owned()
    }

    /// Opens a stream and a socket on a new conversation, and returns their end.
    async fn stays(&self) -> impl Future<Output = ()> + use<> {
        let hello = json!({ "text": "hello" });
        let begun = self.ask("POST", "/threads/open/runs", &hello).await;
        assert_eq!(begun.status, 202, "{begun:?}");
        let (address, key) = (&self.address, &self.key);
        let events = format!(
            "GET /threads/open/events HTTP/1.0\r\nhost: {address}\r\n\
             authorization: Bearer {key}\r\n\r\n"
        );
        let socket = socket::upgrade(address, key, "open");
        let streamed = socket::hold(address, &events)
            .await
            .expect("a stream opens");
        let heard = socket::hold(address, &socket)
            .await
            .expect("a socket opens");
        async move {
            let (streamed, heard) = futures::join!(streamed, heard);
            let streamed = streamed.expect("it is read");
            assert!(streamed.contains("200 OK"), "{streamed}");
            let heard = heard.expect("it is read");
            assert!(heard.contains("not valid any more"), "{heard}");
        }
    }

    /// Keeps the secret by every way, and returns the names of the conversations then.
    async fn keep(&self, trial: &PeopleTrial<'_>) -> BTreeSet<String> {
        for (at, words) in trial.private.iter().enumerate() {
            let thread = if at == 0 {
                THREAD.to_owned()
            } else {
                format!("{THREAD}{at}")
            };
            for (protocol, said) in self.say_everywhere(&thread, words).await {
                assert!(said.status < 300, "{protocol} {words:?}: {said:?}");
            }
        }
        let hello = json!({ "text": "hello" });
        let path = "/threads/keyed/runs";
        let begun = self.with("POST", path, &ONCE, &hello).await;
        assert_eq!(begun.status, 202, "{begun:?}");
        if !trial.card.is_empty() {
            let begun = json!({ "thread": cards::THREAD, "text": trial.card });
            let begun = self.ask("POST", "/sse/react", &begun).await;
            assert_eq!(begun.status, 200, "{begun:?}");
        }
        for (method, path, body) in trial.changes {
            let body = serde_json::from_str(body).expect("a change is JSON");
            let changed = self.ask(method, path, &body).await;
            assert!(changed.status < 300, "{method} {path}: {changed:?}");
        }
        let kept = self.get(&format!("/threads/{THREAD}/timeline")).await;
        assert!(
            kept.body.contains(SECRET),
            "nothing private was said: {kept:?}"
        );
        let shown = trial.paths.iter().map(|path| self.get(path));
        let shown = futures::future::join_all(shown).await;
        assert!(
            trial.changes.is_empty() || shown.iter().any(|it| it.body.contains(SECRET)),
            "no path shows it to its owner: {shown:?}"
        );
        self.threads().await
    }
}
