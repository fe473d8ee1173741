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
        /// How a store of [`BrokenDocs`] is broken.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum DocFlaw {
            $($(#[doc = $doc])+ $flaw,)+
        }

        impl DocFlaw {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$flaw),+];

            /// The name of the scenario that must reject it.
            pub fn rejected_by(self) -> &'static str {
                match self {
                    $(Self::$flaw => stringify!($scenario),)+
                }
            }
        }
    };
}

flaws! {
    /// Numbers are kept as floating point.
    RoundsNumbers => round_trip,
    /// Control characters are left out.
    DropsControls => round_trip,
    /// Preconditions are not looked at.
    LosesUpdate => compare_and_set,
    /// A deletion is carried out whatever is there.
    DeletesAnything => compare_and_set,
    /// It compares, and writes a moment later.
    ComparesTooEarly => racing_writers_one_wins,
    /// Versions begin anew with each document.
    CountsAnew => versions_are_unique,
    /// What comes before a refused write of a batch stays written.
    WritesHalf => batch,
    /// Others see a batch while it is written.
    ShowsHalf => racing_batches_are_whole,
    /// Names that differ in case only are one.
    FoldsCase => isolated,
    /// The list shows what is in namespaces within.
    ListsWithin => isolated,
    /// What has expired stays.
    IgnoresTtl => expiry,
    /// It expires a moment late.
    ExpiresLate => expiry,
    /// What has expired still counts for preconditions.
    ComparesExpired => expiry,
    /// What has expired takes a place in the list.
    CountsExpired => expiry,
    /// A put without a time to live inherits the old one.
    InheritsTtl => expiry,
    /// Deleted documents stay.
    KeepsDeleted => delete,
    /// The list begins at the end.
    ListsBackwards => list,
    /// The list is one longer than asked for.
    ListsPastLimit => list,
    /// A page begins with the last one of the page before.
    RepeatsLast => list,
    /// An underscore in a prefix stands for any character.
    MatchesPatterns => list,
    /// Values come without being asked for.
    ShowsValues => list,
    /// Removing takes what begins alike.
    RemovesNeighbours => remove,
    /// Removing leaves what lies within.
    RemovesShallow => remove,
    /// What is too large is acknowledged and not written.
    SwallowsLarge => sizes,
    /// A document may be written twice by a batch.
    WritesTwice => sizes,
    /// The newest write is seen later.
    Lags => read_your_writes,
    /// The time is what the clock shows.
    FollowsClock => time_never_runs_backwards,
    /// All is gone when the store is opened again.
    LosesOnReopen => reopening_loses_nothing,
}

/// Makes stores of one flaw, which claim to be persistent.
#[derive(Debug)]
pub struct BrokenDocs {
    flaw: DocFlaw,
    newest: Mutex<Option<Arc<BrokenStore>>>,
}

impl BrokenDocs {
    /// A factory of stores with this flaw.
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
