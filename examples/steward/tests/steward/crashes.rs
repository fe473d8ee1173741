//! K24 for this agent: wherever it dies, a request has the same result, and nothing is written
//! twice.
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use fugato::{
    Durability, EffectClass, Graph,
    graph::BoxError,
    llm::{ChatModel, ChatRequest, DeltaStream, ModelError},
    state::ThreadId,
};
use fugato_testkit::{
    Scripted,
    log::Failure,
    sim::{CrashSim, Fault, World},
};
use serde_json::json;
use steward::{
    CardReply,
    deps::Deps,
    files::FileStore,
    graph,
    ledger::{Documents, Ledger, LedgerError, LedgerWrite, Receipt},
    state::{Request, RequestKind, Steward},
};

use crate::common::{
    CLAIM, TRIP, TestResult, asked, call, content, desk, of, requested, trip, wants,
};

/// Tables in a simulated world that records what was done to it.
struct Worldly(World);

#[async_trait]
impl Ledger for Worldly {
    async fn documents(&self, _: &str) -> Result<Documents, LedgerError> {
        Ok(Documents::default())
    }

    async fn write(&self, key: &str, write: &LedgerWrite) -> Result<Receipt, LedgerError> {
        let what = json!(write)["write"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let done = self.0.act_as(EffectClass::Keyed, what, key).await;
        done.map_err(LedgerError::Unavailable)?;
        Ok(Receipt::Written {
            document: "A-1".into(),
        })
    }
}

/// A model that always gives the same answer, in every process.
#[derive(Clone)]
struct Steady;

#[async_trait]
impl ChatModel for Steady {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let task = json!({ "form": "application", "fields": trip() });
        let plan = json!({ "off_topic": false, "tasks": [task] });
        Scripted::new([call("plan_expense_tasks", plan)])
            .stream(request)
            .await
    }

    fn name(&self) -> &'static str {
        "steady"
    }
}

type Wire = fn(&Deps) -> Result<Graph<Steward>, BoxError>;

fn simulation(
    wire: Wire,
    model: Option<Steady>,
    runs: impl IntoIterator<Item = Request>,
) -> CrashSim<Steward> {
    with_files(wire, model, runs, FileStore::default)
}

/// A simulation whose processes find these files.
fn with_files(
    wire: Wire,
    model: Option<Steady>,
    runs: impl IntoIterator<Item = Request>,
    files: impl Fn() -> FileStore + Send + Sync + 'static,
) -> CrashSim<Steward> {
    let simulation = CrashSim::new(move |world| {
        let model = model
            .clone()
            .map(|model| Arc::new(model) as Arc<dyn ChatModel>);
        let deps = Deps::new(&desk(), Arc::new(Worldly(world.clone())), model);
        wire(&deps.clock(|| 1_772_000_000_000).files(files()))
    });
    let simulation = runs.into_iter().fold(simulation, |simulation, request| {
        simulation.input(move || requested(request.clone()))
    });
    simulation
        .answer(|asked| {
            (asked.question.prompt["type"] == "confirm").then(|| json!(CardReply::approve()))
        })
        // The duration of a model call differs from run to run.
        .compare(|state| json!([state.steward_state, state.action_result, state.actions.end]))
        .random(8)
}

/// Runs the simulation without a fault and with eight choices of them, for each durability.
async fn ends_alike(simulation: CrashSim<Steward>) -> Result<(), Failure> {
    let report = simulation.singles(false).share(1).run().await?;
    assert_eq!(report.cases, 3 * (1 + 8), "{report}");
    Ok(())
}

fn chat(message: &str) -> [Request; 1] {
    [asked(RequestKind::Chat, message).trace("r1")]
}

#[expect(deprecated, reason = "it is compared with what replaces it")]
fn legacy(deps: &Deps) -> Result<Graph<Steward>, BoxError> {
    steward::legacy::legacy(deps)
}

#[tokio::test]
async fn stw_t10_k24_a_trip_is_handed_in_once_wherever_it_dies() -> Result<(), Failure> {
    let report = simulation(graph::target, None, chat(TRIP))
        .durability([Durability::Strict])
        .run()
        .await?;
    assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
    assert_eq!(report.most_in_flight, 1, "{report}");
    Ok(())
}

/// The order of a page: one run checks, and another one submits what was checked.
#[tokio::test]
async fn stw_t10_k24_27_a_precheck_and_its_submit_wherever_they_die() -> Result<(), Failure> {
    let checks = wants("p1", "run_duplicate_precheck", &of("application", &trip()));
    let submits = wants("s1", "submit_application", &trip());
    let report = simulation(graph::target, None, [checks, submits])
        .durability([Durability::Strict])
        .random(0)
        .run()
        .await?;
    assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
    Ok(())
}

#[tokio::test]
async fn k24_a_model_a_trip_and_a_crash() -> Result<(), Failure> {
    ends_alike(simulation(graph::target, Some(Steady), chat(TRIP))).await
}

/// Returns the folder of a process: a copy of the files that were uploaded, in which it is the only
/// one that keeps any.
fn copied(uploaded: &Path, to: &Path) -> FileStore {
    for folder in fs::read_dir(uploaded.join("open")).expect("it was uploaded") {
        let from = folder.expect("it can be listed");
        let into = to.join("open").join(from.file_name());
        fs::create_dir_all(&into).expect("it can be made");
        for file in fs::read_dir(from.path()).expect("it can be listed") {
            let file = file.expect("it can be listed");
            fs::copy(file.path(), into.join(file.file_name())).expect("it can be copied");
        }
    }
    FileStore::at(to)
}

#[tokio::test]
async fn k24_a_claim_is_kept_once_on_the_legacy_path_too() -> TestResult {
    let folder = fugato_testkit::tempdir()?;
    let uploaded = folder.path().join("uploaded");
    let (name, store) = ("发票.pdf", FileStore::at(&uploaded));
    let thread = ThreadId::new("sim")?;
    store.upload(&thread, "ann", name, content(name)).await?;
    let (processes, own) = (AtomicUsize::new(0), folder.path().to_owned());
    let files = move || {
        let nth = processes.fetch_add(1, Ordering::SeqCst);
        copied(&uploaded, &own.join(nth.to_string()))
    };
    Ok(ends_alike(with_files(legacy, None, chat(CLAIM), files)).await?)
}

#[tokio::test]
async fn k24_a_trip_is_handed_in_once_on_the_legacy_path_too() -> Result<(), Failure> {
    ends_alike(simulation(legacy, None, chat(TRIP))).await
}
