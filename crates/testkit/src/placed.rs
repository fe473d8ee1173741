//! A program whose conversations an engine goes on with, while both are killed.
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{ModelAnswer, ModelServer, Server, TestProgram};

/// The longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time that the model takes to answer while the program is to die.
const THOUGHT: Duration = Duration::from_millis(400);

/// An engine in a process of its own.
#[derive(derive_more::Debug)]
#[non_exhaustive]
pub struct TestEngine<'a> {
    /// The flags of a program that leaves its threads to it.
    pub flags: Vec<String>,
    /// Kills it as `kill -9` does.
    #[debug(skip)]
    pub kill: &'a dyn Fn(),
    /// Starts it again, with what it stored.
    #[debug(skip)]
    pub restart: &'a dyn Fn(),
}

impl<'a> TestEngine<'a> {
    /// Creates an engine that is reached with these flags.
    pub fn new<T: Into<String>>(
        flags: impl IntoIterator<Item = T>,
        kill: &'a dyn Fn(),
        restart: &'a dyn Fn(),
    ) -> Self {
        let flags = flags.into_iter().map(Into::into).collect();
        Self {
            flags,
            kill,
            restart,
        }
    }
}

/// Lets a program come from these words to a card, and from the card to the end, in a conversation of
/// its own: the program dies while a model thinks, and after the consent; the engine dies too, and is
/// back later than the program. Nobody asks for the thread meanwhile. Returns the last server.
///
/// # Panics
/// If the conversation does not come to its card or to its end.
pub async fn killed_on_the_way(
    program: &TestProgram,
    engine: &TestEngine<'_>,
    (thread, words): (&str, &str),
) -> Server {
    let hurry = Arc::new(AtomicBool::default());
    let model = {
        let hurry = hurry.clone();
        // Rules decide in place of a model that talks nonsense.
        ModelServer::deciding(move |_| {
            if !hurry.load(Ordering::SeqCst) {
                std::thread::sleep(THOUGHT);
            }
            ModelAnswer::text("What a lovely day!", "stop")
        })
    };
    let url = model.url();
    let flags = engine.flags.iter().map(String::as_str);
    let args: Vec<&str> = ["--base-url", &url, "--model", "parrot", "serve"]
        .into_iter()
        .chain(["--listen", "127.0.0.1:0"])
        .chain(flags)
        .collect();
    let path = format!("/threads/{thread}");
    let view = async |server: &Server, part: &str| {
        let view = get(server, &path).await;
        view.and_then(|view| view.pointer(part).cloned())
    };

    let server = program.server(&args);
    let start = json!({ "text": words }).to_string();
    let begun = post(&server, &format!("{path}/runs"), &start).await;
    assert_eq!(begun, Some(202), "the start");
    until("it is stored", async || {
        view(&server, "/head").await.is_some_and(|head| head != 0)
    })
    .await;
    drop(server);
    (engine.kill)();
    hurry.store(true, Ordering::SeqCst);
    let server = program.server(&args);
    let asked = view(&server, "/interrupts").await;
    assert_eq!(asked, Some(json!([])), "it died too late");
    (engine.restart)();
    until("it asks", async || {
        view(&server, "/interrupts/0/id").await.is_some()
    })
    .await;
    let history = get(&server, &format!("{path}/history?limit=1000")).await;
    let history = history.unwrap_or_default().to_string();
    assert!(history.contains("esumed"), "it was never left: {history}");

    let id = view(&server, "/interrupts/0/id").await.unwrap_or_default();
    let digest = view(&server, "/interrupts/0/digest").await;
    let name = id.as_str().unwrap_or_default();
    let answer = json!({ "answers": { name: true }, "digests": { name: digest } });
    let (answer, resume) = (answer.to_string(), format!("{path}/resume"));
    post(&server, &resume, &answer).await;
    drop(server);
    let server = program.server(&args);
    (engine.kill)();
    (engine.restart)();
    until("it comes to its end", async || {
        if view(&server, "/interrupts/0/id").await.as_ref() == Some(&id) {
            // The program died before it had stored the answer.
            post(&server, &resume, &answer).await;
        }
        view(&server, "/status").await == Some(json!("idle"))
    })
    .await;
    server
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "not within a minute: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn get(server: &Server, path: &str) -> Option<Value> {
    let asked = Server::ask(server.address(), ("GET", path), &[], "").await;
    serde_json::from_str(&asked.ok()?.1).ok()
}

/// Returns the status; none if the server died.
async fn post(server: &Server, path: &str, body: &str) -> Option<u16> {
    let asked = Server::ask(server.address(), ("POST", path), &[], body).await;
    asked.ok().map(|(status, _)| status)
}
