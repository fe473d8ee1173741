//! A program whose conversations an engine goes on with, while both are killed.
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use fugato_sqlite::SqliteTables;
use serde_json::{Value, json};
use tokio::sync::oneshot;

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

/// A conversation that comes to a card, and behind it to a write.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AgreedWrite {
    /// The words that lead to the card.
    pub words: &'static str,
    /// The file of SQLite into which the program writes, beside its log.
    pub tables: &'static str,
    /// The path that shows what is written, and a text that is there from then on.
    pub shown: (&'static str, &'static str),
}

impl AgreedWrite {
    /// Creates a conversation that begins with these words.
    pub fn new(words: &'static str) -> Self {
        Self {
            words,
            tables: "",
            shown: ("", ""),
        }
    }

    fugato_state::setters! {
        /// Sets the file into which the program writes, beside its log.
        pub fn tables(file: &'static str) { tables = file }

        /// Sets the path that shows what is written, and a text that is there from then on.
        pub fn shown(path: &'static str, text: &'static str) { shown = (path, text) }
    }

    async fn is_written(&self, server: &Server) -> bool {
        let (path, text) = self.shown;
        let asked = Server::ask(server.address(), ("GET", path), &[], "").await;
        asked.is_ok_and(|(status, shown)| status == 200 && shown.contains(text))
    }

    /// Lets a program write what a person agreed to, and keeps it from storing that it did. Returns
    /// what keeps it from that.
    async fn written_and_not_noted(
        &self,
        program: &TestProgram,
        server: &Server,
        agree: impl Future<Output = ()>,
    ) -> FileLock {
        let tables_file = program.path(self.tables);
        let log_file = tables_file.with_file_name("threads.db");
        let begun = Instant::now();
        let mut tables = FileLock::of(&tables_file).await;
        agree.await;
        loop {
            let log = FileLock::of(&log_file).await;
            drop(tables);
            let tried = Instant::now();
            while tried.elapsed() < Duration::from_secs(1) {
                if self.is_written(server).await {
                    return log;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            // It has to store something before it writes.
            tables = FileLock::of(&tables_file).await;
            if self.is_written(server).await {
                return log;
            }
            drop(log);
            assert!(begun.elapsed() < PATIENCE, "not within a minute: a write");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// The only permission to write to a file of SQLite, until it is dropped.
#[derive(Debug)]
struct FileLock {
    _release: mpsc::Sender<()>,
}

impl FileLock {
    /// Waits for the permission.
    async fn of(file: &Path) -> Self {
        let tables = SqliteTables::open(file).expect("it is a file of SQLite");
        let (release, released) = mpsc::channel();
        let (tell, told) = oneshot::channel();
        let hold = move |_| {
            // Nobody may wait any more; and nothing is sent, as the sender is dropped in the end.
            let _ = (tell.send(()), released.recv());
            Err::<(Vec<_>, ()), ()>(())
        };
        tokio::spawn(async move { tables.write(vec![], vec![], hold).await });
        told.await.expect("whoever writes comes to an end");
        Self { _release: release }
    }
}

/// Lets a program come from words to a card, and from the card to the end: the program dies while a
/// model thinks, and between the write that was agreed to and the record of it; the engine dies too,
/// and is back later than the program. Nobody asks for the thread meanwhile. Returns the last server,
/// and what was said.
///
/// # Panics
/// If the conversation does not come to its card or to its end, or if something is written before
/// the person agrees.
pub async fn killed_on_the_way(
    program: &TestProgram,
    engine: &TestEngine<'_>,
    way: &AgreedWrite,
) -> (Server, String) {
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
    let path = "/threads/killed";
    let view = async |server: &Server, part: &str| {
        let view = get(server, path).await;
        view.and_then(|view| view.pointer(part).cloned())
    };

    let server = program.server(&args);
    let start = json!({ "text": way.words }).to_string();
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
    assert!(!way.is_written(&server).await, "nobody has agreed yet");

    let id = view(&server, "/interrupts/0/id").await.unwrap_or_default();
    let digest = view(&server, "/interrupts/0/digest").await;
    let name = id.as_str().unwrap_or_default();
    let answer = json!({ "answers": { name: true }, "digests": { name: digest } });
    let agree = async {
        post(&server, &format!("{path}/resume"), &answer.to_string()).await;
        until("the answer is stored", async || {
            view(&server, "/interrupts").await == Some(json!([]))
        })
        .await;
    };
    let noting = way.written_and_not_noted(program, &server, agree).await;
    drop(server);
    drop(noting);
    let server = program.server(&args);
    (engine.kill)();
    (engine.restart)();
    until("it comes to its end", async || {
        view(&server, "/status").await == Some(json!("idle"))
    })
    .await;
    let said = get(&server, &format!("{path}/timeline")).await;
    (server, said.unwrap_or_default().to_string())
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
