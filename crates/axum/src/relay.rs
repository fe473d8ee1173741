//! Encoding of events into the body of a response.
use std::{convert::Infallible, future::ready, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, header},
    response::Response,
};
use fugato_stream::{Encoder, Event, EventKind, Frames};
use futures::{
    Stream, StreamExt as _,
    stream::{self, BoxStream, ReadyChunks},
};
use serde_json::Value;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::{
    address::Address,
    app_state::AppState,
    health::{Metrics, OpenStream},
    load::LoadPermit,
};

/// The longest silence of a connection before a keep-alive frame.
pub(crate) const BEAT: Duration = Duration::from_secs(15);
/// The number of ready events that are encoded into one piece of the body.
const AT_ONCE: usize = 64;
/// The response header with the name of the conversation.
const CONVERSATION: HeaderName = HeaderName::from_static("x-conversation-id");

/// Returns a response that streams the events of a thread to one reader.
pub(crate) fn respond(
    app_state: &AppState,
    (to, permit): (&Address, LoadPermit),
    events: BoxStream<'static, Event>,
    encoder: impl Encoder + 'static,
) -> Response {
    let (kind, more) = (encoder.content_type(), encoder.headers());
    let relay = Relay {
        events: events.ready_chunks(AT_ONCE),
        encoder: Box::new(encoder),
        frames: Frames::new(),
        beat: beat(),
        ended: false,
        metrics: app_state.metrics.clone(),
        open: (app_state.metrics.stream(), permit),
    };
    let body = Body::from_stream(stream::unfold(relay, Relay::next));
    let mut response = streamed(body, kind);
    let headers = response.headers_mut();
    for (name, value) in more {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    name(&mut response, to);
    response
}

/// Returns a response that is sent piece by piece, without buffering by proxies.
pub(crate) fn streamed(body: Body, kind: &'static str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Some proxies buffer a stream without this header.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Sets the header with the conversation's name, unless a header cannot hold it.
pub(crate) fn name(response: &mut Response, to: &Address) {
    if let Ok(name) = HeaderValue::from_str(to.name.as_str()) {
        response.headers_mut().insert(CONVERSATION, name);
    }
}

/// Returns the timer of keep-alive frames.
pub(crate) fn beat() -> Interval {
    let mut beat = tokio::time::interval_at(Instant::now() + BEAT, BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}

struct Relay {
    events: ReadyChunks<BoxStream<'static, Event>>,
    encoder: Box<dyn Encoder>,
    frames: Frames,
    beat: Interval,
    ended: bool,
    metrics: Arc<Metrics>,
    open: (OpenStream, LoadPermit),
}

impl Relay {
    /// Returns the next piece of the body.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        self.frames.clear();
        while self.frames.is_empty() && !self.ended {
            tokio::select! {
                events = self.events.next() => self.take(events),
                _ = self.beat.tick() => self.encoder.keep_alive(&mut self.frames),
            }
        }
        if self.frames.is_empty() {
            drop(self.open);
            return None;
        }
        self.beat.reset();
        let bytes = Bytes::copy_from_slice(self.frames.as_str().as_bytes());
        Some((Ok(bytes), self))
    }

    fn take(&mut self, events: Option<Vec<Event>>) {
        let Some(events) = events else {
            self.encoder.finish(&mut self.frames);
            self.ended = true;
            return;
        };
        self.metrics.events(events.len());
        for event in &events {
            self.encoder.encode(event, &mut self.frames);
        }
    }
}

/// Adds a text block for a run that streamed no text and has a text as its output: chat clients
/// display only text blocks.
pub(crate) fn spoken(
    events: impl Stream<Item = Event> + Send + 'static,
) -> BoxStream<'static, Event> {
    let says = events.scan(false, |said, event| {
        *said |= matches!(event.kind, EventKind::TextDelta { .. });
        let EventKind::RunFinished {
            output: Some(Value::String(text)),
        } = &event.kind
        else {
            return ready(Some(vec![event]));
        };
        if *said || text.is_empty() {
            return ready(Some(vec![event]));
        }
        let block = || "output".into();
        let words = [
            EventKind::TextStarted { block: block() },
            EventKind::TextDelta {
                block: block(),
                text: text.as_str().into(),
            },
            EventKind::TextFinished { block: block() },
        ];
        let mut events: Vec<_> = words
            .into_iter()
            .map(|kind| Event {
                kind,
                seq: None,
                ..event.clone()
            })
            .collect();
        events.push(event);
        ready(Some(events))
    });
    says.flat_map(stream::iter).boxed()
}
