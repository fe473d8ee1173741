//! Fan-out of one run's events to many readers, without waiting for any of them.
mod block;
mod piece;
mod queue;

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use fugato_state::Seq;
use futures::Stream;

pub use self::piece::Piece;
use self::{
    block::{OpenBlock, same_block},
    queue::{Batch, Ring},
};
use crate::{Event, EventKind};

/// A hub that hands the events of a run to its readers.
///
/// *Contract*
/// - **nobody waits**: sending never waits for a reader.
/// - **nothing for nobody**: with no reader, [`Hub::has_subscribers`] is false and sending does nothing
///   but remember the text of open blocks and calls.
/// - **merged**: when a reader lags, deltas of one block, or of the arguments of one call, become
///   one delta. Blocks stay apart.
/// - **skipped**: what was made for nobody, and stored while the first reader came, that reader is
///   told to read from the log.
/// - **lagging**: when a reader lags further, durable events are dropped and it is told from where
///   to read the log; what is neither durable nor a delta is dropped.
/// - **late readers**: a reader that comes late first gets the open blocks with their text so far,
///   and the calls that are not proposed yet with their arguments so far.
/// - **relayed**: readers of a hub that another one relays to get its events as if they read it,
///   for as long as both are there.
#[derive(Debug, Default)]
pub struct Hub {
    heard: AtomicUsize,
    open: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    readers: Vec<Arc<Ring>>,
    relays: Vec<Weak<Hub>>,
    open: Vec<OpenBlock>,
    closed: bool,
}

/// The items of a subscription.
#[derive(Debug, Clone, PartialEq)]
pub enum HubItem {
    /// An event.
    Event(Event),
    /// Durable events from this position on were dropped: read them from the log.
    Lagged {
        /// The first position that was dropped.
        from: Seq,
    },
}

/// The number of queued events at which a reader counts as lagging.
pub const CAPACITY: usize = 1024;

impl Hub {
    /// Returns true if there is a reader. Without one, events other than deltas need not be made.
    pub fn has_subscribers(&self) -> bool {
        self.heard.load(Ordering::Relaxed) > 0
    }

    /// Returns true if the text of an open block is kept. Then the end of its task must be sent
    /// even without a reader, or a late reader gets a block that is over.
    pub fn has_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// Adds a reader.
    pub fn subscribe(self: &Arc<Self>) -> Subscription {
        let mut inner = lock(&self.inner);
        let ring = Arc::new(Ring::default());
        {
            let mut queue = lock(&ring.queue);
            for event in inner.open.iter().flat_map(OpenBlock::reopened) {
                queue.events.push(event);
            }
            queue.closed = inner.closed;
        }
        inner.readers.push(ring.clone());
        self.heard.fetch_add(1, Ordering::Relaxed);
        Subscription {
            ring,
            hub: self.clone(),
            batch: Batch::default(),
        }
    }

