//! Tests K24 on objects: a process dies at any point, and others go on with what it left.
use async_trait::async_trait;
use fugato_graph::Durability;
use fugato_testkit::{
    log::{Failure, OpenError, OpenedLog, TestClock},
    sim::{CrashStore, letter},
};

use crate::common::Objects;

/// Each process opens the objects anew.
#[async_trait]
impl CrashStore for Objects {
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        fugato_testkit::log::LogFactory::fresh(self, clock).await
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        fugato_testkit::log::LogFactory::reopen(self, clock).await
    }
}

async fn survives(objects: Objects, random: u32) -> Result<(), Failure> {
    let report = letter()
        .store(objects)
        .durability([Durability::Strict])
        .random(random)
        .run()
        .await?;
    assert!(report.doubts > 0, "{report}");
    Ok(())
}

#[tokio::test]
async fn k24_objects_in_memory_survive_a_crash_at_any_point() -> Result<(), Failure> {
    survives(Objects::in_memory(), 64).await
}

#[tokio::test]
async fn k24_a_folder_of_objects_survives_a_crash_at_any_point() -> Result<(), Failure> {
    survives(Objects::in_a_folder(), 16).await
}
