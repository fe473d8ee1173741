//! Events while a request is computed, and then its answer.
use std::convert::Infallible;

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use fugato_stream::{Encoder, Event, Frames};
use futures::{
    FutureExt as _, Stream, StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use serde_json::Value;
use tokio::time::Interval;

use crate::{
    ApiError,
    relay::{beat, streamed},
};

/// Streams events until the answer is ready, and then the answer, as server-sent events: for an
/// endpoint of one's own. The last one is `result` with the answer, or `error` with the body of
/// [`ApiError::body`]. The caller filters the events that clients should see.
///
/// A client that disconnects drops the answer's future; a run that it waits for goes on.
///
/// ```
/// use axum::body::to_bytes;
/// use fugato_axum::progress;
/// use fugato_stream::{NamedSseEncoder, Vocabulary};
/// use futures::stream;
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let encoder = NamedSseEncoder::new(Vocabulary::REACT);
/// let response = progress(stream::pending(), encoder, async { Ok(json!({ "trips": 1 })) });
/// let body = to_bytes(response.into_body(), 1000).await?;
/// assert_eq!(body, "event: result\ndata: {\"trips\":1}\n\n");
/// # Ok(())
/// # }
/// ```
pub fn progress(
    events: impl Stream<Item = Event> + Send + 'static,
    encoder: impl Encoder + 'static,
    answer: impl Future<Output = Result<Value, ApiError>> + Send + 'static,
) -> Response {
    let kind = encoder.content_type();
    let going = RunProgress {
        events: events.fuse().boxed(),
        encoder: Box::new(encoder),
        answer: answer.boxed(),
        beat: beat(),
    };
    let body = Body::from_stream(stream::unfold(Some(going), next));
    streamed(body, kind)
}

struct RunProgress {
    events: BoxStream<'static, Event>,
    encoder: Box<dyn Encoder>,
    answer: BoxFuture<'static, Result<Value, ApiError>>,
    beat: Interval,
}

/// Returns the next piece of the body and the state after it; the state is none after the answer.
async fn next(
    going: Option<RunProgress>,
) -> Option<(Result<Bytes, Infallible>, Option<RunProgress>)> {
    let mut going = going?;
    let mut frames = Frames::new();
    while frames.is_empty() {
        tokio::select! {
            // Events that have happened are sent before the answer.
            biased;
            Some(event) = going.events.next() => going.encoder.encode(&event, &mut frames),
            answer = &mut going.answer => return Some((Ok(last(&answer)), None)),
            _ = going.beat.tick() => going.encoder.keep_alive(&mut frames),
        }
    }
    going.beat.reset();
    let bytes = Bytes::copy_from_slice(frames.as_str().as_bytes());
    Some((Ok(bytes), Some(going)))
}

fn last(answer: &Result<Value, ApiError>) -> Bytes {
    let (name, data) = match answer {
        Ok(answer) => ("result", answer.clone()),
        Err(error) => ("error", error.body()),
    };
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
