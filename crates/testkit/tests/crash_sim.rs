//! `CrashSim` on a graph that does everything, and on stores and graphs that it must reject.
#[path = "crash_sim/broken.rs"]
mod broken;
#[path = "crash_sim/everything.rs"]
mod everything;

use std::time::Duration;

use fugato_graph::{Durability, Schedule};
use fugato_testkit::{
    log::Failure,
    sim::{CrashSim, Doing},
};

use everything::{Lines, everything, say, sorted};

/// The simulation of the graph that does everything.
fn simulation() -> CrashSim<Lines> {
    CrashSim::new(everything)
        .input(|| vec![say("in")])
        .input(|| vec![say("again")])
        .answer(everything::answer)
}

#[tokio::test]
async fn k24_every_crash_and_fault_in_strict() -> Result<(), Failure> {
    let report = simulation().durability([Durability::Strict]).run().await?;
    assert!(report.points.contains_key(&Doing::ActOnce), "{report}");
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
