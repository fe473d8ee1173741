//! Moving a thread from one store to another, as its leases tell of it.
pub(crate) mod mover;

use std::fmt;

use fugato_state::{Millis, iso_8601, say};

use crate::LeaseRequest;

/// The beginning of the owner of a thread that is on its way.
const PREFIX: &str = "move: ";
/// The text between the two stores in that name.
const ARROW: &str = " => ";
/// The time to live of a lease that ends by itself where the process dies: that of the old store
/// until the thread has moved, and that of the new one before anything is written.
const SOON: Millis = 10_000;
/// The time to live of the lease of a copy that is not whole: a hundred years.
const ARRIVING: Millis = 100 * 365 * 24 * 60 * 60 * 1_000;
/// The time to live of the lease that stays where a thread was: a thousand years.
const MOVED: Millis = 10 * ARRIVING;
/// The end of a lease from which on it does not end by itself.
const IS_ARRIVING: Millis = 4_000_000_000_000;
/// The end of a lease from which on the thread has moved.
const IS_MOVED: Millis = 20_000_000_000_000;
/// The end of a lease from which on a thread that moved is on its way back. A lease keeps its owner
/// as long as it lasts, so its end tells which move brings the thread.
const IS_RETURNING: Millis = 100_000_000_000_000;
/// The distance of the ends of two moves: more than any request takes.
const SLOT: Millis = 1_000_000_000;
/// The number of the ends. Numbers of this size are exact in every store.
const SLOTS: Millis = 1 << 20;
/// The way of a move: its two stores, as people call them.
///
/// Both are part of the owner under which the thread is leased while it is on its way, so they hold
/// no secrets, and are the same when the move is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    from: String,
    to: String,
}

impl Route {
    /// Creates the way from one store to another.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        let (from, to) = (from.into(), to.into());
        Self { from, to }
    }

    /// Returns the name of the new store.
    pub fn to(&self) -> &str {
        &self.to
    }

    /// Reads the owner of a lease; none if it is no move.
    fn of(owner: &str) -> Option<Self> {
        let (from, to) = owner.strip_prefix(PREFIX)?.split_once(ARROW)?;
        Some(Self::new(from, to))
    }

    fn owner(&self) -> String {
        format!("{PREFIX}{}{ARROW}{}", self.from, self.to)
    }
}

/// The part of its way on which a thread is, by the end of the lease of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is about to move, and stays if the process dies.
    Leaving,
    /// It is not whole.
    Arriving,
    /// It is gone.
    Moved,
    /// It is gone, and a move brings it back.
    Returning,
}

impl Stage {
    fn of(until: Millis) -> Self {
        match until {
            IS_RETURNING.. => Self::Returning,
            IS_MOVED.. => Self::Moved,
            IS_ARRIVING.. => Self::Arriving,
            _ => Self::Leaving,
        }
    }
}

/// Returns the end of the lease under which a move brings a thread back.
fn end_of_return(owner: &str) -> Millis {
    // The hash of Fowler, Noll and Vo, which is the same in every program.
    let hash = owner.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let slot = (hash >> 1).cast_signed() % SLOTS;
    IS_RETURNING + slot * SLOT + SLOT / 2
}

/// A thread that a store has and cannot run, because a move took it elsewhere or has not brought it
/// whole. It is displayed as [`busy_text`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Absence {
    /// The way of the move.
    pub route: Route,
    until: Millis,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&busy_text(&self.route.owner(), self.until))
    }
}

/// Tells who holds the lease of a thread: a move is told as one.
pub fn busy_text(owner: &str, until: Millis) -> String {
    let Some(Route { from, to }) = Route::of(owner) else {
        let until = iso_8601(until);
        return say!(
            "{owner} holds its lease until {until}",
            "{owner} 占用着它，到 {until} 为止"
        );
    };
    match Stage::of(until) {
        Stage::Leaving => say!(
            "it is moving from {from} to {to}; try again in a moment",
            "它正从 {from} 移到 {to}；请稍后再试"
        ),
        Stage::Arriving => say!(
            "it is on its way from {from} to {to}; repeat the move to end it",
            "它正从 {from} 移到 {to}；再移动一次即可完成"
        ),
        Stage::Moved => say!("it moved from {from} to {to}", "它已从 {from} 移到 {to}"),
        Stage::Returning => say!(
            "it is on its way back to {from}; repeat the move to end it",
            "它正移回 {from}；再移动一次即可完成"
        ),
    }
}

/// Returns true if the owner of a lease is a move.
pub fn is_move(owner: &str) -> bool {
    Route::of(owner).is_some()
}

/// Returns true if a lease is that of a move which no waiting ends: the thread is elsewhere, or not
/// whole.
pub fn is_away(owner: &str, until: Millis) -> bool {
    is_move(owner) && Stage::of(until) != Stage::Leaving
}

/// Returns true if a request makes a thread leave its store: it is the commit point of a move.
pub fn is_departure(request: &LeaseRequest) -> bool {
    matches!(request, LeaseRequest::Renew { ttl: MOVED, .. })
}
