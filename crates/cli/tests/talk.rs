//! A conversation with an agent that asks before it is done.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
mod common;

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use clap::Parser as _;
use common::{Args, Small};
use fugato_axum::{BadInput, UserMessage};
use fugato_cli::{App, Folders, Resources};
use fugato_graph::{END, Graph, Runner, RunnerOptions, ThreadStatus};
use fugato_sqlite::SqliteLog;
use fugato_state::{State, ThreadId};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Letter {
    wish: String,
    sent: Option<bool>,
    to: String,
}

#[derive(Serialize, Deserialize)]
enum Change {
    Wished(String),
    Judged(bool),
    Addressed(String),
}

impl State for Letter {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Wished(wish) => {
                *self = Self {
                    wish,
                    ..Self::default()
                }
            }
            Change::Judged(sent) => self.sent = Some(sent),
            Change::Addressed(to) => self.to = to,
        }
    }
}

fn wish(said: UserMessage) -> Result<Vec<Change>, BadInput> {
    if said.text.len() > 100 {
        return Err(BadInput::new("too long: at most 100 bytes are allowed"));
    }
    Ok(vec![Change::Wished(said.text)])
}

fn graph() -> Graph<Letter> {
    let card = |letter: &Letter| json!({ "title": "Send it?", "text": letter.wish });
    Graph::<Letter>::starting_at("confirm")
        .pause("confirm", card, |_, sent: bool| Change::Judged(sent))
        .pause(
            "address",
            |_| json!({ "title": "To whom?" }),
            |_, to: String| Change::Addressed(to),
        )
        .branch("confirm", ["address", END], |letter: &Letter| {
            if letter.sent == Some(true) {
                "address"
            } else {
                END
            }
        })
        .edge("address", END)
        .build()
        .unwrap()
}

/// A folder in which the program is run.
struct Work(tempfile::TempDir);

impl Work {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    async fn run(&self, args: &[&str]) -> bool {
        let dir = self.0.path().join("data");
        let all = ["writer", "--dir", dir.to_str().unwrap()];
        let args = Args::parse_from(all.into_iter().chain(args.iter().copied()));
        let app = App::new("writer", args.flags)
            .belongings(|flags| Folders::new(flags.folder("writer").join("own")));
        let ended = app
            .run(args.command, async |open: Resources| {
                assert!(open.model.is_none());
                Ok(Small {
                    runner: open.runner(graph()),
                    input: wish,
                    title: |letter| Some(letter.wish.clone()),
                })
            })
            .await;
        ended == ExitCode::SUCCESS
    }

    fn runner(&self) -> Runner<Letter> {
        let log = SqliteLog::open(self.0.path().join("data/threads.db")).unwrap();
        Runner::new(graph(), Arc::new(log)).options(RunnerOptions::default())
    }

    /// Returns a thread's state, and the questions that it waits for.
    async fn stands(&self, thread: &str) -> (Option<Letter>, Vec<String>) {
        let (runner, thread) = (self.runner(), ThreadId::new(thread).unwrap());
        let state = runner.state(&thread).await.unwrap();
        let open = match runner.status(&thread).await.unwrap() {
            ThreadStatus::Waiting(open) => open,
            _ => vec![],
        };
        let open = open.into_iter().map(|asked| asked.task).collect();
        (state.map(|state| (*state).clone()), open)
    }
}

