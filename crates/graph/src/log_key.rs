//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// What a worker took on failed.
pub(crate) const A_CLAIMED_THREAD_DID_NOT_COME_TO_REST: &str =
    "a claimed thread did not come to rest";
/// Others wait until it runs out.
pub(crate) const A_LEASE_COULD_NOT_BE_GIVEN_BACK: &str = "a lease could not be given back";
/// The store could not be asked for more time.
pub(crate) const A_LEASE_COULD_NOT_BE_RENEWED: &str = "a lease could not be renewed";
/// A cancellation came too late for a run that broke off, and could not be stored for the next one.
pub(crate) const A_CANCELLATION_WAS_NOT_PASSED_ON: &str = "a cancellation was not passed on";
/// Another process took a thread over; nothing more is written to it here.
pub(crate) const A_LEASE_WAS_LOST: &str = "a lease was lost";
/// A thread is opened from an older snapshot or from its beginning.
pub(crate) const A_SNAPSHOT_CANNOT_BE_READ: &str = "a snapshot cannot be read";
/// The thread takes longer to open; nothing is lost.
pub(crate) const A_SNAPSHOT_COULD_NOT_BE_STORED: &str = "a snapshot could not be stored";
/// It came to its end and was to be removed; `Runner::retire` tries again.
pub(crate) const A_THREAD_COULD_NOT_BE_REMOVED: &str = "a thread could not be removed";
/// The one who should find out whether an action happened failed.
pub(crate) const AN_ACTION_COULD_NOT_BE_LOOKED_AFTER: &str = "an action could not be looked after";
/// Nobody knows whether an action happened, and a person is asked.
pub(crate) const AN_ACTION_IS_IN_DOUBT: &str = "an action is in doubt";
/// A worker could not ask the store for work, and tries again.
pub(crate) const NO_THREAD_COULD_BE_CLAIMED: &str = "no thread could be claimed";
/// Work was left to others before it came to an end.
pub(crate) const STEPS_TOOK_LONGER_THAN_THE_GRACE_ALLOWS: &str =
    "steps took longer than the grace allows";
/// A reader of the stream ends early.
pub(crate) const THE_EVENTS_OF_A_THREAD_CANNOT_BE_READ: &str =
    "the events of a thread cannot be read";
