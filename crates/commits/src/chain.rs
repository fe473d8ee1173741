//! The objects of one thread as a chain: finding its end, and creating the next one.
mod objects;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{StoreErrorKind, system_clock};
use futures::TryStreamExt as _;
use object_store::{ObjectStore, ObjectStoreExt as _};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};

pub(crate) use objects::FoundObject;

use crate::{
    CommitLogOptions,
    error::Fault,
    layout::{Marker, Position, ThreadKey, name_path},
    object::Object,
    options::millis,
    state::{State, Verdict},
};

/// The number of creates that may be refused where nothing is, and of listings of deleted objects.
const TRIES: u32 = 6;
/// The pause before the second try, doubled for each further one.
const PAUSE: Duration = Duration::from_millis(20);
/// The time for which a change waits for another one of the same thread before it goes on beside it.
const TURN: Duration = Duration::from_secs(5);
/// The threads that are remembered before those that are not in use are forgotten.
const SLOTS: usize = 1_000;
/// The objects of a listing after which the newest one is taken if it is young.
const PAGE: usize = 1_000;

/// The objects of all threads.
pub(crate) struct Chain {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) options: CommitLogOptions,
    /// The milliseconds by which the clock of this machine is ahead of the store's.
    offset: Millis,
    /// The newest time of all objects read: time does not run backwards.
    seen: AtomicI64,
    slots: Mutex<HashMap<ThreadKey, Arc<Slot>>>,
}

/// One thread as this process knows it.
#[derive(Default)]
struct Slot {
    /// Lets the changes of this process follow each other, so that a renewal and an append of one
    /// owner do not collide. The create decides also without it.
    turn: AsyncMutex<()>,
    known: Mutex<Option<ChainEnd>>,
}

impl Slot {
    fn known(&self) -> MutexGuard<'_, Option<ChainEnd>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers an end, unless a later one is known.
    fn remember(&self, known: ChainEnd) {
        let mut last = self.known();
        if last.as_ref().is_none_or(|last| last.at <= known.at) {
            *last = Some(known);
        }
    }

    /// Waits until no other change is under way. A caller that neither goes on with its change nor
    /// drops it does not hold up the others for ever.
    async fn turn(&self) -> Option<AsyncMutexGuard<'_, ()>> {
        match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(_) => tokio::time::timeout(TURN, self.turn.lock()).await.ok(),
        }
    }
}

/// The end of a chain.
#[derive(Clone)]
pub(crate) struct ChainEnd {
    /// The last object; none if there never was one.
    pub(crate) at: Option<Position>,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) state: State,
    since: Moment,
}

/// The time before a request was sent: an answer tells no more than how things were after that, for
/// a process may be suspended until it comes.
#[derive(Clone, Copy)]
struct Moment {
    wall: Millis,
    steady: Instant,
}

impl ChainEnd {
    /// Returns the position of the next object.
    fn next(&self) -> Position {
        match self.at {
            None => Position::FIRST,
            Some(at) if self.state.absent => at.next_incarnation(),
            Some(at) => at.next(),
        }
    }

    /// Returns how long ago this was the end, by the clock that says more: one of them stands still
    /// while a machine sleeps, and the other may be set back.
    fn age(&self, now: Millis) -> Duration {
        let wall = u64::try_from(now.saturating_sub(self.since.wall)).unwrap_or(0);
        Duration::from_millis(wall).max(self.since.steady.elapsed())
    }

    /// Returns true if a create may rely on it without another look: as long as the lease lasted
    /// that was held then.
    fn is_trusted(&self, now: Millis, most: Duration) -> bool {
        let left =
            |until: Millis| u64::try_from(until.saturating_sub(self.since.wall)).unwrap_or(0);
        let lease = self.state.lease.as_ref();
        lease
            .is_some_and(|lease| self.age(now) < most.min(Duration::from_millis(left(lease.until))))
    }
}

/// A request's view of a thread.
pub(crate) struct Turn<'a> {
    pub(crate) state: &'a State,
    pub(crate) thread: Option<&'a ThreadId>,
    /// The position of the object that the request would write.
    pub(crate) next: Position,
    pub(crate) now: Millis,
}

