//! A plan, with its phases while it is made.
use std::convert::Infallible;

use axum::{
    Extension,
    body::Bytes,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use fugato::{
    axum::ApiError,
    stream::{Encoder as _, Event, EventKind, Frames, NamedSseEncoder, Vocabulary},
};
use futures::{Stream, StreamExt as _, future::BoxFuture, stream};
use serde_json::{Value, json};

use super::{
    Front, Sent, Served, Who,
    body::{Asked, Body, asked},
};

/// `POST /steward/plans/stream`: `node_start`, `status` and the like as they happen, then `result`
/// with the response, or `error`.
pub(super) async fn plans(
    State(clerk): Front,
    Extension(caller): Who,
    sent: Sent,
) -> Served<Response> {
    let Asked {
        thread,
        runtime,
        request,
        ..
    } = asked(&clerk, &caller, sent, Body::plan)?;
    let head = clerk.runner().log().head(&thread).await?;
    let after = head.map_or(0, |head| head.seq);
    let events = clerk.runner().follow(&thread, after).boxed();
    let answer = Box::pin(async move {
        let answered = clerk.request_on(runtime, &thread, request).await;
        answered.map_err(|error| ApiError::from(error).body())
    });
    let body = axum::body::Body::from_stream(told(events, answer));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

type Answer = BoxFuture<'static, Result<Value, Value>>;

/// Events until there is an answer, and the answer.
fn told(
    events: impl Stream<Item = Event> + Send + Unpin + 'static,
    answer: Answer,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let encoder = NamedSseEncoder::new(Vocabulary::REACT);
    stream::unfold(Some((events, answer, encoder)), |going| async move {
        let (mut events, mut answer, mut encoder) = going?;
        loop {
            tokio::select! {
                // What has happened is told before what came of it.
                biased;
                event = events.next() => {
                    let Some(event) = event.filter(is_progress) else { continue };
                    let mut frames = Frames::new();
                    encoder.encode(&event, &mut frames);
                    if frames.is_empty() {
                        continue;
                    }
                    let bytes = Bytes::copy_from_slice(frames.as_str().as_bytes());
                    return Some((Ok(bytes), Some((events, answer, encoder))));
                }
                answered = &mut answer => {
                    let (name, data) = match answered {
                        Ok(response) => ("result", response),
                        Err(error) => ("error", error),
                    };
                    return Some((Ok(frame(name, &data)), None));
                }
            }
        }
    })
}

/// What is told on the way; the end is told by the answer.
fn is_progress(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::NodeStarted
            | EventKind::NodeFinished
            | EventKind::NodeFailed { .. }
            | EventKind::Status { .. }
    )
}

fn frame(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {}\n\n", json!(data)))
}
