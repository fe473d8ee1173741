//! A simulation of crashes at every point of a process, and of store faults at every call: it tests
//! the promises of K24 on a graph.
//!
//! [`CrashSim`] runs a graph once as if nothing could go wrong, and notes every point at which the
//! process asked its store or acted on the outside world. Then it runs the graph again for each
//! point and each thing that can go wrong there, lets other processes take the thread over until
//! it has ended, and compares.
mod case;
mod check;
mod core;
mod fault;
mod letter;
mod log;
mod random;
mod report;
mod store;
mod world;

use std::{collections::BTreeSet, sync::Arc};

use fugato_graph::{BoxError, Durability, Graph, RunnerOptions, Schedule};
use fugato_state::{Interrupt, State};
use serde_json::Value;

use self::{
    case::{Outcome, Setup},
    fault::Plan,
};
use crate::{log::Failure, share::share};

pub use fault::{Activity, Fault};
pub use letter::letter;
pub use report::SimReport;
pub use store::{CrashStore, InMemory};
pub use world::World;

/// A simulation of a graph with a crash at every point, and a store fault at every call.
///
/// The README shows an example. These conditions are checked after every case:
///
/// - the state at the end is the same as if nothing had gone wrong;
/// - every action of class `Once` was done once; one that was not was reported in doubt;
/// - no action was done again whose receipt the store had acknowledged;
/// - no answer was asked for again that the store had acknowledged;
/// - the store lost nothing that it had acknowledged, and accepted nothing from an owner whose
///   lease was over;
/// - no two appends of the thread were under way at once, so no reply can overtake another.
#[derive(derive_more::Debug)]
pub struct CrashSim<S: State> {
    #[debug(skip)]
    setup: Setup<S>,
    options: RunnerOptions,
    durabilities: Vec<Durability>,
    schedules: Vec<Schedule>,
    singles: bool,
    random: u32,
    seed: u64,
    share: usize,
}

/// The limits of batches: some fill before their time is over, and others run out of time first.
const BATCHED: Durability = Durability::Batched {
    max_records: 8,
    max_delay: std::time::Duration::from_millis(500),
};

impl<S: State> CrashSim<S> {
    /// Creates a simulation of the graph that `build` makes. Each process makes its own.
    pub fn new<E: Into<BoxError>>(
        build: impl Fn(&World) -> Result<Graph<S>, E> + Send + Sync + 'static,
    ) -> Self {
        Self {
            setup: Setup {
                build: Arc::new(move |world| build(world).map_err(Into::into)),
                inputs: vec![],
                answer: Arc::new(|_| None),
                at_once: false,
                view: Arc::new(|state| {
                    serde_json::to_value(state).unwrap_or_else(|error| error.to_string().into())
                }),
                store: Arc::new(InMemory::default()),
            },
            // A case may start a task more often than a real program would.
            options: RunnerOptions::default().crash_limit(50),
            durabilities: vec![Durability::Strict, BATCHED, Durability::AtPause],
            schedules: vec![Schedule::Lockstep],
            singles: true,
            random: 64,
            seed: 0,
            share: share(),
        }
    }