impl Chain {
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        options: CommitLogOptions,
        offset: Millis,
    ) -> Self {
        Self {
            store,
            options,
            offset,
            seen: AtomicI64::new(Millis::MIN),
            slots: Mutex::default(),
        }
    }

    /// Returns the time of the store: the greatest of the own clock and those of all objects read.
    pub(crate) fn now(&self) -> Millis {
        let now = match &self.options.clock {
            Some(clock) => clock(),
            None => system_clock().saturating_sub(self.offset),
        };
        self.seen.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Returns the end of a thread's chain, as the store has it now.
    pub(crate) async fn look(&self, key: &ThreadKey) -> Result<ChainEnd, Fault> {
        let slot = self.slot(key);
        let last = slot.known().clone();
        let known = self.refresh(key, last).await?;
        slot.remember(known.clone());
        Ok(known)
    }

    /// Decides a request on the state of a thread, and writes the change.
    ///
    /// The create of the next object is the only check that counts: if it meets another object, the
    /// request is decided anew on the state after that one. A commit that expects another head or
    /// fence than that state has is a conflict then; it never follows under an older fence.
    pub(crate) async fn change<T: Send>(
        &self,
        key: &ThreadKey,
        thread: Option<&ThreadId>,
        decide: impl Fn(Turn<'_>) -> Result<Verdict<T>, StoreErrorKind> + Send + Sync,
    ) -> Result<T, Fault> {
        let slot = self.slot(key);
        let _turn = slot.turn().await;
        let mut remembered = slot.known().clone();
        let (now, most) = (self.now(), self.options.trusted_age());
        let mut look = !(remembered.as_ref()).is_some_and(|known| known.is_trusted(now, most));
        loop {
            let known = match remembered.take() {
                Some(known) if !look => known,
                old => self.refresh(key, old).await?,
            };
            let (next, now) = (known.next(), self.now());
            let named = thread.or(known.thread.as_ref());
            let decided = decide(Turn {
                state: &known.state,
                thread: named,
                next,
                now,
            });
            let (change, answer) = match decided {
                Ok(Verdict::Write(change, answer)) => (change, answer),
                // What is remembered decides only what a create checks.
                _ if !look => {
                    (remembered, look) = (Some(known), true);
                    continue;
                }
                Ok(Verdict::Keep(answer)) => {
                    slot.remember(known);
                    return Ok(answer);
                }
                Err(kind) => {
                    slot.remember(known);
                    return Err(kind.into());
                }
            };
            let (mut state, content) = *change;
            state.marker = marker(&known.state, &state, next);
            let object = Object {
                thread: named.ok_or(StoreErrorKind::NotFound)?.clone(),
                id: random()?,
                time: now,
                before: state.head.saturating_sub(content.records.len() as Seq),
                content,
                state,
            };
            let since = self.moment();
            if self.write(key, &known, next, &object).await? {
                let (thread, state) = (Some(object.thread), object.state);
                let old = known.state.marker.filter(|old| state.marker != Some(*old));
                slot.remember(ChainEnd {
                    at: Some(next),
                    thread,
                    state,
                    since,
                });
                if let Some(old) = old {
                    self.delete_quietly(&old.path(key)).await;
                }
                return Ok(answer);
            }
            (remembered, look) = (Some(known), true);
        }
    }

    /// Writes an object, after its entries in the indexes. Returns false if another one is there, or
    /// may have been.
    async fn write(
        &self,
        key: &ThreadKey,
        known: &ChainEnd,
        next: Position,
        object: &Object,
    ) -> Result<bool, Fault> {
        if next.ordinal == 0 {
            let name = name_path(&object.thread, next.incarnation);
            self.store.put(&name, vec![].into()).await?;
        }
        let marker = object.state.marker;
        let marker = marker.filter(|marker| known.state.marker != Some(*marker));
        if let Some(marker) = marker {
            self.store.put(&marker.path(key), vec![].into()).await?;
        }
        let bytes = object.encode()?;
        if self.is_outdated(known) {
            return Ok(false);
        }
        let created = self.create(&key.object(next), bytes, object.id).await?;
        if !created && let Some(marker) = marker {
            // Another object has its ordinal. Unless that one counts on the same marker, none ever
            // does.
            if let FoundObject::Whole(other) = self.get(&key.object(next)).await?
                && other.state.marker != Some(marker)
            {
                self.delete_quietly(&marker.path(key)).await;
            }
        }
        Ok(created)
    }

    fn slot(&self, key: &ThreadKey) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= SLOTS && !slots.contains_key(key) {
            let (now, most) = (self.now(), self.options.trusted_age());
            slots.retain(|_, slot| {
                let known = slot.known();
                let is_held = known.as_ref().is_some_and(|it| it.is_trusted(now, most));
                is_held || Arc::strong_count(slot) > 1
            });
        }
        slots.entry(key.clone()).or_default().clone()
    }

    fn moment(&self) -> Moment {
        Moment {
            wall: self.now(),
            steady: Instant::now(),
        }
    }

    /// Returns true if objects that were created after a known end may have been deleted by now.
    /// Without a zombie age that is so at once, and no care helps.
    fn is_outdated(&self, known: &ChainEnd) -> bool {
        let most = self.options.trusted_age();
        !most.is_zero() && known.age(self.now()) >= most
    }

    /// Returns the present end of a chain. Without a gap after an object that is known, the end is
    /// where nothing follows; objects that young are never deleted.
    async fn refresh(&self, key: &ThreadKey, known: Option<ChainEnd>) -> Result<ChainEnd, Fault> {
        let most = self.options.trusted_age();
        let mut known = known.filter(|it| it.at.is_some() && it.age(self.now()) < most);
        for _ in 0..TRIES {
            let near = match known.take() {
                Some(known) => known,
                None => self.find(key).await?,
            };
            if let Some(end) = self.walk(key, near).await? {
                return Ok(end);
            }
        }
        Err(StoreErrorKind::Unavailable.into())
    }

    /// Follows a chain from an object to its end. Returns none if that took so long that objects may
    /// have been deleted meanwhile.
    async fn walk(&self, key: &ThreadKey, mut known: ChainEnd) -> Result<Option<ChainEnd>, Fault> {
        let mut at = known.next();
        let mut is_blank = false;
        loop {
            let since = self.moment();
            match self.get(&key.object(at)).await? {
                FoundObject::Whole(object) => {
                    known = ChainEnd {
                        at: Some(at),
                        thread: Some(object.thread),
                        state: object.state,
                        since,
                    };
                    (at, is_blank) = (known.next(), false);
                }
                FoundObject::Blank => (at, is_blank) = (at.next(), true),
                // The object that ends a removed thread comes after the blank ones.
                FoundObject::Missing if is_blank || self.is_outdated(&known) => return Ok(None),
                FoundObject::Missing => {
                    known.since = since;
                    return Ok(Some(known));
                }
            }
        }
    }

    /// Finds an object near the end of a chain by a listing, which may lag behind and has no order.
    async fn find(&self, key: &ThreadKey) -> Result<ChainEnd, Fault> {
        for tries in 0..TRIES {
            let since = self.moment();
            let mut near = ChainEnd {
                at: None,
                thread: None,
                state: State::default(),
                since,
            };
            let Some(mut at) = self.newest_listed(key).await? else {
                return Ok(near);
            };
            loop {
                match self.get(&key.object(at)).await? {
                    FoundObject::Whole(object) => {
                        near.at = Some(at);
                        (near.thread, near.state) = (Some(object.thread), object.state);
                        return Ok(near);
                    }
                    FoundObject::Blank => at = at.next(),
                    FoundObject::Missing => break,
                }
            }
            tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
        }
        Err(StoreErrorKind::Unavailable.into())
    }

    async fn newest_listed(&self, key: &ThreadKey) -> Result<Option<Position>, Fault> {
        // One that old may have followers that were deleted, unless it is the newest of all.
        let young = self
            .now()
            .saturating_sub(millis(self.options.trusted_age()));
        let mut listed = self.store.list(Some(&key.folder()));
        let (mut newest, mut is_young, mut count) = (None, false, 0);
        while let Some(meta) = listed.try_next().await? {
            let at = Position::of_object(&meta.location);
            if at > newest {
                is_young = meta.last_modified.timestamp_millis() > young;
                newest = at;
            }
            count += 1;
            if count >= PAGE && is_young {
                break;
            }
        }
        Ok(newest)
    }
}

