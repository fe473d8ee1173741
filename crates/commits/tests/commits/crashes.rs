//! Tests K24 on objects: a process dies at any point, and others go on with what it left.
use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Durability, END, EffectClass, Graph};
use fugato_state::State;
use fugato_testkit::{
    log::{Failure, OpenError, OpenedLog, TestClock},
    sim::{CrashSim, CrashStore, World},
};
use serde::{Deserialize, Serialize};

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

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Lines(Vec<String>);

impl State for Lines {
    type Update = String;

    fn apply(&mut self, line: String) {
        self.0.push(line);
    }
}

/// Returns a graph that sends a letter after an approval, and files it.
pub(crate) fn letter(world: &World) -> Result<Graph<Lines>, BoxError> {
    let world = world.clone();
    Ok(Graph::<Lines>::starting_at("ask")
        .pause("ask", |_| "send?", |_, yes: bool| format!("send: {yes}"))
        .node("send", move |cx: Context<Lines>| {
            let world = world.clone();
            async move {
                let act = move |key| async move { world.act("letter", key).await };
                let sent = cx.effect("letter", EffectClass::Once, &"Ada", act).await;
                Ok::<String, BoxError>(sent?)
            }
        })
        .node("file", async |_: Context<Lines>| "filed".to_owned())
        .edge("ask", "send")
        .edge("send", "file")
        .edge("file", END)
        .build()?)
}

async fn survives(objects: Objects, random: u32) -> Result<(), Failure> {
    let report = CrashSim::new(letter)
        .input(|| vec!["in".to_owned()])
        .answer(|interrupt| (interrupt.question.key == "answer").then(|| true.into()))
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