    /// Hands every event on to another hub too, the open blocks first, as long as that hub exists.
    /// So a reader can outlast one run and go on with the next. Closing this hub does not close the
    /// other. A second call with the same hub changes nothing.
    pub fn relay(&self, to: &Arc<Self>) {
        let mut inner = lock(&self.inner);
        let target = Arc::as_ptr(to);
        if std::ptr::eq(self, target) || inner.relays.iter().any(|known| known.as_ptr() == target) {
            return;
        }
        for event in inner.open.iter().flat_map(OpenBlock::reopened) {
            to.send(event);
        }
        inner.relays.push(Arc::downgrade(to));
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// Sends one event to every reader.
    pub fn send(&self, event: Event) {
        if event.seq.is_none() && event.kind.is_delta() {
            self.send_piece(Piece::of(&event));
        } else {
            self.deliver([event]);
        }
    }

    /// Sends a piece of something that is open to every reader. Of a block that readers are getting
    /// already, no more than the text is copied.
    pub fn send_piece(&self, piece: Piece<'_>) {
        let mut inner = lock(&self.inner);
        if !inner.extend_open(piece) {
            inner.open.push(OpenBlock::new(piece.event()));
        }
        self.open.store(true, Ordering::Relaxed);
        self.relay_on(&mut inner, |relay| relay.send_piece(piece));
        for ring in &inner.readers {
            ring.push_piece(piece);
        }
    }

    /// Sends the events of one record: a lagging reader gets all of them or none.
    pub fn send_all(&self, events: Vec<Event>) {
        self.deliver(events);
    }

    /// Delivers events to every reader. An array costs no allocation, and most deliveries are
    /// single events.
    fn deliver(&self, events: impl AsRef<[Event]> + IntoIterator<Item = Event> + Clone) {
        let mut inner = lock(&self.inner);
        for event in events.as_ref() {
            inner.remember(event);
        }
        self.open.store(!inner.open.is_empty(), Ordering::Relaxed);
        self.relay_on(&mut inner, |relay| relay.deliver(events.clone()));
        let Some((last, others)) = inner.readers.split_last() else {
            return;
        };
        for ring in others {
            ring.push(events.clone());
        }
        last.push(events);
    }

    /// Calls `send` for each hub to which this one relays, as long as it exists.
    fn relay_on(&self, inner: &mut Inner, send: impl Fn(&Self)) {
        inner.relays.retain(|relay| {
            let Some(relay) = relay.upgrade() else {
                self.heard.fetch_sub(1, Ordering::Relaxed);
                return false;
            };
            send(&relay);
            true
        });
    }

    /// Marks durable events from this position on as skipped for every reader, because there was
    /// none when they would have been made. They are in the log.
    pub fn skip(&self, from: Seq) {
        let inner = lock(&self.inner);
        for relay in inner.relays.iter().filter_map(Weak::upgrade) {
            relay.skip(from);
        }
        for ring in &inner.readers {
            lock(&ring.queue).lagged.get_or_insert(from);
            ring.waker.wake();
        }
    }

    /// Closes the hub. Readers get the queued events, and then the end.
    pub fn close(&self) {
        let mut inner = lock(&self.inner);
        inner.closed = true;
        for ring in &inner.readers {
            lock(&ring.queue).closed = true;
            ring.waker.wake();
        }
    }
}

impl Inner {
    /// Adds a piece to the text of its open block; false if there is none.
    fn extend_open(&mut self, piece: Piece<'_>) -> bool {
        self.open.iter_mut().rev().any(|open| open.extend(piece))
    }

    /// Keeps the merged text of each open block for late readers.
    fn remember(&mut self, event: &Event) {
        match &event.kind {
            kind if kind.is_delta() && !self.extend_open(Piece::of(event)) => {
                self.open.push(OpenBlock::new(event.clone()));
            }
            // Tasks name their blocks themselves, so two may use one name.
            EventKind::TextFinished { .. } | EventKind::ReasoningFinished { .. } => {
                self.open.retain(|open| !same_block(&open.first, event));
            }
            // The log has the whole call.
            EventKind::ToolCallProposed { call, .. } => {
                let of_call = |open: &Event| match &open.kind {
                    EventKind::ToolCallDelta { call: open, .. } => **open == **call,
                    _ => false,
                };
                let of_event = |open: &Event| open.origin == event.origin || same_task(open, event);
                self.open
                    .retain(|open| !(of_call(&open.first) && of_event(&open.first)));
            }
            // A block that a task left open is complete with it, or void.
            EventKind::NodeFinished | EventKind::NodeFailed { .. } => {
                self.open.retain(|open| !same_task(&open.first, event));
            }
            // A reader that outlasts the run does not get the blocks that it left open.
            EventKind::RunFinished { .. }
            | EventKind::RunParked { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled { .. } => self.open.clear(),
            _ => {}
        }
    }
}

/// Returns true if two events come from the same task, in whatever attempt.
fn same_task(one: &Event, other: &Event) -> bool {
    match (&one.origin, &other.origin) {
        (Some(one), Some(other)) => one.is_same_task(other),
        _ => false,
    }
}

/// One reader of a [`Hub`]. Dropping it detaches; the run goes on.
#[derive(Debug)]
pub struct Subscription {
    ring: Arc<Ring>,
    hub: Arc<Hub>,
    batch: Batch,
}

impl Stream for Subscription {
    type Item = HubItem;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<HubItem>> {
        if let Some(event) = self.batch.pop() {
            return Poll::Ready(Some(HubItem::Event(event)));
        }
        self.ring.waker.register(cx.waker());
        let this = &mut *self;
        let mut queue = lock(&this.ring.queue);
        std::mem::swap(&mut queue.events, &mut this.batch);
        if let Some(event) = this.batch.pop() {
            return Poll::Ready(Some(HubItem::Event(event)));
        }
        match queue.lagged.take() {
            Some(from) => Poll::Ready(Some(HubItem::Lagged { from })),
            None if queue.closed => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut inner = lock(&self.hub.inner);
        inner.readers.retain(|ring| !Arc::ptr_eq(ring, &self.ring));
        self.hub.heard.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