/// Returns the entry of the claim index for the state after a change. A state that can go on since
/// the same time keeps the entry that it has.
fn marker(old: &State, new: &State, at: Position) -> Option<Marker> {
    let time = new.due?;
    let kept = old.marker.filter(|marker| marker.time == time);
    Some(kept.unwrap_or(Marker { time, at }))
}

/// Returns a random number.
pub(crate) fn random() -> Result<u128, StoreErrorKind> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| StoreErrorKind::Other)?;
    Ok(u128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Holder;

    #[test]
    fn an_end_is_trusted_for_a_lease_by_both_clocks() {
        let second = Duration::from_secs(1);
        let long_ago = Instant::now().checked_sub(20 * second).unwrap();
        let lease = Holder {
            owner: "owner".into(),
            until: 60_000,
        };
        let known = |steady| ChainEnd {
            at: Some(Position::FIRST),
            thread: None,
            state: State {
                lease: Some(lease.clone()),
                ..State::default()
            },
            since: Moment {
                wall: 50_000,
                steady,
            },
        };
        let (new, suspended) = (known(Instant::now()), known(long_ago));
        let week = 600_000 * second;
        assert!(new.is_trusted(50_100, week));
        // The wall clock went on, the steady one did, or the age is too short for any trust.
        assert!(!new.is_trusted(60_000, week));
        assert!(!suspended.is_trusted(50_100, week));
        assert!(!suspended.is_trusted(49_000, week));
        assert!(!new.is_trusted(50_100, Duration::ZERO));
    }
}
