//! A server that is killed under load, and started again, has lost nothing that it acknowledged.
use std::{sync::Arc, time::Duration};

use reliability::{
    BoxError,
    load::under_load,
    store::{Kind, Place},
};

/// How often the server is killed.
const KILLS: usize = 3;
/// The most tries until a kill meets a task that is under way.
const TRIES: usize = 5;

async fn a_server_is_killed(kind: Kind) -> Result<(), BoxError> {
    for _ in 0..TRIES {
        match it_is_killed_under_load(kind).await? {
            Some(0) => {}
            _ => return Ok(()),
        }
    }
    Err("no kill met a task that was under way".into())
}

/// Returns how many tasks began again; none if there is no such server.
async fn it_is_killed_under_load(kind: Kind) -> Result<Option<u64>, BoxError> {
    let Some(place) = Place::new(kind)? else {
        return Ok(None);
    };
    let place = Arc::new(place);
    let breaking = async {
        for _ in 0..KILLS {
            let wait = Duration::from_millis(fastrand::u64(200..1200));
            tokio::time::sleep(wait).await;
            let place = place.clone();
            tokio::task::spawn_blocking(move || place.restart()).await?;
        }
        Ok(())
    };
    let verdict = under_load(&place, 12, breaking).await?;
    assert_eq!(verdict.problems, [""; 0], "{verdict}");
    assert_eq!((verdict.doubled, verdict.missing), (0, 0), "{verdict}");
    assert!(verdict.jobs >= 12, "{verdict}");
    Ok(Some(verdict.again))
}

#[tokio::test(flavor = "multi_thread")]
async fn d15_a_killed_postgres_loses_nothing_acknowledged() -> Result<(), BoxError> {
    a_server_is_killed(Kind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn d15_a_killed_redis_that_always_syncs_loses_nothing_acknowledged() -> Result<(), BoxError> {
    a_server_is_killed(Kind::Redis).await
}

#[tokio::test(flavor = "multi_thread")]
async fn d15_a_killed_mysql_loses_nothing_acknowledged() -> Result<(), BoxError> {
    a_server_is_killed(Kind::Mysql).await
}
