//! Live facts are declared as data, and the declared facts are looked up.
use std::{
    collections::BTreeMap,
    future::ready,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fugato_agent::plan::{FACT_UNKNOWN, FactState, LiveFacts, Preflight};
use fugato_graph::{BoxError, Context, END, Graph, Runner};
use fugato_memory::{Execution, ExecutionUpdate, WorldSnapshot};
use fugato_state::{Millis, State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use fugato_trace::RunTrace;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

const KINDS: [&str; 3] = ["configs", "exchanges", "traders"];

/// The snapshots that the planner saw in the state, one map for each turn.
type Snapshots = Arc<Mutex<Vec<BTreeMap<String, Value>>>>;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Trader {
    about: Vec<String>,
    execution: Execution,
}

#[derive(Debug, Serialize, Deserialize)]
enum Change {
    Asked(Vec<String>),
    Execution(ExecutionUpdate),
}

impl State for Trader {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Asked(about) => self.about = about,
            Change::Execution(update) => self.execution.apply(update),
        }
    }
}

impl FactState for Trader {
    fn about(&self) -> Vec<String> {
        self.about.clone()
    }

    fn snapshots(&self) -> &BTreeMap<String, WorldSnapshot> {
        &self.execution.snapshots
    }

    fn seen(kind: String, snapshot: WorldSnapshot) -> Change {
        Change::Execution(ExecutionUpdate::Seen { kind, snapshot })
    }

    fn unseen(kind: String) -> Change {
        Change::Execution(ExecutionUpdate::Unseen { kind })
    }
}

/// The facts, and the kinds that were looked up.
type Facts = (BTreeMap<String, u32>, Vec<String>);

/// A world whose facts are numbers; a kind that is missing cannot be looked up.
#[derive(Clone, Default)]
struct World(Arc<Mutex<Facts>>);

impl World {
    fn with<T>(&self, f: impl FnOnce(&mut Facts) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn all(&self, value: u32) {
        for kind in KINDS {
            self.set(kind, Some(value));
        }
    }

    fn set(&self, kind: &str, value: Option<u32>) {
        self.with(|(facts, _)| match value {
            Some(value) => drop(facts.insert(kind.to_owned(), value)),
            None => drop(facts.remove(kind)),
        });
    }

    fn fetch(&self, kind: &str) -> Result<Value, BoxError> {
        self.with(|(facts, asked)| {
            asked.push(kind.to_owned());
            let value = facts.get(kind).map(|value| json!(value));
            value.ok_or_else(|| "the exchange does not answer".into())
        })
    }
}

/// Configurations may be a minute old; exchanges and traders are always looked up.
fn declared() -> LiveFacts {
    LiveFacts::new()
        .fact(
            "configs",
            Duration::from_secs(60),
            ["create_trader", "show_configs"],
        )
        .fact("exchanges", Duration::ZERO, ["create_trader"])
        .fact("traders", Duration::ZERO, ["create_trader"])
}

struct CheckState {
    runner: Runner<Trader>,
    thread: ThreadId,
    world: World,
    seen: Snapshots,
}

impl CheckState {
    fn new() -> Self {
        let (world, seen) = (World::default(), Snapshots::default());
        let eyes = seen.clone();
        let plan = move |cx: Context<Trader>| {
            let snapshots = cx.state().execution.snapshots.iter();
            let values = snapshots.map(|(kind, one)| (kind.clone(), one.value.clone()));
            eyes.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(values.collect());
            async {}
        };
        let source = world.clone();
        let fetch = move |kind: String| ready(source.fetch(&kind));
        let graph = Graph::<Trader>::starting_at("preflight")
            .node("preflight", Preflight::new(declared(), fetch))
            .node("plan", plan)
            .edge("preflight", "plan")
            .edge("plan", END)
            .build()
            .expect("the graph is sound");
        let start = Instant::now();
        let clock = move || Millis::try_from(start.elapsed().as_millis()).unwrap_or(Millis::MAX);
        let runner = Runner::new(graph, Arc::new(MemoryLog::with_clock(clock)));
        let thread = ThreadId::new("t").expect("the name keeps the rules");
        Self {
            runner,
            thread,
            world,
            seen,
        }
    }

