//! The threads that `examples/write.rs` wrote.
use std::{collections::BTreeMap, sync::Arc};

use fugato::{
    Runner, RunnerOptions, ThreadId,
    graph::{Answers, InDoubt, RunError, RunResult, StateEdit},
    sqlite::{SqliteLog, SqliteOptions},
    state::Interrupt,
};
use serde_json::{Value, json};
use upgrade::{LATER, Page, ThreadReading, World, graph, say, seen};

use crate::{
    fixture::{copy, data},
    holds::holds,
};

/// The most times that one question is asked: an old approval may be asked anew once it is
/// answered.
const ROUNDS: usize = 3;

/// A copy of the threads.
struct Threads {
    runner: Runner<Page>,
    world: World,
    _folder: tempfile::TempDir,
}

fn id(name: &str) -> ThreadId {
    ThreadId::new(name).unwrap()
}

fn lines(ended: &RunResult<Page>) -> Vec<&str> {
    ended.state().lines.iter().map(String::as_str).collect()
}

/// The answer to each question of a thread.
fn answer(question: &Interrupt) -> Value {
    match question.question.key.as_str() {
        "city" => json!("Oslo"),
        "days" => json!(3),
        "seat" => json!({ "row": 7, "side": "aisle" }),
        "meals" => Value::Null,
        key if key.contains("mail") => json!({ "happened": "sent by hand" }),
        _ if question.question.schema.as_value()["type"] == "boolean" => json!(true),
        _ => json!("Bob"),
    }
}

impl Threads {
    fn open() -> Self {
        let folder = fugato_testkit::tempdir().unwrap();
        copy(&data("library/folder"), folder.path());
        let options = SqliteOptions::default().clock(|| LATER);
        let log = SqliteLog::open_with(folder.path().join("threads.db"), options).unwrap();
        let world = World::default();
        let runner = Runner::new(graph(&world).unwrap(), Arc::new(log));
        Self {
            runner: runner.options(RunnerOptions::default()),
            world,
            _folder: folder,
        }
    }

    /// Answers what a thread asks until it asks nothing more.
    async fn answers(&self, thread: &str) -> RunResult<Page> {
        let thread = id(thread);
        let mut rounds: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let asked = self.runner.interrupts(&thread).await.unwrap();
            let mut answers = Answers::none();
            for question in &asked {
                let shown = format!("{}{}", question.task, question.question.prompt);
                let times = rounds.entry(shown).or_default();
                *times += 1;
                assert!(*times <= ROUNDS, "{question:?} is asked for ever");
                let (id, value) = (question.id.clone(), answer(question));
                answers = match &question.question.digest {
                    Some(digest) => answers.approving(id, value, digest.clone()).unwrap(),
                    None => answers.and(id, value).unwrap(),
                };
            }
            let ended = self.runner.resume(&thread, answers).await;
            let open = self.runner.interrupts(&thread).await.unwrap();
            match ended {
                Ok(ended) if open.is_empty() => return ended,
                Ok(_) => {}
                // It may be refused for being asked anew, and then it shows other ids.
                Err(error) => assert_ne!(open, asked, "{error:?}"),
            }
        }
    }

    async fn recovers(&self, thread: &str) -> Result<RunResult<Page>, RunError> {
        self.runner.recover(&id(thread)).await
    }
}

#[tokio::test]
async fn library_threads_read_the_same() {
    let threads = Threads::open();
    let said = std::fs::read(data("library/expected.json")).unwrap();
    let said: BTreeMap<String, Value> = serde_json::from_slice(&said).unwrap();
    assert!(said.len() > 10);
    for (thread, then) in said {
        let from = then["from"].as_u64().unwrap();
        let now: ThreadReading = seen(&threads.runner, &id(&thread), from).await.unwrap();
        let now = serde_json::to_value(now).unwrap();
        holds(&then, &now).unwrap_or_else(|why| panic!("{thread}: {why}"));
    }
}

#[tokio::test]
async fn library_questions_are_answered() {
    let threads = Threads::open();
    for (thread, last) in [
        ("pause", "true"),
        ("approve", "approved true"),
        ("form", "Oslo 3 7"),
        ("memo", "Ann, Bob, Bob"),
        ("half", "both"),
        ("compacted", "approved true"),
        ("amended", "true"),
        ("old", "true"),
        ("migrated", "approved true"),
    ] {
        let ended = threads.answers(thread).await;
        assert!(
            matches!(ended, RunResult::Finished { .. }),
            "{thread}: {ended:?}"
        );
        assert_eq!(lines(&ended).last(), Some(&last), "{thread}");
    }
    let ended = threads.answers("each").await;
    let expected = [
        "each",
        "one",
        "begun",
        "first answer",
        "two",
        "begun",
        "Bob",
    ];
    assert_eq!(lines(&ended), expected);
}

#[tokio::test]
async fn library_a_fork_asks_anew() {
    let threads = Threads::open();
    threads.recovers("forked").await.unwrap();
    let ended = threads.answers("forked").await;
    assert_eq!(lines(&ended), ["form", "Oslo 3 7"]);
}

#[tokio::test]
async fn library_an_action_in_doubt_is_asked_about_and_not_repeated() {
    let threads = Threads::open();
    threads.recovers("doubt").await.unwrap();
    for thread in ["doubt", "unsure"] {
        let ended = threads.answers(thread).await;
        assert_eq!(lines(&ended), ["send", "sent by hand"], "{thread}");
    }
    assert_eq!(threads.world.sent(), <[String; 0]>::default());
}

#[tokio::test]
async fn library_an_action_that_did_not_happen_is_done_once() {
    let threads = Threads::open();
    threads.recovers("doubt").await.unwrap();
    let asked = threads.runner.interrupts(&id("doubt")).await.unwrap();
    let answers = Answers::to(asked[0].id.clone(), InDoubt::<Value>::DidNotHappen).unwrap();
    let ended = threads.runner.resume(&id("doubt"), answers).await.unwrap();
    assert_eq!(lines(&ended), ["send", "sent mail"]);
    assert_eq!(threads.world.sent(), ["mail"]);
}

#[tokio::test]
async fn library_a_failed_run_is_tried_again_where_it_failed() {
    let threads = Threads::open();
    let ended = threads.runner.retry(&id("failed")).await.unwrap();
    assert_eq!(lines(&ended), ["left", "left", "right"]);
    let ended = threads.recovers("sleeping").await.unwrap();
    assert_eq!(lines(&ended), ["sleep", "slept"]);
}

#[tokio::test]
async fn library_ended_threads_take_another_request() {
    let threads = Threads::open();
    let repeated = threads
        .runner
        .start_keyed(&id("done"), "request-1", say("approve"));
    let ended = repeated.await.unwrap();
    assert_eq!(lines(&ended), ["approve", "approved true"]);
    let amendment = StateEdit::new([say("by hand")], "ann", "it was missing");
    threads.runner.amend(&id("done"), amendment).await.unwrap();
    for thread in ["done", "cancelled"] {
        threads
            .runner
            .start(&id(thread), say("first"))
            .await
            .unwrap();
        let ended = threads.answers(thread).await;
        assert_eq!(lines(&ended).last(), Some(&"both"), "{thread}");
    }
}
