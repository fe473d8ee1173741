//! The events of a thread, for one reader.
use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use fugato_state::{RunId, Seq, ThreadId};
use fugato_store::ThreadLog;
use fugato_stream::{Event, HubItem, Subscription};
use futures::{Stream, StreamExt, future::BoxFuture};

use crate::{RunError, codec, machine::Names, open::read_page, projector::EventProjector};

/// The events of a thread: durable ones from the log, all others while they happen.
///
/// A reader that lags or comes back misses no durable event. Dropping the stream detaches the
/// reader; the run goes on.
#[derive(derive_more::Debug)]
#[debug("Events {{ .. }}")]
pub struct Events {
    live: Subscription,
    log: Option<EventSource>,
    reading: Option<BoxFuture<'static, Result<Vec<Event>, RunError>>>,
    backlog: VecDeque<Event>,
    /// The position up to which the log was read; live events up to it are skipped.
    read: Seq,
    /// True if the stream goes on with later runs. Events of refused requests are left out then.
    follows: bool,
}

/// The log from which durable events can be read again.
#[derive(Clone)]
pub(crate) struct EventSource {
    pub(crate) log: Arc<dyn ThreadLog>,
    pub(crate) thread: ThreadId,
    pub(crate) names: Arc<Names>,
}

const PAGE: usize = 256;

/// The run number of a refused request.
pub(crate) const REFUSED: RunId = RunId(0);

impl EventSource {
    /// Reads the durable events from a position on.
    pub(crate) async fn read(mut self, from: Seq) -> Result<Vec<Event>, RunError> {
        let mut events = vec![];
        let mut next = from;
        loop {
            let page = read_page(&*self.log, &self.thread, next, PAGE).await?;
            let last = page.len() < PAGE;
            for (seq, record) in page {
                let entry = codec::read(&record)?;
                let fact = codec::addressed(entry.fact, &mut self.names)?;
                let sight = EventProjector {
                    thread: &self.thread,
                    run: entry.run,
                    scope: entry.scope.into(),
                    names: &self.names,
                };
                events.extend(sight.events(&fact, Some(seq)));
                next = seq + 1;
            }
            if last {
                return Ok(events);
            }
        }
    }
}

impl Events {
    pub(crate) fn live(live: Subscription, log: Option<EventSource>) -> Self {
        Self {
            live,
            log,
            reading: None,
            backlog: VecDeque::new(),
            read: 0,
            follows: false,
        }
    }

    pub(crate) fn following(mut self) -> Self {
        self.follows = true;
        self
    }

    pub(crate) fn after(mut self, cursor: Seq) -> Self {
        self.read = cursor;
        // A client may name a position that no log will ever have.
        self.reread(cursor.saturating_add(1));
        self
    }

    fn reread(&mut self, from: Seq) {
        self.reading = self.log.clone().map(|log| Box::pin(log.read(from)) as _);
    }

    fn take_in(&mut self, events: Vec<Event>) {
        self.read = events
            .last()
            .and_then(|event| event.seq)
            .unwrap_or(0)
            .max(self.read);
        self.backlog.extend(events);
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.backlog.pop_front() {
                return Poll::Ready(Some(event));
            }
            if let Some(reading) = &mut self.reading {
                let read = futures::ready!(reading.as_mut().poll(cx));
                self.reading = None;
                match read {
                    Ok(events) => self.take_in(events),
                    Err(error) => {
                        tracing::warn!(%error, "events cannot be read");
                        return Poll::Ready(None);
                    }
                }
                continue;
            }
            match futures::ready!(self.live.poll_next_unpin(cx)) {
                Some(HubItem::Event(event)) if self.follows && event.run == REFUSED => {}
                Some(HubItem::Event(event)) if event.seq.is_none_or(|seq| seq > self.read) => {
                    return Poll::Ready(Some(event));
                }
                Some(HubItem::Event(_)) => {}
                Some(HubItem::Lagged { from }) => {
                    let from = from.max(self.read + 1);
                    self.reread(from);
                }
                None => return Poll::Ready(None),
            }
        }
    }
}
