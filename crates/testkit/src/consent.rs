//! Consent, whatever people, clients and crashes do: K35 is tried out on a whole program, through
//! its HTTP endpoints.
//!
//! [`ConsentSim`] sends requests by chance to a program that asks before it writes, and checks
//! after each of them that every write was agreed to.
mod book;
mod cards;
mod case;
mod doors;
mod life;
mod plan;
mod random;
mod report;
#[cfg(feature = "sqlite")]
mod served;
mod store;
mod world;
mod writes;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use fugato_graph::BoxError;

pub use report::ConsentReport;
#[cfg(feature = "sqlite")]
pub use served::ServedProgram;
pub use store::WorldStore;
pub use world::{
    ConsentAnswer, ConsentWords, ConsentWorld, TestEndpoints, TestRequest, TestResponse,
};
pub use writes::KeyedWrites;

use self::case::Case;
use crate::{log::Failure, share::share};

/// The environment variable that names the only case to run, by its seed.
const ONE: &str = "FUGATO_CONSENT";
/// The environment variable that says how many cases to run.
const CASES: &str = "FUGATO_CONSENT_CASES";
/// The fewest cases that a share has: fewer may hold no write at all.
const FEWEST: u64 = 4;

/// Lets callers do to the cards of a program whatever comes to mind, while it crashes.
///
/// The README shows how it is used. In a case, callers say requests and look at threads; agree and
/// decline by buttons, by words under a card, by words with its code, by the code in a conversation
/// that they repeat, and by words that name nothing; repeat requests, several times at once and
/// later; answer old cards, cards of another thread and those of somebody else; change what is
/// asked, cancel, and delete threads; and the program dies at any moment. Requests go through all
/// protocols.
///
/// After each step, for every write:
///
/// - a card with exactly this content was shown to a caller, who then named this card in a request
///   that agrees, in the thread of the card, while the card was open; or it was agreed to
///   beforehand, as [`ConsentWorld::standing`] says;
/// - no other write has the same consent;
/// - no card changes its content under its id;
/// - no response to words names the code of a card without showing the card, as who repeats the
///   conversation proves by the code that the card was seen.
pub struct ConsentSim {
    open: Arc<Open>,
    store: Arc<OpenStore>,
    cases: u64,
    steps: usize,
    seed: u64,
    share: usize,
}

/// Makes the tests of K35 for an agent: in memory, over a file, and, behind the feature `sqlite`, as
/// the processes of a [`ServedProgram`]. The two expressions make a world over a store, as
/// [`ConsentSim::new`] takes it; `; steps` sets how many steps a case has with the processes.
#[macro_export]
macro_rules! consent_suite {
    ($open:expr, served $served:expr $(; $steps:literal steps)?) => {
        #[tokio::test]
        async fn k35_nothing_is_written_without_a_consent() -> Result<(), $crate::log::Failure> {
            let sim = $crate::consent::ConsentSim::new($open).steps(20);
            sim.run().await?.assert_tried();
            Ok(())
        }

        #[tokio::test]
        async fn k35_nor_over_a_file() -> Result<(), $crate::log::Failure> {
            let store = $crate::consent::WorldStore::in_sqlite;
            let sim = $crate::consent::ConsentSim::new($open).over(store);
            let report = sim.cases(50).seed(20_000).steps(14).run().await?;
            report.assert_tried();
            Ok(())
        }

        #[tokio::test]
        async fn k35_nor_by_two_servers_that_are_killed() -> Result<(), $crate::log::Failure> {
            let sim = $crate::consent::ConsentSim::new($served).cases(8);
            $(let sim = sim.steps($steps);)?
            sim.run().await?.assert_tried();
            Ok(())
        }
    };
}

type Open = dyn Fn(Arc<WorldStore>) -> Result<Arc<dyn ConsentWorld>, BoxError> + Send + Sync;
type OpenStore = dyn Fn() -> Result<WorldStore, BoxError> + Send + Sync;

