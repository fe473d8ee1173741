//! The conformance suite of [`DocStore`](fugato_store::DocStore), and stores that must not pass it.
//!
//! Each bullet of the contract is one scenario, a public function.
//! [`doc_store_suite!`](crate::doc_store_suite) makes a test of each:
//!
//! ```
//! use std::sync::Arc;
//!
//! use fugato_store::{DocStore, MemoryDocs};
//! use fugato_testkit::{
//!     doc::DocFactory,
//!     log::{OpenError, TestClock},
//! };
//!
//! struct InMemory;
//!
//! #[async_trait::async_trait]
//! impl DocFactory for InMemory {
//!     async fn fresh(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
//!         let clock = clock.clone();
//!         Ok(Arc::new(MemoryDocs::with_clock(move || clock.now())))
//!     }
//! }
//!
//! fugato_testkit::doc_store_suite!(InMemory);
//! ```
mod broken;
mod change;
mod factory;
mod list;
mod race;
mod space;
mod time;
mod trial;
mod value;

pub use broken::{BrokenDocs, DocFlaw};
pub use change::{batch, compare_and_set, delete, versions_are_unique};
pub use factory::DocFactory;
pub use list::list;
pub use race::{racing_batches_are_whole, racing_writers_one_wins};
pub use space::{isolated, remove};
pub use time::{expiry, time_never_runs_backwards};
pub use value::{read_your_writes, reopening_loses_nothing, round_trip, sizes};

use crate::log::Failure;

/// Makes one `#[tokio::test]` of each scenario of [`doc`](mod@crate::doc), which runs it on the
/// store of the given [`DocFactory`](crate::doc::DocFactory). The expression is evaluated for each
/// test. The crate needs tokio with its features `macros` and `rt-multi-thread`.
///
/// If a store needs a server that may be missing, `doc_store_suite!(factory, if there)` checks
/// `there` first, and the tests pass without it.
#[macro_export]
macro_rules! doc_store_suite {
    (@with $then:ident $($rest:tt)*) => {
        $crate::doc_store_suite!(@$then [
            round_trip
            compare_and_set
            versions_are_unique
            batch
            isolated
            expiry
            delete
            list
            remove
            sizes
            read_your_writes
            time_never_runs_backwards
            racing_writers_one_wins
            racing_batches_are_whole
            reopening_loses_nothing
        ] $($rest)*);
    };
    (@tests [$($scenario:ident)*] $factory:expr, if $there:expr) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $scenario() -> Result<(), $crate::log::Failure> {
                if $there {
                    $crate::doc::$scenario(&$factory).await?;
                }
                Ok(())
            }
        )*
    };
    (@run [$($scenario:ident)*]) => {
        /// The names of the scenarios.
        pub const SCENARIOS: &[&str] = &[$(stringify!($scenario)),*];

        /// Runs the scenario of this name.
        pub async fn run(scenario: &str, factory: &dyn DocFactory) -> Result<(), Failure> {
            match scenario {
                $(stringify!($scenario) => $scenario(factory).await,)*
                _ => Err(Failure::new(format!("there is no scenario {scenario:?}"))),
            }
        }
    };
    ($factory:expr) => {
        $crate::doc_store_suite!($factory, if true);
    };
    ($factory:expr, if $there:expr) => {
        $crate::doc_store_suite!(@with tests $factory, if $there);
    };
}

doc_store_suite!(@with run);
