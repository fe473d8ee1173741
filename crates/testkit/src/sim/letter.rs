//! A small agent to crash.
use fugato_graph::{BoxError, Context, END, Graph};
use fugato_state::{EffectClass, State};
use serde::{Deserialize, Serialize};

use super::{CrashSim, World};

#[derive(Clone, Default, Serialize, Deserialize)]
struct Lines(Vec<String>);

impl State for Lines {
    type Update = String;

    fn apply(&mut self, line: String) {
        self.0.push(line);
    }
}

/// Returns a simulation of an agent that sends a letter after an approval, and files it: for the
/// tests of a store, whose [`CrashSim::store`] it lacks.
pub fn letter() -> CrashSim<impl State> {
    CrashSim::new(graph)
        .input(|| vec!["in".to_owned()])
        .answer(|interrupt| (interrupt.question.key == "answer").then(|| true.into()))
}

fn graph(world: &World) -> Result<Graph<Lines>, BoxError> {
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
