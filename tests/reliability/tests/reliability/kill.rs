//! A process that is killed at random moments loses nothing and does nothing twice.
use std::env;

use fugato_testkit::share;
use reliability::{
    BoxError,
    kill::{Plan, kill},
    serve::Mode,
    store::{Kind, Place},
};

/// The number of kills of each process here, of which [`share`] are done; the program does as many as one
/// likes.
const KILLS: u32 = 40;

async fn a_process_is_killed(kind: Kind, durability: Mode) -> Result<(), BoxError> {
    let few = KILLS.div_ceil(share().try_into()?);
    // Where the few kills of a share hit nobody at work, more are done.
    for kills in [few, KILLS.min(4 * few), KILLS] {
        let Some(place) = Place::new(kind)? else {
            return Ok(());
        };
        // A seed that is always the same would find what it found yesterday.
        let seed = fastrand::u64(..);
        let mut plan = Plan::new(env!("CARGO_BIN_EXE_reliability"), kind, kills, seed);
        plan.durability = durability;
        let verdict = kill(&plan, &place, |_, _| ()).await?;
        let again = format!(
            "kill --store {kind:?} --durability {durability:?} --kills {kills} --seed {seed}"
        );
        assert_eq!(verdict.problems, [""; 0], "{again}: {verdict}");
        let found = (verdict.kills, verdict.doubled, verdict.missing);
        assert_eq!(found, (kills, 0, 0), "{again}: {verdict}");
        assert_eq!(
            verdict.doubtful,
            verdict.asked + verdict.looked,
            "{again}: {verdict}"
        );
        if verdict.doubtful > 0 && verdict.again > 0 {
            return Ok(());
        }
        assert!(kills < KILLS, "none died at work: {verdict}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn k24_kill_9_loses_nothing_on_sqlite() -> Result<(), BoxError> {
    a_process_is_killed(Kind::Sqlite, Mode::Strict).await
}

#[tokio::test(flavor = "multi_thread")]
async fn k24_kill_9_loses_nothing_on_postgres() -> Result<(), BoxError> {
    a_process_is_killed(Kind::Postgres, Mode::Strict).await
}

#[tokio::test(flavor = "multi_thread")]
async fn k24_kill_9_loses_nothing_on_redis() -> Result<(), BoxError> {
    a_process_is_killed(Kind::Redis, Mode::Strict).await
}

#[tokio::test(flavor = "multi_thread")]
async fn k24_kill_9_loses_nothing_on_mysql() -> Result<(), BoxError> {
    a_process_is_killed(Kind::Mysql, Mode::Strict).await
}

#[tokio::test(flavor = "multi_thread")]
async fn k24_kill_9_loses_nothing_in_batches() -> Result<(), BoxError> {
    a_process_is_killed(Kind::Sqlite, Mode::Batched).await
}

#[tokio::test(flavor = "multi_thread")]
async fn k24_kill_9_loses_nothing_that_is_stored_at_pauses() -> Result<(), BoxError> {
    a_process_is_killed(Kind::Sqlite, Mode::AtPause).await
}
