//! `CrashSim` on a graph that does everything, and on stores and graphs that it must reject.
mod broken;
mod everything;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fugato_graph::{BoxError, Context, Durability, END, Graph, Outcome, Schedule};
use fugato_state::{EffectClass, Question};
use fugato_testkit::{
    log::Failure,
    share,
    sim::{Activity, CrashSim, World},
};

use everything::{Lines, everything, say, sorted};

/// Returns the simulation of the graph that does everything.
fn simulation() -> CrashSim<Lines> {
    CrashSim::new(everything)
        .input(|| vec![say("in")])
        .input(|| vec![say("again")])
        .answer(everything::answer)
}

#[tokio::test]
async fn k24_every_crash_and_fault_in_strict() -> Result<(), Failure> {
    let report = simulation().durability([Durability::Strict]).run().await?;
    assert!(report.points.contains_key(&Activity::ActOnce), "{report}");
    assert!(report.doubts > 0, "{report}");
    assert_eq!(report.most_in_flight, 1, "{report}");
    Ok(())
}

#[tokio::test]
async fn k24_every_crash_and_fault_in_batched() -> Result<(), Failure> {
    let batched = Durability::Batched {
        max_records: 4,
        max_delay: Duration::from_millis(100),
    };
    let report = simulation().durability([batched]).run().await?;
    assert_eq!(report.most_in_flight, 1, "{report}");
    Ok(())
}

#[tokio::test]
async fn k24_every_crash_and_fault_at_pause() -> Result<(), Failure> {
    let report = simulation().durability([Durability::AtPause]).run().await?;
    assert_eq!(report.most_in_flight, 1, "{report}");
    Ok(())
}

#[tokio::test]
async fn k24_every_crash_and_fault_of_the_eager_schedule() -> Result<(), Failure> {
    let eager = simulation().schedule([Schedule::Eager]).compare(sorted);
    let eager = eager.durability([Durability::Strict]);
    let report = eager.run().await?;
    assert_eq!(report.most_in_flight, 1, "{report}");
    Ok(())
}

/// Builds two pauses and a node that asks midway, beside a node that acts and works for long.
fn amid(world: &World) -> Result<Graph<Lines>, BoxError> {
    let (acts, sends) = (world.clone(), world.clone());
    let slow = move |cx: Context<Lines>| {
        let world = acts.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let act = move |key| async move { world.act("order", key).await };
            let order = cx.effect("order", EffectClass::Once, &"one", act).await?;
            tokio::time::sleep(Duration::from_secs(9)).await;
            Ok::<_, BoxError>(say(order))
        }
    };
    let midway = move |cx: Context<Lines>| {
        let world = sends.clone();
        async move {
            let act = move |key| async move { world.act("mail", key).await };
            let mail = cx.effect("mail", EffectClass::Once, &"all", act).await?;
            Ok::<_, BoxError>(match cx.answer::<bool>("well")? {
                Some(well) => Outcome::done([say(format!("{mail}: {well}"))]),
                None => Outcome::ask(Question::new::<bool>("well", "did it go well?")),
            })
        }
    };
    let yes = |_: &Lines, yes: bool| say(yes.to_string());
    let graph = Graph::<Lines>::starting_at("open")
        .node("open", async |_: Context<Lines>| say("open"))
        .approval("allow", |_| "allow?", yes)
        .pause("sure", |_| "sure?", yes)
        .node("then", async |_: Context<Lines>| say("then"))
        .node("midway", midway)
        .node("slow", slow)
        .edge("open", "allow")
        .edge("open", "sure")
        .edge("open", "midway")
        .edge("open", "slow")
        .edge("sure", "then")
        .join(["allow", "then", "midway", "slow"], "last")
        .node("last", async |_: Context<Lines>| say("last"))
        .edge("last", END);
    Ok(graph.build()?)
}