    fugato_state::setters! {
        /// Sets the input of the run. Each further call adds another run of the same thread, with
        /// its input.
        pub fn input(input: impl Fn() -> Vec<S::Update> + Send + Sync + 'static) {
            setup.inputs.push(Arc::new(input))
        }

        /// Sets the answers to questions. For the question whether an effect in doubt happened,
        /// return none: the simulated world then answers it.
        pub fn answer(answer: impl Fn(&Interrupt) -> Option<Value> + Send + Sync + 'static) {
            setup.answer = Arc::new(answer)
        }

        /// Answers every question as soon as it is asked, while its siblings work. By default
        /// questions are answered when the thread waits for nothing else.
        pub fn at_once(at_once: bool) { setup.at_once = at_once }

        /// Sets the part of the final state that is compared: all of it, by default. Leave out here
        /// what depends on a random order, as under [`Schedule::Eager`].
        pub fn compare(view: impl Fn(&S) -> Value + Send + Sync + 'static) {
            setup.view = Arc::new(view)
        }

        /// Limits the simulation to these durabilities: all three, by default.
        pub fn durability(durabilities: impl IntoIterator<Item = Durability>) {
            durabilities = durabilities.into_iter().collect()
        }

        /// Sets the schedules: lockstep alone, by default.
        pub fn schedule(schedules: impl IntoIterator<Item = Schedule>) {
            schedules = schedules.into_iter().collect()
        }

        /// Sets the other options of runs. Durability and schedule are set by the simulation.
        pub fn options(options: RunnerOptions) { options = options }

        /// Sets the source of the logs: in memory, by default.
        pub fn store(store: impl CrashStore + 'static) { setup.store = Arc::new(store) }

        /// Enables or disables the cases with a single fault at every point, which are tried by
        /// default. Without them there is more time for random cases.
        pub fn singles(singles: bool) { singles = singles }

        /// Sets the number of random cases with several faults, for each durability and schedule,
        /// in addition to every single fault: 64 by default.
        pub fn random(cases: u32) { random = cases }

        /// Sets the seed of the random cases: 0 by default, so that every run tries the same ones.
        pub fn seed(seed: u64) { seed = seed }

        /// Tries every `n`-th case only, and each fault of each kind of operation at least once;
        /// [`share`] by default.
        pub fn share(n: usize) { share = n.max(1) }
    }

    /// Runs all cases, or [`share`] of them, or the one that the environment variable `FUGATO_SIM`
    /// names. The failure of a case says how to run only that one.
    pub async fn run(self) -> Result<SimReport, Failure> {
        let name = std::thread::current().name().map(str::to_owned);
        let named = std::env::var("FUGATO_SIM").ok();
        self.run_named(name.as_deref().unwrap_or_default(), named)
            .await
    }

    /// Runs only the case that a replay line names, such as `strict,lockstep:17=dies-after`.
    pub async fn replay(self, case: &str) -> Result<SimReport, Failure> {
        self.run_named("", Some(case.to_owned())).await
    }

    async fn run_named(self, test: &str, case: Option<String>) -> Result<SimReport, Failure> {
        let (told, end) = tokio::sync::oneshot::channel();
        let test = test.to_owned();
        // Each process of a case has a runtime, and a runtime cannot start inside another.
        let sim = std::thread::Builder::new().name("simulation".into());
        let spawned = sim.spawn(move || {
            let ended = match case {
                Some(case) => self.one(&case),
                None => self.all(),
            };
            // This fails only if the caller no longer waits.
            let _ = told.send(ended.map_err(|failure| failure.for_test(&test)));
        });
        spawned.map_err(|error| Failure::new(format!("no thread: {error}")))?;
        let panicked = |_| Failure::new("a process of the simulation panicked, as it says above");
        end.await.map_err(panicked)?
    }

    fn modes(&self) -> Vec<(Durability, Schedule)> {
        let pairs = self.durabilities.iter().flat_map(|durability| {
            let schedules = self.schedules.iter();
            schedules.map(|schedule| (*durability, *schedule))
        });
        pairs.collect()
    }

    fn all(&self) -> Result<SimReport, BrokenPromise> {
        let mut report = SimReport::default();
        // What happens nowhere else must not be left out of a share.
        let mut tried = BTreeSet::new();
        for mode in self.modes() {
            let bench = self.bench(mode, &mut report)?;
            let points = bench.whole.seen.points.iter().zip(1..);
            let points = points.filter(|_| self.singles);
            let has_length = self.setup.store.length().is_some();
            for ((doing, _), point) in points {
                let faults = doing.faults(has_length).into_iter().enumerate();
                for (at, fault) in faults {
                    let is_new = tried.insert((*doing, fault));
                    // Of a share, each point has other faults than the one before.
                    if !is_new && at % self.share != point % self.share {
                        continue;
                    }
                    let case = bench.try_out(Plan::one(point, fault))?;
                    report.take_in(&case.seen, false);
                }
            }
            let random = self
                .random
                .div_ceil(self.share.try_into().unwrap_or(u32::MAX));
            random::several(&bench, (random, self.seed), &mut report)?;
        }
        Ok(report)
    }

    fn one(&self, case: &str) -> Result<SimReport, BrokenPromise> {
        let wrong = || {
            Failure::new(format!(
                "{case:?} is not like strict,lockstep:17=dies-after"
            ))
        };
        let (wanted, plan) = case
            .split_once(':')
            .ok_or_else(wrong)
            .map_err(BrokenPromise::of)?;
        let plan: Plan = plan.parse().map_err(BrokenPromise::of)?;
        let mut report = SimReport::default();
        let mode = self.modes().into_iter().find(|mode| name(*mode) == wanted);
        let mode = mode.ok_or_else(wrong).map_err(BrokenPromise::of)?;
        let bench = self.bench(mode, &mut report)?;
        let case = bench.try_out(plan)?;
        report.take_in(&case.seen, false);
        Ok(report)
    }

    /// Runs a case without faults, as the reference.
    fn bench(
        &self,
        mode: (Durability, Schedule),
        report: &mut SimReport,
    ) -> Result<Bench<S>, BrokenPromise> {
        let (durability, schedule) = mode;
        let options = self.options.clone();
        let options = options.durability(durability).schedule(schedule);
        let whole = case::run(&self.setup, &options, Plan::default());
        let state = match (&whole.state, whole.seen.broken.first()) {
            (Ok(state), None) => state.clone(),
            (Err(failure), _) => return Err(BrokenPromise::alone(failure.clone(), mode)),
            (_, Some(broken)) => {
                return Err(BrokenPromise::alone(Failure::new(broken.clone()), mode));
            }
        };
        check::check(&whole, &state, &whole.seen).map_err(|why| BrokenPromise::alone(why, mode))?;
        report.take_in(&whole.seen, true);
        Ok(Bench {
            setup: self.setup.clone(),
            options,
            mode,
            whole,
            state,
        })
    }
}

/// The reference to which the cases of a mode are compared.
struct Bench<S: State> {
    setup: Setup<S>,
    options: RunnerOptions,
    mode: (Durability, Schedule),
    whole: Outcome,
    state: Value,
}

impl<S: State> Bench<S> {
    fn try_out(&self, plan: Plan) -> Result<Outcome, BrokenPromise> {
        let case = case::run(&self.setup, &self.options, plan);
        match check::check(&case, &self.state, &self.whole.seen) {
            Ok(()) => Ok(case),
            Err(why) => Err(BrokenPromise::case(why, self.mode, &case)),
        }
    }
}

fn name((durability, schedule): (Durability, Schedule)) -> String {
    let durability = match durability {
        Durability::Strict => "strict",
        Durability::Batched { .. } => "batched",
        Durability::AtPause => "at-pause",
        _ => "another",
    };
    let schedule = match schedule {
        Schedule::Lockstep => "lockstep",
        Schedule::Eager => "eager",
        _ => "another",
    };
    format!("{durability},{schedule}")
}

/// A broken promise, with its place and its replay line.
#[derive(Debug, Clone)]
struct BrokenPromise {
    why: Failure,
    place: String,
    replay: Option<String>,
}

impl BrokenPromise {
    fn of(why: Failure) -> Self {
        Self {
            why,
            place: String::new(),
            replay: None,
        }
    }

