//! An evening of the served program, which is killed between each of its steps.
use std::time::{Duration, Instant};

use fugato_testkit::{Server, assert_contains};
use jiff::{ToSpan as _, Zoned, tz::TimeZone};
use scheduler::{
    agent::CardReply,
    schedule::{ScheduleState, Window},
};
use serde_json::{Value, json};

use super::work::Work;
use crate::{common::FIRST, evening::agreed};

pub(super) async fn lying(work: &Work) -> ScheduleState {
    work.stored("home").await
}

pub(super) async fn ask(server: &Server, ask: (&str, &str), body: &Value) -> (u16, Value) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let told = Server::ask(server.address(), ask, &[], &body).await;
    let (status, told) = told.unwrap();
    (status, serde_json::from_str(&told).unwrap_or_default())
}

/// Asks until something is so.
pub(super) async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(90), "it never comes");
        tokio::task::yield_now().await;
    }
}

/// Waits for the evening's thread to ask, and returns its name and its card.
async fn asked(server: &Server) -> (String, String) {
    until(async || {
        let (_, listed) = ask(server, ("GET", "/threads"), &Value::Null).await;
        let threads = listed["threads"].as_array()?;
        let [thread] = threads.as_slice() else {
            assert!(threads.is_empty(), "one evening: {listed}");
            return None;
        };
        let name = thread["thread"].as_str()?.to_owned();
        let path = format!("/threads/{name}");
        let (_, shown) = ask(server, ("GET", &path), &Value::Null).await;
        let card = shown["interrupts"][0]["id"].as_str()?.to_owned();
        Some((name, card))
    })
    .await
}

/// Waits until the schedule is another one, and the thread has ended.
async fn changed(
    work: &Work,
    server: &Server,
    thread: &str,
    from: &ScheduleState,
) -> ScheduleState {
    let path = format!("/threads/{thread}");
    until(async || {
        let now = lying(work).await;
        let (_, shown) = ask(server, ("GET", &path), &Value::Null).await;
        let status = shown["status"].as_str()?;
        if status == "unfinished" {
            // The lease of the dead process may stand still.
            let recover = format!("/threads/{thread}/recover");
            ask(server, ("POST", &recover), &Value::Null).await;
        }
        (now != *from && status == "idle").then_some(now)
    })
    .await
}

/// Starts the server with an evening that is still ahead when it listens, however long that takes.
fn before_evening(work: &Work) -> (Server, String) {
    let mut lead = 3.seconds();
    loop {
        let soon = Zoned::now()
            .with_time_zone(TimeZone::UTC)
            .checked_add(lead)
            .unwrap();
        let at = soon.strftime("%H:%M:%S").to_string();
        let server = work.server(&["serve", "--listen", "127.0.0.1:0", "--evening", &at]);
        if Zoned::now() < soon {
            return (server, at);
        }
        lead = lead.checked_mul(2).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evening_of_a_program_that_is_killed_asks_once_and_repairs_once() {
    let work = Work::new();
    let now = Zoned::now().with_time_zone(TimeZone::UTC);
    let mut schedule = agreed();
    schedule.window = Window::starting(now.date().checked_sub(1.day()).unwrap(), 14);
    work.begin_with("home", schedule).await;
    let before = lying(&work).await;
    let (server, at) = before_evening(&work);
    let args = ["serve", "--listen", "127.0.0.1:0", "--evening", &at];
    let (thread, card) = asked(&server).await;
    drop(server);
    // It was killed while it waited.
    let server = work.server(&args);
    assert_eq!(
        asked(&server).await,
        (thread.clone(), card.clone()),
        "it asks once"
    );
    assert_eq!(lying(&work).await, before, "nothing changes unasked");
    let listed = work.ok(&["threads"]);
    assert_contains(&listed, &format!("{thread}  waits for an answer"));
    let resume = format!("/threads/{thread}/resume");
    let answers = json!({ "answers": { card: CardReply::approve() } });
    until(async || (ask(&server, ("POST", &resume), &answers).await.0 == 202).then_some(())).await;
    // It is killed after the answer was taken, and before or after it was carried out.
    drop(server);
    let server = work.server(&args);
    let after = changed(&work, &server, &thread, &before).await;
    let place = |schedule: &ScheduleState| schedule.task(FIRST).unwrap().slots.clone();
    assert_ne!(place(&after), place(&before));
    let runs = format!("/threads/{thread}/runs");
    let undo = json!({ "text": "undo" });
    until(async || (ask(&server, ("POST", &runs), &undo).await.0 == 202).then_some(())).await;
    let (_, card) = asked(&server).await;
    let answers = json!({ "answers": { card: CardReply::approve() } });
    ask(&server, ("POST", &resume), &answers).await;
    assert_eq!(changed(&work, &server, &thread, &after).await, before);
}

#[test]
fn a_time_that_is_none_is_refused_with_one_that_is() {
    let refused = Work::new().err(&["serve", "--evening", "late"]);
    assert_contains(&refused, "a time of the day is needed, such as 21:00");
}