    /// Returns the snapshots that the planner saw in this turn, and the kinds that were looked up.
    async fn turn(&self, about: &str) -> (BTreeMap<String, Value>, Vec<String>) {
        let asked = Change::Asked(vec![about.to_owned()]);
        self.runner
            .start(&self.thread, asked)
            .await
            .expect("it ends");
        let seen = self
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let looked = self.world.with(|(_, asked)| std::mem::take(asked));
        (seen.expect("somebody planned"), looked)
    }
}

/// Every kind that the request needs is looked up.
#[tokio::test(start_paused = true)]
async fn pln_w11_what_is_declared_is_fetched() {
    let desk = CheckState::new();
    desk.world.all(1);
    let (seen, looked) = desk.turn("create_trader").await;
    assert_eq!(looked, KINDS);
    assert_eq!(seen, KINDS.map(|kind| (kind.to_owned(), json!(1))).into());
    assert_eq!(declared().kinds().collect::<Vec<_>>(), KINDS);
}

#[tokio::test(start_paused = true)]
async fn pln_w4_only_what_is_needed_and_old_is_looked_up() {
    let desk = CheckState::new();
    desk.world.all(1);
    assert_eq!(desk.turn("create_trader").await.1.len(), 3);
    tokio::time::advance(Duration::from_secs(60)).await;
    // The configurations are new enough, and the others may have changed.
    let (seen, looked) = desk.turn("create_trader").await;
    assert_eq!(looked, ["exchanges", "traders"]);
    assert_eq!(seen.len(), 3);
    tokio::time::advance(Duration::from_millis(1)).await;
    // A snapshot that is too old and not needed is removed.
    let (seen, looked) = desk.turn("chat").await;
    assert_eq!((seen, looked), (BTreeMap::new(), vec![]));
}

#[tokio::test(start_paused = true)]
async fn pln_16b_what_cannot_be_looked_up_is_missing_and_not_old() {
    let desk = CheckState::new();
    desk.world.all(1);
    desk.turn("create_trader").await;
    desk.world.set("traders", None);
    let (seen, _) = desk.turn("create_trader").await;
    assert_eq!(
        seen.keys().map(String::as_str).collect::<Vec<_>>(),
        ["configs", "exchanges"]
    );
    let runs = RunTrace::read(&desk.runner, &desk.thread)
        .await
        .expect("the log can be read");
    let notes: Vec<_> = runs
        .iter()
        .flat_map(|run| &run.tasks)
        .flat_map(|task| &task.notes)
        .collect();
    let data = json!({ "kind": "traders", "why": "the exchange does not answer" });
    let name = FACT_UNKNOWN.to_owned();
    assert_eq!(notes, [&EventKind::Custom { name, data }]);
}

#[test]
fn pln_w11_a_declared_fact_is_needed_by_what_it_names_and_by_its_own_name() {
    let none: [&str; 0] = [];
    let facts = declared().fact("prices", Duration::ZERO, none);
    let due = |about: &str| facts.due(&[about], |_| None, 7);
    assert_eq!(due("create_trader"), KINDS);
    assert_eq!(due("show_configs"), ["configs"]);
    // So no declared fact is one that nothing would look up.
    for kind in facts.kinds() {
        assert_eq!(due(kind), [kind]);
    }
    assert_eq!(facts.kinds().count(), 4);
    assert!(due("chat").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(fugato_testkit::share_of(32)))]

    /// Facts change between turns, and some cannot be looked up: a snapshot that the planner sees
    /// is true now, or was so within the declared age.
    #[test]
    fn pln_21_no_stale_fact_is_in_front_of_the_planner(
        turns in prop::collection::vec(
            (0..3_usize, prop::option::of(0..9_u32), 0..90_u64, any::<bool>()),
            1..8,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let desk = CheckState::new();
            desk.world.all(0);
            let mut held: Vec<(u64, BTreeMap<String, u32>)> = vec![];
            let mut now = 0;
            for (kind, value, later, create) in turns {
                desk.world.set(KINDS[kind], value);
                tokio::time::advance(Duration::from_secs(later)).await;
                now += later;
                held.push((now, desk.world.with(|(facts, _)| facts.clone())));
                let about = if create { "create_trader" } else { "show_configs" };
                let (seen, _) = desk.turn(about).await;
                for (kind, value) in seen {
                    let most = if kind == "configs" { 60 } else { 0 };
                    let young = held.iter().filter(|(at, _)| now - at <= most);
                    let held: Vec<_> = young.filter_map(|(_, facts)| facts.get(&kind)).collect();
                    prop_assert!(held.iter().any(|held| json!(held) == value), "{} {}", kind, value);
                }
            }
            Ok(())
        })?;
    }
}
