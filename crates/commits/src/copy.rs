//! Copies of threads that live in another store, their home.
use std::{fmt, str::FromStr};

use fugato_state::{Millis, Seq, ThreadId, say};
use fugato_store::{Fence, Record, Snapshot, Status, StoreErrorKind};
use serde::{Deserialize, Serialize};

use crate::{
    CommitLog,
    chain::{ChainEnd, Turn, random},
    error::Fault,
    layout::{Position, ThreadKey},
    state::{Decision, Holder, State, Verdict, write, write_with},
};

/// The owner that a copy shows to whom asks for its lease.
const OWNER: &str = "the store that it is a copy of";
/// The end of that lease: the last day of the year 9999.
const NEVER: Millis = 253_402_214_400_000;

/// A store that ships its threads: a random number, which the store keeps and no other has.
///
/// A copy takes commits of one home alone, so a store that was declared dead acknowledges nothing
/// more once its threads were restored elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Home(u128);

impl Home {
    /// Creates a home that is none yet.
    ///
    /// # Errors
    /// `Other` if the system has no random numbers.
    pub fn random() -> Result<Self, StoreErrorKind> {
        random().map(Self)
    }
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Home {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

/// The mark of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct CopyOf {
    pub(crate) home: Home,
    /// False amid a shipment of several objects: records may end within a commit.
    pub(crate) whole: bool,
}

/// Records on their way to a copy.
pub(crate) struct Parcel {
    /// A fold with which the copy begins, because the records before it are gone.
    pub(crate) start: Option<Snapshot>,
    /// The position before the first record.
    pub(crate) after: Seq,
    pub(crate) records: Vec<Record>,
    /// The end of the log; none if more follows.
    pub(crate) end: Option<ParcelEnd>,
}

/// The end of the log with which a copy is whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParcelEnd {
    pub(crate) nonce: u128,
    pub(crate) status: Status,
    pub(crate) fence: Fence,
    pub(crate) base: Option<Snapshot>,
}

impl State {
    /// Refuses what only a thread may be asked that lives here.
    pub(crate) fn check_lives_here(&self) -> Result<(), StoreErrorKind> {
        match self.copy {
            None => Ok(()),
            Some(_) => Err(StoreErrorKind::Invalid(
                "this is a copy, which is written by its home alone; restore it first".into(),
            )),
        }
    }

    /// Refuses the shipments of every store but the home of the copy.
    pub(crate) fn check_home(&self, home: Home) -> Result<(), StoreErrorKind> {
        match self.copy {
            _ if self.absent => Ok(()),
            Some(copy) if copy.home == home => Ok(()),
            Some(CopyOf { home: other, .. }) => Err(StoreErrorKind::Invalid(say!(
                "the copy belongs to the home {other}, and this store is {home}: what was restored \
                 elsewhere lives there; a new store ships to a new place, or restores first",
                "副本属于存储 {other}，而这个存储是 {home}：已恢复到别处的对话在那里继续；\
                 新的存储请换一个地方存副本，或者先恢复"
            ))),
            None => Err(StoreErrorKind::Invalid(say!(
                "a thread of this name lives there; ship to another place",
                "那里已有同名的对话；请换一个地方存副本"
            ))),
        }
    }

    pub(crate) fn receive(&self, home: Home, parcel: &Parcel, at: Position) -> Decision<()> {
        self.check_home(home)?;
        let end = (parcel.after).saturating_add(parcel.records.len() as Seq);
        if self.holds(end, parcel.end.as_ref().map(|end| end.nonce)) {
            return Ok(Verdict::Keep(()));
        }
        let mut next = self.clone();
        let mut folds = vec![];
        if let Some(start) = &parcel.start {
            if self.status.is_some() && self.head >= start.seq {
                return Err(self.conflict());
            }
            (next.base, next.head, next.first) = (start.seq, start.seq, at.ordinal);
            next.folds.clear();
            folds.push(start.clone());
        }
        if next.head != parcel.after {
            return Err(self.conflict());
        }
        (next.absent, next.head) = (false, end);
        next.status = next.status.or(Some(Status::Runnable));
        if let Some(last) = &parcel.end {
            (next.status, next.nonce) = (Some(last.status), last.nonce);
            next.fence = next.fence.max(last.fence);
            folds.extend(last.base.clone());
        }
        let in_object = folds.iter().map(|fold| (fold.seq, at.ordinal));
        next.folds.extend(in_object);
        next.close(home, parcel.end.is_some());
        let records = parcel.records.clone();
        Ok(write_with(next, "ship", records, folds, ()))
    }

