//! Calendars in SQLite.
use fugato::cli::TablesError;
use fugato_testkit::assert_contains;
use scheduler::store::{ScheduleStoreError, open};

use crate::store::scenarios::{NAME, Store, every_scenario, filled};

pub(crate) async fn fresh() -> Option<(Store, tempfile::TempDir)> {
    let folder = fugato_testkit::tempdir().unwrap();
    let path = folder.path().join("schedule.db");
    let store = open(path.to_str().unwrap()).await.unwrap();
    Some((store, folder))
}

every_scenario!(fresh());

#[tokio::test]
async fn sch_129_what_was_stored_is_there_when_it_is_opened_again() {
    let (store, folder) = fresh().await.unwrap();
    let schedule = filled(&store).await;
    drop(store);
    let path = folder.path().join("schedule.db");
    let again = open(&format!("sqlite:{}", path.display())).await.unwrap();
    assert_eq!(again.read(NAME).await.unwrap().unwrap().schedule, schedule);
}

#[tokio::test]
async fn an_address_that_is_none_is_named_without_its_password() {
    for (address, shown) in [
        ("", ""),
        ("mysql://host", "mysql://host"),
        ("mysql://me:secret@host", "mysql://…@host"),
        ("ftp://me:secret@host/x", "ftp://…@host/x"),
    ] {
        let Err(error) = open(address).await else {
            panic!("{address:?} is no store");
        };
        let text = error.to_string();
        assert_contains(&text, [shown, "sqlite:PATH"]);
        assert!(!text.contains("secret"), "{text}");
    }
    let folder = fugato_testkit::tempdir().unwrap();
    let noise = folder.path().join("noise.db");
    std::fs::write(
        &noise,
        "this is not a database, whatever it is called; it is long enough",
    )
    .unwrap();
    let Err(error) = open(noise.to_str().unwrap()).await else {
        panic!("that is no database");
    };
    assert!(
        matches!(
            error,
            ScheduleStoreError::Tables(TablesError::Unavailable { .. })
        ),
        "{error:?}"
    );
}
