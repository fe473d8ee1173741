//! Stores that break one promise each, to show that the suite sees it.
mod store;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fugato_store::DocStore;

use self::store::BrokenStore;
use super::DocFactory;
use crate::log::{OpenError, TestClock};

macro_rules! flaws {
    ($($(#[doc = $doc:literal])+ $flaw:ident => $scenario:ident,)+) => {
        /// The flaw of a store of [`BrokenDocs`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum DocFlaw {
            $($(#[doc = $doc])+ $flaw,)+
        }

        impl DocFlaw {
            /// All flaws.
            pub const ALL: &[Self] = &[$(Self::$flaw),+];

            /// Returns the name of the scenario that must reject it.
            pub fn rejected_by(self) -> &'static str {
                match self {
                    $(Self::$flaw => stringify!($scenario),)+
                }
            }
        }
    };
}

flaws! {
    /// Numbers are stored as floating point.
    RoundsNumbers => round_trip,
    /// Control characters are left out.
    DropsControls => round_trip,
    /// Preconditions are ignored.
    LosesUpdate => compare_and_set,
    /// A deletion ignores its precondition.
    DeletesAnything => compare_and_set,
    /// It compares, and writes a moment later.
    ComparesTooEarly => racing_writers_one_wins,
    /// The versions of each document start at the same number.
    CountsAnew => versions_are_unique,
    /// The writes before a refused one of a batch stay written.
    WritesHalf => batch,
    /// Others see a batch while it is written.
    ShowsHalf => racing_batches_are_whole,
    /// Names that differ in case only are one.
    FoldsCase => isolated,
    /// The list shows the contents of nested namespaces.
    ListsWithin => isolated,
    /// Expired documents stay.
    IgnoresTtl => expiry,
    /// A document expires a moment late.
    ExpiresLate => expiry,
    /// Expired documents still count for preconditions.
    ComparesExpired => expiry,
    /// Expired documents take a place in the list.
    CountsExpired => expiry,
    /// A put without a time to live inherits the old one.
    InheritsTtl => expiry,
    /// Deleted documents stay.
    KeepsDeleted => delete,
    /// The list starts at the end.
    ListsBackwards => list,
    /// The list has one entry more than requested.
    ListsPastLimit => list,
    /// A page starts with the last entry of the page before.
    RepeatsLast => list,
    /// An underscore in a prefix stands for any character.
    MatchesPatterns => list,
    /// Values are listed unasked.
    ShowsValues => list,
    /// Removing a namespace removes others with the same prefix.
    RemovesNeighbours => remove,
    /// Removing a namespace leaves the nested ones.
    RemovesShallow => remove,
    /// A value that is too large is acknowledged and not written.
    SwallowsLarge => sizes,
    /// A document may be written twice by a batch.
    WritesTwice => sizes,
    /// The newest write becomes visible later.
    Lags => read_your_writes,
    /// The time of the store is that of the clock.
    FollowsClock => time_never_runs_backwards,
    /// Everything is lost when the store is opened again.
    LosesOnReopen => reopening_loses_nothing,
}

/// A factory of stores with one flaw, which declare themselves persistent.
#[derive(Debug)]
pub struct BrokenDocs {
    flaw: DocFlaw,
    newest: Mutex<Option<Arc<BrokenStore>>>,
}

impl BrokenDocs {
    /// Creates a factory of stores with this flaw.
    pub fn new(flaw: DocFlaw) -> Self {
        Self {
            flaw,
            newest: Mutex::default(),
        }
    }
}

#[async_trait]
impl DocFactory for BrokenDocs {
    async fn fresh(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        let fresh = Arc::new(BrokenStore::new(self.flaw, clock));
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(newest.insert(fresh).clone())
    }

    fn persistent(&self) -> bool {
        true
    }

    async fn reopen(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        if self.flaw == DocFlaw::LosesOnReopen {
            return self.fresh(clock).await;
        }
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(newest.clone().ok_or("nothing was opened before")?)
    }
}