    fn alone(why: Failure, mode: (Durability, Schedule)) -> Self {
        let place = format!("{}, and nothing went wrong", name(mode));
        Self {
            place,
            ..Self::of(why)
        }
    }

    fn case(why: Failure, mode: (Durability, Schedule), case: &Outcome) -> Self {
        let fired = &case.seen.fired;
        let told = fired.iter().map(|(point, fault)| {
            let passed = case.seen.points.get(point - 1);
            let (doing, label) = passed.map_or(("?".into(), ""), |(doing, label)| {
                (format!("{doing:?}"), label.as_str())
            });
            format!("at point {point}, {doing} {label}: {fault}")
        });
        let place = format!("{}, {}", name(mode), told.collect::<Vec<_>>().join("; "));
        let plan = fired
            .iter()
            .map(|(point, fault)| format!("{point}={fault}"));
        let plan = plan.collect::<Vec<_>>().join("+");
        let replay = Some(format!("{}:{plan}", name(mode)));
        Self { why, place, replay }
    }

    fn for_test(self, test: &str) -> Failure {
        let Self { why, place, replay } = self;
        let mut told = why.to_string();
        if !place.is_empty() {
            told = format!("{told}\n  {place}");
        }
        if let Some(replay) = replay {
            told = format!("{told}\n  replay: FUGATO_SIM='{replay}' cargo test {test}");
        }
        Failure::new(told)
    }
}