impl ConsentSim {
    /// A simulation of the worlds that `open` makes, one for each case, each over a store of its
    /// own. The store is in memory, unless [`over`](Self::over) says otherwise.
    pub fn new<W: ConsentWorld + 'static, E: Into<BoxError>>(
        open: impl Fn(Arc<WorldStore>) -> Result<W, E> + Send + Sync + 'static,
    ) -> Self {
        let open = move |store| match open(store) {
            Ok(world) => Ok(Arc::new(world) as Arc<dyn ConsentWorld>),
            Err(error) => Err(error.into()),
        };
        Self {
            open: Arc::new(open),
            store: Arc::new(|| Ok(WorldStore::in_memory())),
            cases: 200,
            steps: 24,
            seed: 0,
            share: share(),
        }
    }

    /// Sets the store that each world gets, such as one in a file.
    #[must_use]
    pub fn over(
        mut self,
        store: impl Fn() -> Result<WorldStore, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.store = Arc::new(store);
        self
    }

    /// Sets the number of cases: 200 by default, of which [`share`] are tried. The environment
    /// variable `FUGATO_CONSENT_CASES` says more, and lets the totals be told on standard error.
    #[must_use]
    pub fn cases(mut self, cases: u64) -> Self {
        self.cases = cases;
        self
    }

    /// Sets how many steps a case has on average: 24 by default.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Sets the seed of the first case: 0 by default. Each case has the next one.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Tries every `n`-th case only; [`share`] by default.
    #[must_use]
    pub fn share(mut self, n: usize) -> Self {
        self.share = n.max(1);
        self
    }

    /// Runs all cases, or the one that the environment variable `FUGATO_CONSENT` names.
    ///
    /// # Errors
    /// The first case that breaks a promise, with its seed and its requests.
    pub async fn run(self) -> Result<ConsentReport, Failure> {
        let one = number(ONE)?;
        let fewer = self.cases.div_ceil(self.share as u64).max(FEWEST);
        let cases = number(CASES)?.unwrap_or(fewer.min(self.cases));
        let seeds = match one {
            Some(seed) => seed..seed + 1,
            None => self.seed..self.seed + cases.max(self.cases),
        };
        let name = std::thread::current().name().map(str::to_owned);
        let (told, end) = tokio::sync::oneshot::channel();
        // Each life of a program is a runtime, and none may begin inside of another.
        let sim = std::thread::Builder::new().name("simulation".into());
        let spawned = sim.spawn(move || {
            let mut report = ConsentReport::default();
            // A share in which little happened goes on with the cases that it left out.
            let mut seeds = seeds.into_iter();
            let broken = loop {
                let is_done = report.cases as u64 >= cases && report.has_tried();
                let Some(seed) = seeds.next().filter(|_| !is_done) else {
                    break None;
                };
                match self.case(seed) {
                    Ok(case) => report.add(&case),
                    Err(broken) => break Some(broken),
                }
            };
            let ended = match broken {
                Some(broken) => Err(Failure::new(match name {
                    Some(name) => broken.replace("{test}", &name),
                    None => broken.replace("{test}", ""),
                })),
                None => Ok(report),
            };
            // Nobody waits any more if this fails.
            let _ = told.send(ended);
        });
        spawned.map_err(|error| Failure::new(format!("no thread: {error}")))?;
        let panicked = |_| Failure::new("the simulation panicked, as it says above");
        let report = end.await.map_err(panicked)??;
        if std::env::var_os(CASES).is_some() {
            tell(&report);
        }
        Ok(report)
    }

    fn case(&self, seed: u64) -> Result<ConsentReport, String> {
        let none = |error: BoxError| format!("there is no world: {error}");
        let store = Arc::new((self.store)().map_err(none)?);
        let world = (self.open)(store.clone()).map_err(none)?;
        let turn = world.turn().unwrap_or(store.turn());
        let mut case = Case::begin(&*world, turn, seed)?;
        let steps = self.steps;
        let ended = catch_unwind(AssertUnwindSafe(|| case.run(steps)));
        let broken = match ended {
            Ok(Ok(())) => return Ok(case.report),
            Ok(Err(broken)) => broken,
            Err(_) => "the program panicked, as it says above".to_owned(),
        };
        let transcript = case.transcript.join("\n");
        Err(format!(
            "{broken}\n  replay: {ONE}={seed} cargo test {{test}}\n{transcript}"
        ))
    }
}

/// Prints the totals, for a caller who asked for a number of cases.
#[expect(clippy::print_stderr, reason = "a test has no other place to say it")]
fn tell(report: &ConsentReport) {
    eprintln!("{report}");
}

fn number(name: &str) -> Result<Option<u64>, Failure> {
    let Ok(value) = std::env::var(name) else {
        return Ok(None);
    };
    let number = value.parse();
    number
        .map(Some)
        .map_err(|_| Failure::new(format!("{name} is {value:?}; it must be a number")))
}

impl std::fmt::Debug for ConsentSim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsentSim")
            .field("cases", &self.cases)
            .field("steps", &self.steps)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