    /// Takes the fence of a lease that the home granted, so that no later home grants it again.
    pub(crate) fn receive_fence(&self, home: Home, fence: Fence) -> Decision<()> {
        self.check_home(home)?;
        if !self.absent && self.fence >= fence {
            return Ok(Verdict::Keep(()));
        }
        let mut next = self.clone();
        (next.absent, next.fence) = (false, self.fence.max(fence));
        // What its home leases lives there again.
        next.moved_to = None;
        next.close(home, self.copy.is_none_or(|copy| copy.whole));
        Ok(write(next, "fence", ()))
    }

    /// Marks this as a copy, which nobody can lease or claim.
    fn close(&mut self, home: Home, whole: bool) {
        self.copy = Some(CopyOf { home, whole });
        self.lease = Some(Holder {
            owner: OWNER.into(),
            until: NEVER,
        });
    }

    /// Returns true if the copy is whole up to this commit.
    pub(crate) fn holds(&self, head: Seq, nonce: Option<u128>) -> bool {
        let whole = self.status.is_some() && self.copy.is_some_and(|copy| copy.whole);
        whole && self.head == head && Some(self.nonce) == nonce
    }

    /// Takes that the thread moves from its home to another store.
    pub(crate) fn leave(&self, home: Home, to: &str) -> Decision<()> {
        self.check_home(home)?;
        if self.moved_to.as_deref() == Some(to) {
            return Ok(Verdict::Keep(()));
        }
        let mut next = self.clone();
        (next.absent, next.moved_to) = (false, Some(to.to_owned()));
        next.close(home, self.copy.is_none_or(|copy| copy.whole));
        Ok(write(next, "leave", ()))
    }

    /// Refuses a copy of a thread that moved from its home to another store.
    pub(crate) fn check_stays(&self) -> Result<(), StoreErrorKind> {
        match &self.moved_to {
            None => Ok(()),
            Some(to) => Err(StoreErrorKind::Invalid(say!(
                "it moved to {to}, and lives there",
                "它已移到 {to}，在那里继续"
            ))),
        }
    }

    /// Gives a copy to another home.
    pub(crate) fn give(&self, home: Home) -> Decision<()> {
        self.check_stays()?;
        let copy = self.copy.filter(|_| !self.absent);
        let copy = copy.ok_or(StoreErrorKind::NotFound)?;
        if copy.home == home {
            return Ok(Verdict::Keep(()));
        }
        let mut next = self.clone();
        next.copy = Some(CopyOf { home, ..copy });
        Ok(write(next, "give", ()))
    }
}

impl CommitLog {
    /// Takes records of a home into the copy of a thread.
    pub(crate) async fn receive(
        &self,
        thread: &ThreadId,
        home: Home,
        parcel: &Parcel,
    ) -> Result<(), Fault> {
        let key = ThreadKey::of(thread);
        let receive = self.chain.change(&key, Some(thread), |turn| {
            turn.state.receive(home, parcel, turn.next)
        });
        receive.await
    }

    /// Takes the fence of a lease that a home granted.
    pub(crate) async fn receive_fence(
        &self,
        thread: &ThreadId,
        home: Home,
        fence: Fence,
    ) -> Result<(), Fault> {
        let key = ThreadKey::of(thread);
        let receive = self.chain.change(&key, Some(thread), |turn| {
            turn.state.receive_fence(home, fence)
        });
        receive.await
    }

    /// Takes that a thread moves from its home to another store.
    pub(crate) async fn receive_departure(
        &self,
        thread: &ThreadId,
        home: Home,
        to: &str,
    ) -> Result<(), Fault> {
        let key = ThreadKey::of(thread);
        let leave = |turn: Turn<'_>| turn.state.leave(home, to);
        self.chain.change(&key, Some(thread), leave).await
    }

    /// Returns the end of a copy.
    pub(crate) async fn copied(&self, thread: &ThreadId) -> Result<ChainEnd, Fault> {
        self.chain.look(&ThreadKey::of(thread)).await
    }
}
