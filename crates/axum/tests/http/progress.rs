//! Events while a request is computed, and then its answer.
use std::time::Duration;

use axum::{
    body::{Body, to_bytes},
    response::Response,
};
use fugato_axum::{BadInput, progress};
use fugato_state::{RunId, ThreadId};
use fugato_stream::{Event, EventKind, NamedSseEncoder, Vocabulary};
use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::json;
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};

fn encoder() -> NamedSseEncoder {
    NamedSseEncoder::new(Vocabulary::REACT)
}

/// A piece of a text.
fn event(text: &str) -> Event {
    Event {
        thread: ThreadId::new("desk").unwrap(),
        run: RunId(1),
        seq: None,
        origin: None,
        kind: EventKind::TextDelta {
            block: "answer".into(),
            text: text.into(),
        },
    }
}

async fn told(response: Response) -> String {
    let bytes = to_bytes(response.into_body(), 9999).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn what_happened_is_told_before_the_answer_and_nothing_behind_it() {
    let events = stream::iter([event("one"), event("two")]).chain(stream::pending());
    let response = progress(events, encoder(), async { Ok(json!({ "trips": 1 })) });
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let told = told(response).await;
    let places = ["one", "two", "event: result\ndata: {\"trips\":1}\n\n"].map(|it| told.find(it));
    assert!(
        places.is_sorted() && places.iter().all(Option::is_some),
        "{told}"
    );
    assert!(told.ends_with("{\"trips\":1}\n\n"), "{told}");
}

#[tokio::test]
async fn what_cannot_be_answered_is_told_last() {
    let refused = async { Err(BadInput::new("there are no trips").into()) };
    let told = told(progress(stream::iter([event("one")]), encoder(), refused)).await;
    let error = "event: error\ndata: {\"error\":{\"message\":\"there are no trips\",\"type\":\"unusable\"}}\n\n";
    assert!(told.contains("one") && told.ends_with(error), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_is_not_silent() {
    let answer = async {
        sleep(Duration::from_secs(40)).await;
        Ok(json!({}))
    };
    let told = told(progress(stream::empty(), encoder(), answer)).await;
    let beats = told.lines().filter(|line| line.starts_with(':')).count();
    assert_eq!(beats, 2, "{told}");
    assert!(told.ends_with("event: result\ndata: {}\n\n"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn nobody_works_on_for_a_client_that_is_gone() {
    let (works, gone) = oneshot::channel::<()>();
    let answer = async move {
        let _works = works;
        std::future::pending().await
    };
    let body: Body = progress(stream::iter([event("one")]), encoder(), answer).into_body();
    let mut pieces = body.into_data_stream();
    assert!(pieces.next().await.is_some());
    // Here it waits for the answer.
    assert!(pieces.next().now_or_never().is_none());
    drop(pieces);
    let gone = timeout(Duration::from_secs(60), gone).await;
    assert!(gone.is_ok_and(|gone| gone.is_err()));
}
