//! A program whose conversations go on after its death, alone or with the engine that places them.
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use fugato_sqlite::SqliteTables;
use serde_json::{Value, json};
use tokio::{runtime, sync::oneshot};

use crate::{ModelAnswer, ModelServer, Server, TestProgram, share::share};

/// The longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time that the model takes to answer while the program is to die.
const THOUGHT: Duration = Duration::from_millis(400);

/// The path of the conversation.
const KILLED: &str = "/threads/killed";

/// The trials that run at the same time.
const AT_ONCE: usize = 4;

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

    /// Does the next thing that a person does in the conversation. Returns true if it is over.
    async fn goes_on(&self, server: &Server, cards: &mut BTreeSet<String>) -> bool {
        let shown = Server::ask(server.address(), ("GET", KILLED), &[], "").await;
        let Ok((status, view)) = shown else {
            return false;
        };
        if status == 404 {
            let start = json!({ "text": self.words }).to_string();
            post(server, &format!("{KILLED}/runs"), &start).await;
            return false;
        }
        let view: Value = serde_json::from_str(&view).unwrap_or_default();
        if let Some(card) = view.pointer("/interrupts/0") {
            assert!(!self.is_written(server).await, "nobody has agreed yet");
            cards.insert(card["id"].to_string());
            agree_to(server, card).await;
            return false;
        }
        let is_over = status == 200 && view.get("status") == Some(&json!("idle"));
        if !is_over {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        is_over
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

/// Lets a program that keeps its threads in a folder come from words to a card, and from the card to
/// the end, and kills it at each number of commits that it makes on the way; another process goes on
/// with the conversation by itself. `check` gets the last server and what was said.
///
/// # Panics
/// If a conversation does not come to its end, if it asks for more than the one card, if something is
/// written before the person agrees, if `check` does, or if no process was killed in the middle.
pub fn killed_in_a_folder(
    program: &'static str,
    way: &AgreedWrite,
    check: impl AsyncFn(&Server, &str) + Sync,
) {
    killed_at_each_point(async |commits| {
        let program = TestProgram::new(program).flag("--store", "file:commits");
        let folder = program.path("commits/threads");
        let (server, said, is_dead) = killed_at(&program, way, has_files(&folder, commits)).await;
        check(&server, &said).await;
        is_dead
    });
}

/// Does the same with a program that keeps its threads in a bucket, and kills it at each write that it
/// sends there. `bucket` returns the variables with which the program reaches a bucket, its address,
/// and the wire to it, which is cut before the write of that number; `is_cut` tells when it was.
///
/// # Panics
/// As [`killed_in_a_folder`].
pub fn killed_in_a_bucket<const N: usize, W>(
    program: &'static str,
    way: &AgreedWrite,
    bucket: impl Fn(u32) -> ([(&'static str, String); N], String, W) + Sync,
    is_cut: impl Fn(&W) -> bool + Sync,
    check: impl AsyncFn(&Server, &str) + Sync,
) {
    killed_at_each_point(async |writes| {
        let (env, place, wire) = bucket(writes.try_into().expect("a few"));
        let program = TestProgram::new(program).flag("--store", &place);
        let program = env
            .into_iter()
            .fold(program, |program, (name, value)| program.env(name, value));
        let dies = async {
            while !is_cut(&wire) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let (server, said, is_dead) = killed_at(&program, way, dies).await;
        check(&server, &said).await;
        is_dead
    });
}

/// Lets a program come from words to a card, and from the card to the end, and kills it when `dies` is
/// ready; another process goes on with the conversation by itself. Returns the last server and what
/// was said, and true if it died before the end.
///
/// # Panics
/// If the conversation does not come to its end, if it asks for more than the one card, as it does
/// where it doubts what was done, or if something is written before the person agrees.
async fn killed_at(
    program: &TestProgram,
    way: &AgreedWrite,
    dies: impl Future<Output = ()>,
) -> (Server, String, bool) {
    let model = ModelServer::deciding(|_| nonsense());
    let url = model.url();
    let args = serving(&url, &[]);
    let mut cards = BTreeSet::new();
    let mut dies = pin!(dies);
    let mut is_dead = false;
    let mut server = program.server(&args);
    let begun = Instant::now();
    loop {
        let ended = tokio::select! {
            biased;
            () = &mut dies, if !is_dead => {
                is_dead = true;
                drop(server);
                server = program.server(&args);
                false
            }
            ended = way.goes_on(&server, &mut cards) => ended,
        };
        if ended {
            break;
        }
        let now = get(&server, KILLED).await;
        assert!(begun.elapsed() < 2 * PATIENCE, "it does not end: {now:?}");
    }
    assert_eq!(cards.len(), 1, "it asks once: {cards:?}");
    let said = get(&server, &format!("{KILLED}/timeline")).await;
    (server, said.unwrap_or_default().to_string(), is_dead)
}

/// Tries a way at every point at which its program can die, until a trial says that it did not die:
/// its point is beyond the end. Points are counted from 1, and a [`share`](share()) of them is tried;
/// the trials run beside each other, each on a thread of its own.
///
/// # Panics
/// If a trial does, or none of them died.
fn killed_at_each_point(trial: impl AsyncFn(usize) -> bool + Sync) {
    let next = AtomicUsize::new(0);
    let tried = AtomicUsize::new(0);
    let try_on = || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("the system has timers and sockets");
        while runtime.block_on(trial(1 + next.fetch_add(share(), Ordering::SeqCst))) {
            tried.fetch_add(1, Ordering::SeqCst);
        }
    };
    // A trial waits for the lease of the dead process most of the time.
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(try_on))));
    let tried = tried.into_inner();
    assert!(tried > 0, "no process was killed in the middle");
}

/// Waits until a folder has so many files, at any depth.
async fn has_files(folder: &Path, files: usize) {
    fn count(folder: &Path) -> usize {
        // One that is gone meanwhile has none.
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let of = entries.map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count(&entry.path()),
            _ => 1,
        });
        of.sum()
    }
    while count(folder) < files {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Returns an answer of a model that talks nonsense: rules decide in its place.
fn nonsense() -> ModelAnswer {
    ModelAnswer::text("What a lovely day!", "stop")
}

/// Returns the arguments of a server of a program with this model.
fn serving<'a>(url: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    let args = ["--base-url", url, "--model", "parrot", "serve"];
    [&args[..], &["--listen", "127.0.0.1:0"], flags].concat()
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
        ModelServer::deciding(move |_| {
            if !hurry.load(Ordering::SeqCst) {
                thread::sleep(THOUGHT);
            }
            nonsense()
        })
    };
    let url = model.url();
    let flags: Vec<_> = engine.flags.iter().map(String::as_str).collect();
    let args = serving(&url, &flags);
    let path = KILLED;
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

    let card = view(&server, "/interrupts/0").await.unwrap_or_default();
    let agree = async {
        agree_to(&server, &card).await;
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

/// Agrees to a card as it was shown.
async fn agree_to(server: &Server, card: &Value) {
    let name = card["id"].as_str().unwrap_or_default();
    let answer = json!({ "answers": { name: true }, "digests": { name: card["digest"] } });
    post(server, &format!("{KILLED}/resume"), &answer.to_string()).await;
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