#[tokio::test]
async fn k24_an_answer_amid_siblings_is_lost_in_no_crash() -> Result<(), Failure> {
    let simulation = CrashSim::new(amid)
        .input(|| vec![say("in")])
        // Whether the order in doubt happened is looked up.
        .answer(|asked| {
            asked
                .question
                .prompt
                .get("in_doubt")
                .is_none()
                .then(|| true.into())
        })
        .at_once(true)
        .schedule([Schedule::Lockstep, Schedule::Eager])
        .compare(sorted);
    let report = simulation.run().await?;
    assert!(report.points.contains_key(&Activity::ActOnce), "{report}");
    assert_eq!(report.most_in_flight, 1, "{report}");
    Ok(())
}

/// Builds tasks that ask whether an action may begin, and give it up before the answer, or after
/// it.
fn hasty(world: &World) -> Result<Graph<Lines>, BoxError> {
    let (never, then) = (world.clone(), world.clone());
    let graph = Graph::<Lines>::starting_at("spread")
        .node("spread", async |_: Context<Lines>| say("spread"))
        .scatter("spread", "hasty", |_: &Lines| 0..8_u32)
        .node("hasty", move |cx: Context<Lines>| {
            let world = never.clone();
            async move {
                let patience = cx.item::<u32>()?;
                let act = move |key| async move { world.act("hasty", key).await };
                let mut order = cx.effect("hasty", EffectClass::Once, &patience, act);
                let asked = futures::poll!(&mut order);
                for _ in 0..patience {
                    tokio::task::yield_now().await;
                }
                Ok::<_, BoxError>(say(format!("{patience}: {}", asked.is_pending())))
            }
        })
        .node("patient", move |cx: Context<Lines>| {
            let world = then.clone();
            async move {
                let act = move |key| async move { world.act("order", key).await };
                let order = cx.effect("order", EffectClass::Once, &"one", act);
                Ok::<_, BoxError>(say(order.await?))
            }
        })
        .edge("hasty", "patient")
        .edge("patient", END);
    Ok(graph.build()?)
}

#[tokio::test]
async fn k24_nobody_waits_for_an_action_that_is_given_up_before_it_begins() -> Result<(), Failure> {
    let simulation = CrashSim::new(hasty).input(|| vec![say("in")]);
    let report = simulation.answer(everything::answer).run().await?;
    assert!(report.points.contains_key(&Activity::ActOnce), "{report}");
    assert!(report.doubts > 0, "{report}");
    Ok(())
}

/// The desks of all cases: whether a shop is open. They know no key of what was done.
#[derive(Clone, Default)]
struct Desks(Arc<Mutex<Vec<bool>>>);

impl Desks {
    /// Opens or closes the shop of the present case; the first process of a case finds a new one.
    fn set(&self, world: &World, open: bool) {
        let mut desks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if world.fail("a case begins", 1).is_err() {
            desks.push(false);
        }
        desks.last_mut().into_iter().for_each(|desk| *desk = open);
    }
}

/// Builds a shop that opens and closes.
fn shop(world: &World, desks: &Desks) -> Result<Graph<Lines>, BoxError> {
    let node = |open: bool| {
        let (world, desks) = (world.clone(), desks.clone());
        move |cx: Context<Lines>| {
            let (world, desks) = (world.clone(), desks.clone());
            async move {
                let act = move |_| async move {
                    desks.set(&world, open);
                    Ok::<_, BoxError>(())
                };
                cx.effect("set", EffectClass::Keyed, &open, act).await?;
                Ok::<_, BoxError>(say(format!("open: {open}")))
            }
        }
    };
    let graph = Graph::<Lines>::starting_at("open")
        .node("open", node(true))
        .node("close", node(false))
        .edge("open", "close")
        .edge("close", END);
    Ok(graph.build()?)
}

/// An owner that stood still for longer than its lease opens no shop that the next one has closed.
#[tokio::test]
async fn k13_an_old_owner_does_nothing_anew() -> Result<(), Failure> {
    let desks = Desks::default();
    let of = desks.clone();
    CrashSim::new(move |world| shop(world, &of))
        .input(|| vec![say("in")])
        .answer(everything::answer)
        .durability([Durability::Strict])
        .random(64)
        .run()
        .await?;
    let desks = desks.0.lock().unwrap_or_else(PoisonError::into_inner);
    let open = desks.iter().filter(|open| **open).count();
    assert_eq!(
        (open, desks.len() * share() > 20),
        (0, true),
        "{} desks",
        desks.len()
    );
    Ok(())
}
