//! Sessions with agents that survive the death of their process, and with some that do not.
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use expect_test::expect;
use fugato_graph::{BoxError, Context, END, Graph, Runner, ThreadStatus};
use fugato_state::{EffectClass, State};
use fugato_testkit::session::Session;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize)]
struct Book {
    heard: Vec<String>,
    answer: String,
}

#[derive(Serialize, Deserialize)]
enum Update {
    Heard(String),
    Answered(String),
}

impl State for Book {
    type Update = Update;

    fn apply(&mut self, update: Update) {
        match update {
            Update::Heard(words) => self.heard.push(words),
            Update::Answered(answer) => self.answer = answer,
        }
    }
}

/// An agent that repeats everything that was said: by its state or, if it is `forgetful`, by what
/// its process remembers.
fn repeats(forgetful: bool) -> Session<Book> {
    let open = move || {
        let known = Arc::new(Mutex::new(vec![]));
        let node = move |cx: Context<Book>| {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.extend(cx.state().heard.last().cloned());
            let said = if forgetful { &known } else { &cx.state().heard };
            let answer = said.join(", ");
            async move { Ok::<_, BoxError>(Update::Answered(answer)) }
        };
        let graph = Graph::<Book>::starting_at("repeat").node("repeat", node);
        graph
            .edge("repeat", END)
            .output(|book| book.answer.clone())
            .build()
    };
    Session::new(
        move |log| Runner::new(open().expect("the wiring is checked"), log),
        |words| Update::Heard(words.to_owned()),
    )
}

/// The writes under each key of an effect.
type Writes = Arc<Mutex<BTreeMap<String, usize>>>;

/// An agent that asks before it writes. If it is `careless`, it writes outside of an effect.
fn writes(writes: &Writes, careless: bool) -> Session<Book> {
    let writes = writes.clone();
    let open = move || {
        let writes = writes.clone();
        let node = move |cx: Context<Book>| {
            let writes = writes.clone();
            let write = async move |key: String| {
                let mut writes = writes.lock().unwrap_or_else(PoisonError::into_inner);
                let times = writes.entry(key).or_default();
                *times = if careless { *times + 1 } else { 1 };
                Ok::<_, BoxError>("written".to_owned())
            };
            async move {
                let answer = if careless {
                    write("file".to_owned()).await?
                } else {
                    cx.effect("file", EffectClass::Keyed, &1, write).await?
                };
                Ok::<_, BoxError>(Update::Answered(answer))
            }
        };
        let graph = Graph::<Book>::starting_at("ask");
        let words = |yes: bool| Update::Heard(format!("agreed: {yes}"));
        let graph = graph.approval("ask", |_| "Write it?", move |_, yes: bool| words(yes));
        let graph = graph
            .edge("ask", "write")
            .node("write", node)
            .edge("write", END);
        graph.output(|book| book.answer.clone()).build()
    };
    Session::new(
        move |log| Runner::new(open().expect("the wiring is checked"), log),
        |words| Update::Heard(words.to_owned()),
    )
}

/// Returns how often a file was written by an agent that died after so many appends of its write,
/// and true if it died at all.
async fn killed(appends: usize, careless: bool) -> (usize, bool) {
    let written = Writes::default();
    let session = writes(&written, careless);
    session.say("write").await;
    session.kill_after(appends);
    let turn = session.approve().await;
    if turn.is_killed() {
        session.reopen().await;
        let status = session.runner().status(session.thread()).await;
        match status.expect("a readable log") {
            // The answer was not stored, and the card is as it was.
            ThreadStatus::Waiting(_) => drop(session.approve().await),
            ThreadStatus::Unfinished => drop(session.recover().await),
            status => assert_eq!(status, ThreadStatus::Idle),
        }
    }
    assert_eq!(
        session.state().await.answer,
        "written",
        "{}",
        session.transcript()
    );
    let written = written.lock().unwrap_or_else(PoisonError::into_inner);
    (written.values().sum(), turn.is_killed())
}

#[tokio::test]
async fn a_conversation_is_the_same_if_the_process_is_replaced() {
    let answer = async |session: &Session<Book>| {
        session.say("tea").await;
        session.reopen().await;
        session.say("milk").await.answer()
    };
    assert_eq!(answer(&repeats(false)).await, "tea, milk");
    // What is not in the state is gone.
    assert_eq!(answer(&repeats(true)).await, "milk");
    assert_eq!(
        repeats(true).say_all(["tea", "milk"]).await.answer(),
        "tea, milk"
    );
}

#[tokio::test]
async fn a_write_that_a_killed_process_repeats_is_found() {
    let mut most = [0, 0];
    for (most, careless) in most.iter_mut().zip([false, true]) {
        for appends in 0.. {
            let (written, died) = killed(appends, careless).await;
            *most = written.max(*most);
            if !died {
                break;
            }
            assert!(appends < 20, "it has an end");
        }
    }
    assert_eq!(most, [1, 2]);
}

#[tokio::test]
async fn a_transcript_tells_of_cards_deaths_and_failures() {
    let session = writes(&Writes::default(), false);
    session.say("write").await;
    let first = session.card();
    session.kill_after(0);
    session.approve().await;
    session.reopen().await;
    session.approve().await;
    let turn = session.answer_card(&first, true).await;
    assert!(
        turn.error().contains("no question is open"),
        "{}",
        turn.error()
    );
    session.say("write").await;
    session.reject().await;
    expect![[r#"
        > write
        ? [<code 1>]
          Write it?
          yes / no
        < true
        ! the process died
        ~ the process is gone, and another one opens the agent
        < true
        = written
        < true
        ! thread "session", after 0 steps: no question is open
        > write
        ? [<code 2>]
          Write it?
          yes / no
        < false
        = written
    "#]]
    .assert_eq(&session.transcript());
}

#[tokio::test]
#[should_panic(expected = "no card is open\n> tea\n= tea\n")]
async fn without_a_card_nothing_is_answered() {
    let session = repeats(false);
    session.say("tea").await;
    session.approve().await;
}
