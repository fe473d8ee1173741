//! The conformance suite of [`ThreadLog`](fugato_store::ThreadLog),
//! [`Snapshots`](fugato_store::Snapshots) and [`ThreadAdmin`](fugato_store::ThreadAdmin), and logs
//! that must not pass it.
//!
//! Each bullet of a contract is one scenario, a public function of the same name.
//! [`thread_log_suite!`](crate::thread_log_suite) makes a test of each:
//!
//! ```
//! use fugato_store::MemoryLog;
//! use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};
//!
//! struct InMemory;
//!
//! #[async_trait::async_trait]
//! impl LogFactory for InMemory {
//!     fn abilities(&self) -> Abilities {
//!         Abilities::log_only().with_snapshots().with_admin()
//!     }
//!
//!     async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
//!         let clock = clock.clone();
//!         Ok(OpenedLog::whole(MemoryLog::with_clock(move || clock.now())))
//!     }
//! }
//!
//! fugato_testkit::thread_log_suite!(InMemory);
//! ```
//!
//! The abilities of a log are declared by its factory and never guessed: a scenario that needs an
//! undeclared ability passes, and one whose ability is declared but missing fails.
mod admin;
mod append;
mod broken;
mod claim;
mod clock;
pub mod exact;
mod factory;
mod failure;
mod killed;
mod lease;
mod machine;
mod moves;
mod race;
mod read;
mod reopen;
mod signal;
mod snapshot;
mod trial;

pub use admin::{
    compact_keeps_what_it_promises, fork_whole_or_not, list_pages, remove_leaves_no_orphans,
};
pub use append::{atomic, compare_and_set, gap_free, idempotent, isolated, sizes};
pub use broken::{BrokenLog, BrokenLogs, Flaw};
pub use claim::{claim, claim_of_an_agent, claim_of_what_one_runs};
pub use clock::{TestClock, time_never_runs_backwards};
pub(crate) use factory::forward_admin;
pub use factory::{Abilities, LogFactory, OpenError, OpenedLog, PlacingEngine};
pub use failure::{CheckResult, Failure};
pub(crate) use failure::{holds, same};
pub use killed::nothing_is_lost_with_a_killed_server;
pub use lease::{lease, release};
pub use machine::agrees_with_the_model;
pub use moves::moves_leave_one_home;
pub use race::{racing_claims_share, racing_owners_one_wins, racing_writers_one_wins};
pub use read::{bounded_read, read_your_writes};
pub use reopen::reopening_loses_nothing;
pub use signal::signal;
pub use snapshot::{base_rides_in_the_commit, no_snapshot_past_head, put_and_latest};

/// Makes one `#[tokio::test]` of each scenario of [`log`](mod@crate::log), which runs it on the log
/// of the given [`LogFactory`](crate::log::LogFactory). The expression is evaluated for each test.
/// The crate needs tokio with its features `macros` and `rt-multi-thread`.
///
/// If a log needs a server that may be missing, `thread_log_suite!(factory, if there)` checks
/// `there` first, and the tests pass without it.
#[macro_export]
macro_rules! thread_log_suite {
    (@with $then:ident $($rest:tt)*) => {
        $crate::thread_log_suite!(@$then [
            atomic
            compare_and_set
            idempotent
            gap_free
            isolated
            read_your_writes
            bounded_read
            sizes
            lease
            release
            claim
            claim_of_an_agent
            claim_of_what_one_runs
            signal
            time_never_runs_backwards
            put_and_latest
            no_snapshot_past_head
            base_rides_in_the_commit
            list_pages
            fork_whole_or_not
            compact_keeps_what_it_promises
            remove_leaves_no_orphans
            reopening_loses_nothing
            racing_writers_one_wins
            racing_owners_one_wins
            racing_claims_share
        ] $($rest)*);
    };
    (@tests [$($scenario:ident)*] $factory:expr, if $there:expr) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $scenario() -> Result<(), $crate::log::Failure> {
                if $there {
                    $crate::log::$scenario(&$factory).await?;
                }
                Ok(())
            }
        )*
    };
    (@run [$($scenario:ident)*]) => {
        /// The names of the scenarios.
        pub const SCENARIOS: &[&str] = &[$(stringify!($scenario)),*];

        /// Runs the scenario of this name.
        pub async fn run(scenario: &str, factory: &dyn LogFactory) -> Result<(), Failure> {
            match scenario {
                $(stringify!($scenario) => $scenario(factory).await,)*
                _ => Err(Failure::new(format!("there is no scenario {scenario:?}"))),
            }
        }
    };
    ($factory:expr) => {
        $crate::thread_log_suite!($factory, if true);
    };
    ($factory:expr, if $there:expr) => {
        $crate::thread_log_suite!(@with tests $factory, if $there);
    };
}

thread_log_suite!(@with run);