fn letter(wish: &str, sent: Option<bool>, to: &str) -> Letter {
    Letter {
        wish: wish.into(),
        sent,
        to: to.into(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_waits_until_it_is_answered_by_words_or_by_json() {
    let work = Work::new();
    assert!(work.run(&["say", "thank Ada"]).await);
    let asked = (
        Some(letter("thank Ada", None, "")),
        vec!["confirm#1".to_owned()],
    );
    assert_eq!(work.stands("default").await, asked);
    // No words: the same card is shown.
    assert!(work.run(&["say"]).await);
    assert_eq!(work.stands("default").await, asked);
    // Words that are neither yes nor no are refused, and so is a value against the schema.
    assert!(!work.run(&["say", "yes, but later"]).await);
    assert!(!work.run(&["say", "--answer", "12"]).await);
    assert_eq!(work.stands("default").await, asked);
    // Yes is the answer to the card, and not a new wish.
    assert!(work.run(&["say", "yes"]).await);
    let to = (
        Some(letter("thank Ada", Some(true), "")),
        vec!["address#1".to_owned()],
    );
    assert_eq!(work.stands("default").await, to);
    // `--yes` is no answer to a question.
    assert!(work.run(&["say", "--yes"]).await);
    assert_eq!(work.stands("default").await, to);
    assert!(work.run(&["say", "--answer", r#""Ada""#]).await);
    let done = (Some(letter("thank Ada", Some(true), "Ada")), vec![]);
    assert_eq!(work.stands("default").await, done);
    // With nothing open, the words are a wish again.
    assert!(work.run(&["say", "thank Bob"]).await);
    assert!(work.run(&["say", "no"]).await);
    let refused = (Some(letter("thank Bob", Some(false), "")), vec![]);
    assert_eq!(work.stands("default").await, refused);
}

/// Notes that a task has ended.
struct Gone(Arc<AtomicUsize>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_ends_after_the_tasks_beside_its_commands() {
    let work = Work::new();
    let args = Args::parse_from([
        "writer",
        "--dir",
        work.0.path().to_str().unwrap(),
        "say",
        "hi",
    ]);
    let (orderly, gone) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let app = App::new("writer", args.flags);
    let ended = app.run(args.command, async |open: Resources| {
        let runner = open.runner(graph());
        let (closed, orderly, mark) = (runner.closed(), orderly.clone(), Gone(gone.clone()));
        open.background(async move {
            closed.await;
            orderly.fetch_add(1, Ordering::SeqCst);
            drop(mark);
        });
        // This one never ends by itself, and its steps take their time.
        let mark = Gone(gone.clone());
        open.background(async move {
            let _mark = mark;
            loop {
                std::thread::sleep(Duration::from_millis(50));
                tokio::task::yield_now().await;
            }
        });
        Ok(Small {
            runner,
            input: wish,
            title: |letter| Some(letter.wish.clone()),
        })
    });
    assert_eq!(ended.await, ExitCode::SUCCESS);
    let counts = [&orderly, &gone].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts, [1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_the_place_of_a_card_must_be_of_use() {
    let work = Work::new();
    assert!(work.run(&["say", "thank Ada"]).await);
    let asked = work.stands("default").await;
    let long = format!("instead {}", "very ".repeat(20));
    assert!(!work.run(&["say", &long]).await);
    assert_eq!(work.stands("default").await, asked);
    assert!(work.run(&["say", "instead thank Bob"]).await);
    let other = (
        Some(letter("instead thank Bob", None, "")),
        vec!["confirm#2".to_owned()],
    );
    assert_eq!(work.stands("default").await, other);
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_are_looked_at_copied_taken_along_and_removed() {
    let work = Work::new();
    assert!(!work.run(&["threads"]).await, "there is no log yet");
    assert!(work.run(&["graph"]).await);
    assert!(
        !work.0.path().join("data").exists(),
        "looking makes nothing"
    );

    assert!(work.run(&["say", "thank Ada"]).await);
    std::fs::create_dir_all(work.0.path().join("data/own/default")).unwrap();
    std::fs::write(work.0.path().join("data/own/default/note"), "blue ink").unwrap();
    for look in [
        &["threads"][..],
        &["history"],
        &["show", "2"],
        &["show", "2", "--full"],
        &["trace", "--full"],
        &["card"],
    ] {
        assert!(work.run(look).await, "{look:?}");
    }
    assert!(!work.run(&["show", "4711"]).await);
    assert!(!work.run(&["history", "--thread", "other"]).await);

    let (runner, thread) = (work.runner(), ThreadId::new("default").unwrap());
    let history = runner.history(&thread, 1, 100).await.unwrap();
    let last = history.iter().rfind(|entry| entry.is_checkpoint()).unwrap();
    let last = last.seq.to_string();
    assert!(work.run(&["fork", &last, "other"]).await);
    // The copy goes on from the open question.
    assert!(work.run(&["say", "--thread", "other"]).await);
    let asked = (
        Some(letter("thank Ada", None, "")),
        vec!["confirm#1".to_owned()],
    );
    assert_eq!(work.stands("other").await, asked);
    let copy = std::fs::read_to_string(work.0.path().join("data/own/other/note"));
    assert_eq!(copy.unwrap(), "blue ink");
    assert!(!work.run(&["fork", &last, "other"]).await, "it is taken");

    let taken = work.0.path().join("taken");
    assert!(work.run(&["export", taken.to_str().unwrap()]).await);
    let log = std::fs::read_to_string(taken.join("log.jsonl")).unwrap();
    assert_eq!(log.lines().count(), history.len());
    assert!(taken.join("note").exists());
    // What somebody else put there is not overwritten.
    let full = work.0.path().join("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("note"), "red ink").unwrap();
    assert!(!work.run(&["export", full.to_str().unwrap()]).await);
    assert_eq!(
        std::fs::read_to_string(full.join("note")).unwrap(),
        "red ink"
    );
    assert!(!full.join("log.jsonl").exists());

    assert!(!work.run(&["delete", "default"]).await, "nobody agreed");
    assert!(work.run(&["delete", "default", "--yes"]).await);
    assert_eq!(work.stands("default").await, (None, vec![]));
    assert!(!work.0.path().join("data/own/default").exists());
    assert!(!work.run(&["delete", "default", "--yes"]).await);
    assert_eq!(work.stands("other").await, asked);
    // A folder without a log is no conversation, and may be shared by all of them.
    let shared = work.0.path().join("data/shared");
    std::fs::create_dir(&shared).unwrap();
    assert!(!work.run(&["delete", "shared", "--yes"]).await);
    assert!(shared.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_fails_and_begins_nothing() {
    let work = Work::new();
    assert!(!work.run(&["say", &"x".repeat(101)]).await);
    assert_eq!(work.stands("default").await, (None, vec![]));
    assert!(!work.run(&["say"]).await, "nothing is said");
    assert_eq!(work.stands("default").await, (None, vec![]));
    assert!(!work.run(&["--store", "ftp://host/x", "say", "hello"]).await);
    let missing = ["--base-url", "http://127.0.0.1:1", "--model", "m"];
    let missing = [&missing[..], &["--key-env", "NO_SUCH_VARIABLE_HERE", "say"]].concat();
    assert!(!work.run(&missing).await);
    assert!(!work.run(&["serve", "--listen", "0.0.0.0:0"]).await);
}
