//! The same agent behind the endpoints that any agent can mount.
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use fugato::{
    MemoryLog, Runner,
    axum::{AgentRoutes, AllowAll, BadInput, ServedAgent, UserMessage},
    graph::BuildError,
};
use tokio::sync::Semaphore;

use crate::agent::{self, Change, PeerState};

struct PeerAgent(Runner<PeerState>);

#[async_trait]
impl ServedAgent for PeerAgent {
    type State = PeerState;

    fn name(&self) -> &'static str {
        "desk"
    }

    fn runner(&self) -> &Runner<PeerState> {
        &self.0
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Change>, BadInput> {
        if said.text.is_empty() {
            return Err(BadInput::new("say what you wish for"));
        }
        Ok(vec![Change::Wished(said.text)])
    }
}

/// Its slow runs wait for the same gate.
pub(crate) fn routes(gate: &Arc<Semaphore>) -> Result<Router, BuildError> {
    let runner = Runner::new(agent::graph(gate.clone())?, Arc::new(MemoryLog::default()));
    Ok(AgentRoutes::new(PeerAgent(runner))
        .authenticate(AllowAll)
        .router())
}
