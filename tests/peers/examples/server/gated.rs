//! A loop of model and tools whose writes wait for a person, behind the endpoints that any agent can
//! mount. Each message makes the model write a file of that name.
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use axum::{Json, Router, extract::State, routing::get};
use fugato::{
    BoxError, MemoryLog, Runner,
    agent::{React, ReactLoop, ReactUpdate, Toolbox},
    axum::{AgentRoutes, AllowAll, BadInput, ServedAgent, UserMessage},
    state::ToolCall,
    tool::{EffectClass, GateChain, Registry, ToolSpec, confirm_writes},
};
use fugato_testkit::{Scripted, ScriptedReply};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// The number of writes of each file.
type WriteCounts = Arc<Mutex<BTreeMap<String, u32>>>;

struct GatedState {
    runner: Runner<React>,
    model: Scripted,
}

#[derive(Deserialize, JsonSchema)]
struct WriteArgs {
    path: String,
    text: String,
}

/// The text of a file, with an end that a preview would not show.
pub(crate) const TEXT: &str = "line one\nline two\nthe end of it";

#[async_trait]
impl ServedAgent for GatedState {
    type State = React;

    fn name(&self) -> &'static str {
        "gated"
    }

    fn runner(&self) -> &Runner<React> {
        &self.runner
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<ReactUpdate>, BadInput> {
        let path = said.in_words()?.text;
        let arguments = json!({ "path": path, "text": TEXT });
        let call = ToolCall::new(format!("call-{path}"), "write_file", arguments);
        self.model.push(ScriptedReply::tool_calls([call]));
        self.model.push(ScriptedReply::text("That is all."));
        Ok(vec![ReactUpdate::user(path)])
    }
}

/// The agent, and beside it how often each file was written.
pub(crate) fn routes() -> Result<Router, BoxError> {
    let (written, model) = (
        WriteCounts::default(),
        Scripted::new(Vec::<ScriptedReply>::new()),
    );
    let count = written.clone();
    let spec = ToolSpec::write("write_file", "Writes a file.").effect(EffectClass::Idempotent);
    let registry = Registry::<React, ReactUpdate>::builder()
        .function(spec, move |_, WriteArgs { path, text }: WriteArgs| {
            let mut files = count.lock().unwrap_or_else(PoisonError::into_inner);
            if text == TEXT {
                *files.entry(path.clone()).or_default() += 1;
            }
            Ok(format!("{path} is written"))
        })
        .build()?;
    let toolbox = Toolbox::new(registry).gates(GateChain::new().with(confirm_writes));
    let graph = ReactLoop::new(model.clone(), toolbox).build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let agent = AgentRoutes::new(GatedState { runner, model })
        .authenticate(AllowAll)
        .router();
    let files = Router::new()
        .route("/files", get(files))
        .with_state(written);
    Ok(agent.merge(files))
}

async fn files(State(written): State<WriteCounts>) -> Json<BTreeMap<String, u32>> {
    Json(
        written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone(),
    )
}
