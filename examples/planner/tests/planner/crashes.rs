//! K24 for this agent: wherever it crashes and whatever its store does, a conversation has the same
//! result, and the desk is changed once.
use std::sync::{Arc, Mutex, PoisonError};

use fugato::{Durability, Interrupt, graph::BoxError, store::MemoryDocs};
use fugato_testkit::{
    log::Failure,
    share,
    sim::{CrashSim, Fault, World},
};
use planner::{
    exchange::Exchange,
    graph::{Deps, PlanningMode, graph},
    session::{PlannerSession, SessionUpdate},
};
use serde_json::{Value, json};

/// The world outside of the processes of one case, which no crash undoes.
#[derive(Clone)]
struct Outside {
    desk: Exchange,
    docs: Arc<MemoryDocs>,
}

/// The outside of the present case, and the results of the earlier ones.
#[derive(Clone, Default)]
struct Outsides {
    now: Arc<Mutex<Option<Outside>>>,
    all: Arc<Mutex<Vec<Exchange>>>,
}

impl Outsides {
    /// The first process of a case finds a new desk; the others find what that one has left.
    fn of(&self, world: &World) -> Result<Outside, BoxError> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = world.fail("a case begins", 1).is_err();
        if let Some(outside) = now.as_ref().filter(|_| !is_first) {
            return Ok(outside.clone());
        }
        // Prices move with time, and a crash takes some.
        let desk = Exchange::in_memory()?.clock(|| 0);
        let docs = Arc::new(MemoryDocs::default());
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(desk.clone());
        Ok(now.insert(Outside { desk, docs }).clone())
    }

    fn desks(&self) -> Vec<Exchange> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

fn said(text: &str) -> Vec<SessionUpdate> {
    vec![SessionUpdate::Said {
        user: "ada".into(),
        text: text.into(),
    }]
}

/// Returns a person's answer: the model that they want, and yes to every card.
fn answer(asked: &Interrupt) -> Option<Value> {
    match asked.question.key.as_str() {
        "reply" => Some(json!("harbour")),
        key if key.starts_with("confirm/") => Some(json!(true)),
        _ => None,
    }
}

/// Returns a session without its times and snapshots.
fn view(session: &PlannerSession) -> Value {
    let steps = session
        .work
        .steps
        .iter()
        .map(|step| json!([step.id, step.status, step.output_summary]));
    let turns = session
        .history
        .turns()
        .iter()
        .map(|turn| json!([turn.by, turn.text]));
    json!({
        "reply": session.reply, "status": session.work.status(), "task": session.person.task.facts,
        "turns": turns.collect::<Vec<_>>(), "steps": steps.collect::<Vec<_>>(),
        "unsaved": session.person.unsaved,
    })
}

/// The reference scenario: a fact, a trader that is asked about, an order, and a question.
fn simulation(outsides: &Outsides, manner: PlanningMode) -> CrashSim<PlannerSession> {
    let outsides = outsides.clone();
    CrashSim::new(move |world| {
        let Outside { desk, docs } = outsides.of(world)?;
        Ok::<_, BoxError>(graph(&Deps::new(desk, docs).manner(manner))?)
    })
    .input(|| said("Remember that I trade by day."))
    .input(|| said("create a trader named alpha"))
    .input(|| said("sell 0.25 BTC"))
    .input(|| said("Which traders are there?"))
    .answer(answer)
    .compare(view)
}

async fn once(desk: &Exchange) -> Result<(usize, usize), BoxError> {
    Ok((desk.traders().await?.len(), desk.trades(10).await?.len()))
}

#[tokio::test]
async fn k24_no_crash_changes_what_comes_of_the_reference_scenario() -> Result<(), Failure> {
    let outsides = Outsides::default();
    let simulation = simulation(&outsides, PlanningMode::default())
        .durability([Durability::Strict])
        .random(4);
    let report = simulation.run().await?;
    assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
    assert_eq!(report.most_in_flight, 1, "{report}");
    let desks = outsides.desks();
    assert!(desks.len() * share() > 100, "{} cases", desks.len());
    for desk in desks {
        assert_eq!(once(&desk).await?, (1, 1));
    }
    Ok(())
}

#[tokio::test]
async fn k24_nor_does_it_by_batches_and_lax_durability() -> Result<(), Failure> {
    let outsides = Outsides::default();
    let simulation = simulation(&outsides, PlanningMode::NextBatch)
        .durability([Durability::AtPause])
        .singles(false)
        .random(24);
    simulation.run().await?;
    let desks = outsides.desks();
    for desk in desks {
        assert_eq!(once(&desk).await?, (1, 1));
    }
    Ok(())
}

#[tokio::test]
async fn k24_a_trader_that_is_removed_is_asked_about_once_wherever_it_dies() -> Result<(), Failure>
{
    let outsides = Outsides::default();
    let of = outsides.clone();
    let simulation = CrashSim::new(move |world| {
        let Outside { desk, docs } = of.of(world)?;
        Ok::<_, BoxError>(graph(&Deps::new(desk, docs))?)
    });
    let report = simulation
        .input(|| said("create a trader named alpha"))
        .input(|| said("delete trader alpha"))
        .answer(answer)
        .compare(view)
        .durability([Durability::Strict])
        .random(4)
        .run()
        .await?;
    assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
    for desk in outsides.desks() {
        assert_eq!(once(&desk).await?, (0, 0));
    }
    Ok(())
}
