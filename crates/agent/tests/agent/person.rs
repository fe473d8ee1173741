//! Data of a person is recalled and stored, and changes that cannot be stored are kept.
use std::sync::Arc;

use fugato_agent::memory::{recall_person, save_person};
use fugato_graph::{END, Graph, Runner};
use fugato_memory::{MemoryUpdate, PersonCopy, PersonLayers, PersonUpdate, TaskUpdate};
use fugato_state::ThreadId;
use fugato_store::{MemoryDocs, MemoryLog};

type TestResult = Result<(), fugato_graph::BoxError>;

fn learnt(fact: &str) -> PersonUpdate {
    let (fact, at) = (fact.to_owned(), 1);
    PersonUpdate::Changed(MemoryUpdate::Task(TaskUpdate::Learnt { fact, at }))
}

fn runner(
    layers: &PersonLayers,
    whose: &'static str,
) -> Result<Runner<PersonCopy>, fugato_graph::BuildError> {
    let whose = move |_: &PersonCopy| whose.to_owned();
    let graph = Graph::<PersonCopy>::starting_at("recall")
        .node("recall", recall_person(layers.clone(), whose))
        .edge("recall", "save")
        .node("save", save_person(layers.clone(), whose))
        .edge("save", END)
        .build()?;
    Ok(Runner::new(graph, Arc::new(MemoryLog::default())))
}

#[tokio::test]
async fn pln_3_pln_w3_what_one_session_learns_the_next_one_recalls() -> TestResult {
    let layers = PersonLayers::new(Arc::new(MemoryDocs::default()));
    let (one, two) = (ThreadId::new("one")?, ThreadId::new("two")?);
    let runner = runner(&layers, "ada")?;
    let ended = runner.start(&one, learnt("trades by day")).await?;
    assert_eq!(ended.state().unsaved, []);
    let ended = runner.start(&two, learnt("is new to this")).await?;
    assert_eq!(
        ended.state().task.facts,
        ["trades by day", "is new to this"]
    );
    assert_eq!(layers.recall("ada").await?.0, ended.state().task);
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_stored_stays_and_the_run_goes_on() -> TestResult {
    let layers = PersonLayers::new(Arc::new(MemoryDocs::default()));
    // This name is not valid for a document.
    let runner = runner(&layers, "a\nb")?;
    let thread = ThreadId::new("t")?;
    let ended = runner.start(&thread, learnt("trades by day")).await?;
    let state = ended.state();
    assert_eq!(state.task.facts, ["trades by day"]);
    assert_eq!(state.unsaved.len(), 1);
    Ok(())
}
