//! Fan-out of one run's events to many readers, without waiting for any of them.
use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use fugato_state::Seq;
use futures::{Stream, task::AtomicWaker};

use crate::{Event, EventKind, Text};

/// A hub that hands the events of a run to its readers.
///
/// *Contract*
/// - **nobody waits**: sending never waits for a reader.
/// - **nothing for nobody**: with no reader, [`Hub::is_heard`] is false and sending does nothing
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
    open: Vec<Event>,
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
    pub fn is_heard(&self) -> bool {
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
            queue.events.extend(inner.open.iter().flat_map(reopened));
            queue.closed = inner.closed;
        }
        inner.readers.push(ring.clone());
        self.heard.fetch_add(1, Ordering::Relaxed);
        Subscription {
            ring,
            hub: self.clone(),
            batch: VecDeque::new(),
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
        for event in inner.open.iter().flat_map(reopened) {
            to.send(event);
        }
        inner.relays.push(Arc::downgrade(to));
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// Sends one event to every reader.
    pub fn send(&self, event: Event) {
        self.deliver([event]);
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
        inner.relays.retain(|relay| {
            let Some(relay) = relay.upgrade() else {
                self.heard.fetch_sub(1, Ordering::Relaxed);
                return false;
            };
            relay.deliver(events.clone());
            true
        });
        let Some((last, others)) = inner.readers.split_last() else {
            return;
        };
        for ring in others {
            ring.push(events.clone());
        }
        last.push(events);
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
    /// Keeps the merged text of each open block for late readers.
    fn remember(&mut self, event: &Event) {
        match &event.kind {
            kind if kind.is_delta()
                && !self.open.iter_mut().rev().any(|open| merge(open, event)) =>
            {
                self.open.push(event.clone());
            }
            // Tasks name their blocks themselves, so two may use one name.
            EventKind::TextFinished { .. } | EventKind::ReasoningFinished { .. } => {
                self.open.retain(|open| !same_block(open, event));
            }
            // The log has the whole call.
            EventKind::ToolCallProposed { call, .. } => {
                let of_call = |open: &Event| match &open.kind {
                    EventKind::ToolCallDelta { call: open, .. } => **open == **call,
                    _ => false,
                };
                let of_event = |open: &Event| open.origin == event.origin || same_task(open, event);
                self.open.retain(|open| !(of_call(open) && of_event(open)));
            }
            // A block that a task left open is complete with it, or void.
            EventKind::NodeFinished | EventKind::NodeFailed { .. } => {
                self.open.retain(|open| !same_task(open, event));
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

/// The place of an event in its block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockPlace {
    Start,
    Middle,
    End,
}

/// The kinds of blocks and calls that come in pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Text,
    Reasoning,
    Call,
}

/// Returns the block of an event: its kind, its name, and the place in it. Calls have neither start
/// nor end of their own.
fn block(kind: &EventKind) -> Option<(PieceKind, &Text, BlockPlace)> {
    Some(match kind {
        EventKind::TextStarted { block } => (PieceKind::Text, block, BlockPlace::Start),
        EventKind::TextDelta { block, .. } => (PieceKind::Text, block, BlockPlace::Middle),
        EventKind::TextFinished { block } => (PieceKind::Text, block, BlockPlace::End),
        EventKind::ReasoningStarted { block } => (PieceKind::Reasoning, block, BlockPlace::Start),
        EventKind::ReasoningDelta { block, .. } => {
            (PieceKind::Reasoning, block, BlockPlace::Middle)
        }
        EventKind::ReasoningFinished { block } => (PieceKind::Reasoning, block, BlockPlace::End),
        EventKind::ToolCallDelta { call, .. } => (PieceKind::Call, call, BlockPlace::Middle),
        _ => return None,
    })
}

fn same_block(one: &Event, other: &Event) -> bool {
    let name = |event| block(event).map(|(whole, name, _)| (whole, name));
    let named = name(&one.kind);
    named.is_some() && named == name(&other.kind) && one.origin == other.origin
}

/// Returns the start and the text so far of an open block. A call begins with its first piece.
fn reopened(delta: &Event) -> Vec<Event> {
    let start = match &delta.kind {
        EventKind::TextDelta { block, .. } => EventKind::TextStarted {
            block: block.clone(),
        },
        EventKind::ReasoningDelta { block, .. } => EventKind::ReasoningStarted {
            block: block.clone(),
        },
        _ => return vec![delta.clone()],
    };
    vec![
        Event {
            kind: start,
            ..delta.clone()
        },
        delta.clone(),
    ]
}

/// Appends the text of `event` to `open` if both are deltas of the same block of the same task.
fn merge(open: &mut Event, event: &Event) -> bool {
    if open.origin != event.origin {
        return false;
    }
    match (&mut open.kind, &event.kind) {
        (
            EventKind::TextDelta { block, text },
            EventKind::TextDelta {
                block: same,
                text: more,
            },
        )
        | (
            EventKind::ReasoningDelta { block, text },
            EventKind::ReasoningDelta {
                block: same,
                text: more,
            },
        )
        | (
            EventKind::ToolCallDelta {
                call: block,
                arguments: text,
                ..
            },
            EventKind::ToolCallDelta {
                call: same,
                arguments: more,
                ..
            },
        ) if block == same => {
            text.push_str(more);
            true
        }
        _ => false,
    }
}

#[derive(Debug, Default)]
struct Ring {
    queue: Mutex<Queue>,
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    lagged: Option<Seq>,
    closed: bool,
}

impl Ring {
    fn push(&self, events: impl IntoIterator<Item = Event>) {
        let mut queue = lock(&self.queue);
        let idle = queue.events.is_empty() && queue.lagged.is_none();
        // After a dropped event, later ones come from the log too, or they would overtake it.
        if queue.lagged.is_none() && queue.events.len() < CAPACITY {
            queue.events.extend(events);
        } else {
            for event in events {
                queue.squeeze(event);
            }
        }
        drop(queue);
        if idle {
            self.waker.wake();
        }
    }
}

impl Queue {
    /// Adds an event to a full queue, or drops it.
    fn squeeze(&mut self, event: Event) {
        if let Some(seq) = event.seq {
            self.lagged.get_or_insert(seq);
        } else if block(&event.kind).is_some() {
            self.squeeze_block(event);
        } else if is_last(&event.kind) {
            self.events.push_back(event);
        }
    }

    /// Keeps the text of blocks, with the boundary between two of the same name. Memory grows with
    /// the text, independent of the number of pieces.
    fn squeeze_block(&mut self, event: Event) {
        let queued = self
            .events
            .iter()
            .rposition(|queued| same_block(queued, &event));
        let last = queued.and_then(|at| self.events.get_mut(at));
        let place = |event: &Event| block(&event.kind).map(|(_, _, place)| place);
        match (last.as_deref().and_then(place), place(&event)) {
            (Some(BlockPlace::Middle), Some(BlockPlace::Middle)) => {
                if let Some(last) = last {
                    merge(last, &event);
                }
            }
            // A block of which nothing is left.
            (Some(BlockPlace::Start), Some(BlockPlace::End)) => {
                if let Some(at) = queued {
                    self.events.remove(at);
                }
            }
            (Some(BlockPlace::Start), Some(BlockPlace::Start))
            | (Some(BlockPlace::End), Some(BlockPlace::End)) => {}
            _ => self.events.push_back(event),
        }
    }
}

/// Returns true for an event that must reach a lagging reader although it is not in the log, such
/// as the end of a run.
fn is_last(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::RunFinished { .. }
            | EventKind::RunParked { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled { .. }
            | EventKind::InterruptRaised(_)
            | EventKind::InterruptAnswered { .. }
            | EventKind::InterruptExpired { .. }
            | EventKind::Card { .. }
    )
}

/// One reader of a [`Hub`]. Dropping it detaches; the run goes on.
#[derive(Debug)]
pub struct Subscription {
    ring: Arc<Ring>,
    hub: Arc<Hub>,
    batch: VecDeque<Event>,
}

impl Stream for Subscription {
    type Item = HubItem;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<HubItem>> {
        if let Some(event) = self.batch.pop_front() {
            return Poll::Ready(Some(HubItem::Event(event)));
        }
        self.ring.waker.register(cx.waker());
        let this = &mut *self;
        let mut queue = lock(&this.ring.queue);
        std::mem::swap(&mut queue.events, &mut this.batch);
        if let Some(event) = this.batch.pop_front() {
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
mod tests {
    use fugato_state::{RunId, ThreadId};
    use futures::{FutureExt, StreamExt};

    use super::*;
    use crate::Origin;

    fn event(seq: Option<Seq>, kind: EventKind) -> Event {
        Event {
            thread: ThreadId::new("t").unwrap(),
            run: RunId(1),
            seq,
            origin: None,
            kind,
        }
    }

    #[test]
    fn what_was_skipped_is_told_to_the_readers_of_all_hubs() {
        let (hub, line) = <(Arc<Hub>, Arc<Hub>)>::default();
        hub.relay(&line);
        let readers = [hub.subscribe(), line.subscribe()];
        hub.skip(3);
        hub.skip(5);
        let told = |reader: Subscription| reader.take(1).collect::<Vec<_>>().now_or_never();
        let lagged = Some(vec![HubItem::Lagged { from: 3 }]);
        assert_eq!(readers.map(told), [lagged.clone(), lagged]);
    }

    fn delta(text: &str) -> Event {
        event(
            None,
            EventKind::TextDelta {
                block: "b".into(),
                text: text.into(),
            },
        )
    }

    fn drain(reader: &mut Subscription) -> Vec<HubItem> {
        std::iter::from_fn(|| reader.next().now_or_never().flatten()).collect()
    }

    #[test]
    fn nobody_waits_and_deltas_are_merged_when_a_reader_lags() {
        let hub = Arc::new(Hub::default());
        let mut reader = hub.subscribe();
        for _ in 0..10 * CAPACITY {
            hub.send(delta("x"));
        }
        let heard = drain(&mut reader);
        assert_eq!(heard.len(), CAPACITY);
        let text: usize = heard
            .iter()
            .map(|heard| match heard {
                HubItem::Event(Event {
                    kind: EventKind::TextDelta { text, .. },
                    ..
                }) => text.len(),
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(text, 10 * CAPACITY);
    }

    #[test]
    fn a_lagging_reader_is_told_where_the_log_has_what_it_missed() {
        let hub = Arc::new(Hub::default());
        let mut reader = hub.subscribe();
        for seq in 1..=CAPACITY as Seq + 5 {
            hub.send(event(Some(seq), EventKind::NodeFinished));
        }
        hub.close();
        let heard = drain(&mut reader);
        assert_eq!(heard.len(), CAPACITY + 1);
        assert_eq!(
            heard.last(),
            Some(&HubItem::Lagged {
                from: CAPACITY as Seq + 1
            })
        );
    }

    #[test]
    fn sch_122_cards_and_ends_reach_a_reader_that_lags() {
        let hub = Arc::new(Hub::default());
        let mut reader = hub.subscribe();
        for _ in 0..2 * CAPACITY {
            hub.send(delta("x"));
        }
        let kept = [
            EventKind::Card {
                card: "plan".into(),
                data: serde_json::Value::Null,
            },
            EventKind::RunFinished { output: None },
        ];
        for kind in kept.clone() {
            hub.send(event(None, kind));
        }
        let status = EventKind::Status {
            code: "done".into(),
            summary: String::new(),
        };
        hub.send(event(None, status));
        let heard = drain(&mut reader).split_off(CAPACITY);
        assert_eq!(heard, kept.map(|kind| HubItem::Event(event(None, kind))));
    }

    #[test]
    fn k22_blocks_of_one_name_stay_apart_when_a_reader_lags() {
        let hub = Arc::new(Hub::default());
        let mut reader = hub.subscribe();
        for _ in 0..CAPACITY {
            hub.send(event(None, EventKind::NodeStarted));
        }
        let start = || event(None, EventKind::TextStarted { block: "b".into() });
        let end = || event(None, EventKind::TextFinished { block: "b".into() });
        // Blocks in which nothing is said leave nothing behind, however many there are.
        for _ in 0..CAPACITY {
            hub.send(start());
            hub.send(end());
        }
        for word in ["a", "b"] {
            hub.send(start());
            hub.send(delta(word));
            hub.send(delta(word));
            hub.send(end());
            hub.send(end());
        }
        let expected = [start(), delta("aa"), end(), start(), delta("bb"), end()];
        let heard = drain(&mut reader).split_off(CAPACITY);
        assert_eq!(heard, expected.map(HubItem::Event));
    }

    #[test]
    fn k22_a_reader_outlasts_one_run_and_goes_on_with_the_next() {
        let (first, line) = (Arc::new(Hub::default()), Arc::new(Hub::default()));
        first.send(delta("a"));
        let mut reader = line.subscribe();
        first.relay(&line);
        first.relay(&line);
        first.send(delta("b"));
        first.close();
        let second = Arc::new(Hub::default());
        second.relay(&line);
        assert!(second.is_heard());
        second.send(event(Some(1), EventKind::NodeFinished));
        let start = event(None, EventKind::TextStarted { block: "b".into() });
        let expected = [
            start,
            delta("a"),
            delta("b"),
            event(Some(1), EventKind::NodeFinished),
        ];
        assert_eq!(drain(&mut reader), expected.map(HubItem::Event));
        drop((reader, line));
        second.send(delta("c"));
        assert!(!second.is_heard());
    }

    fn piece(attempt: u32, arguments: &str) -> Event {
        let origin = Origin {
            scope: "".into(),
            node: "think".into(),
            visit: 1,
            index: None,
            attempt,
        };
        let kind = EventKind::ToolCallDelta {
            call: "c1".into(),
            name: "place".into(),
            arguments: arguments.into(),
        };
        Event {
            origin: Some(Arc::new(origin)),
            ..event(None, kind)
        }
    }

    #[test]
    fn l13_pieces_of_one_call_are_merged_when_a_reader_lags() {
        let hub = Arc::new(Hub::default());
        let mut reader = hub.subscribe();
        for _ in 0..CAPACITY {
            hub.send(event(None, EventKind::NodeStarted));
        }
        let other = |arguments: &str| Event {
            origin: None,
            ..piece(1, arguments)
        };
        for more in ["{\"day\"", ":2", "}"] {
            hub.send(piece(1, more));
            hub.send(other(more));
        }
        let heard = drain(&mut reader).split_off(CAPACITY);
        let whole = "{\"day\":2}";
        assert_eq!(heard, [piece(1, whole), other(whole)].map(HubItem::Event));
    }

    #[test]
    fn l13_a_late_reader_gets_a_call_until_it_is_proposed_or_void() {
        let hub = Arc::new(Hub::default());
        let late = || drain(&mut hub.subscribe());
        let of_task = |kind| Event {
            kind,
            seq: Some(1),
            ..piece(1, "")
        };
        hub.send(piece(1, "{\"day\":"));
        hub.send(of_task(EventKind::NodeFailed {
            error: "no model".into(),
            retry_at: Some(9),
        }));
        assert_eq!(late(), []);
        hub.send(piece(2, "{"));
        hub.send(piece(2, "}"));
        assert_eq!(late(), [HubItem::Event(piece(2, "{}"))]);
        assert!(hub.has_open());
        let proposed = EventKind::ToolCallProposed {
            call: "c1".into(),
            name: "place".into(),
            arguments: serde_json::json!({}),
        };
        hub.send(of_task(proposed));
        assert_eq!(late(), []);
        assert!(!hub.has_open());
    }

    #[test]
    fn a_late_reader_gets_the_open_blocks_first() {
        let hub = Arc::new(Hub::default());
        hub.send(delta("a"));
        hub.send(delta("b"));
        let mut reader = hub.subscribe();
        let start = event(None, EventKind::TextStarted { block: "b".into() });
        assert_eq!(
            drain(&mut reader),
            [HubItem::Event(start), HubItem::Event(delta("ab"))]
        );
        hub.send(event(None, EventKind::TextFinished { block: "b".into() }));
        assert_eq!(drain(&mut hub.subscribe()), []);
    }
}
