//! Threads that an engine places go on whatever is killed.
use std::{env, path::Path, sync::Arc};

use fugato_testkit::share;
use reliability::{
    BoxError,
    judge::Verdict,
    placed::{PlacedPlan, bereft, placed, queue},
    share::hand_over,
    store::{Kind, Place},
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_reliability");

/// The number of processes that are killed here, of which [`share`] are; the program does as many as
/// one likes. Eighteen are each of three alone and each pair, twice.
const KILLS: u32 = 18;

fn plan(kills: u32) -> PlacedPlan {
    PlacedPlan::new(PROGRAM, kills, fastrand::u64(..))
}

fn judged(plan: &PlacedPlan, verdict: &Verdict) {
    let again = format!("placed --kills {} --seed {}", plan.kills, plan.seed);
    assert_eq!(verdict.problems, [""; 0], "{again}: {verdict}");
    assert_eq!(
        (verdict.doubled, verdict.missing),
        (0, 0),
        "{again}: {verdict}"
    );
    let reported = verdict.asked + verdict.looked;
    assert_eq!(verdict.doubtful, reported, "{again}: {verdict}");
    assert!(verdict.jobs >= plan.open as u64, "{again}: {verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k29_services_engine_and_store_are_killed_in_turn_and_in_pairs() -> Result<(), BoxError> {
    let (Some(place), Some(restate)) = (Place::new(Kind::Postgres)?, servers::Restate::start())
    else {
        return Ok(());
    };
    let plan = plan(KILLS.div_ceil(share().try_into()?));
    let (place, restate) = (Arc::new(place), Arc::new(restate));
    let verdict = placed(&plan, &place, &restate, |_, _| ()).await?;
    judged(&plan, &verdict);
    assert!(verdict.kills >= plan.kills, "{verdict}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn k29_a_thread_of_a_dead_service_goes_on_when_its_lease_ends() -> Result<(), BoxError> {
    let (Some(place), Some(restate)) = (Place::new(Kind::Postgres)?, servers::Restate::start())
    else {
        return Ok(());
    };
    let mut queue = queue(Path::new(PROGRAM), &place, &restate).await?;
    let within = u128::from(queue.start.lease) + 1000;
    let killed = hand_over(&mut queue).await?;
    assert_eq!(killed.problems, [""; 0]);
    assert!(killed.took.as_millis() <= within, "{killed:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn k29_one_of_three_engines_dies_for_good() -> Result<(), BoxError> {
    let (Some(place), Some(cluster)) = (Place::new(Kind::Postgres)?, servers::Restate::cluster())
    else {
        return Ok(());
    };
    let plan = plan(1);
    judged(&plan, &bereft(&plan, &Arc::new(place), &cluster).await?);
    Ok(())
}
