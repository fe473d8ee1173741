use async_trait::async_trait;
use fugato::{BoxError, Context, Node, Outcome};
use serde_json::json;

use super::note;
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
};

/// The node that begins a turn with its place and time, and emits the request.
#[derive(Debug)]
pub struct BeginNode(pub Deps);

#[async_trait]
impl Node<AgentState> for BeginNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let request = &cx.state().turn.request;
        let told = note(
            "user_input",
            json!({ "content": request.text, "job": request.job }),
        );
        let clock = self.0.jobs.clock();
        let began = Update::Began {
            thread: cx.thread().as_str().to_owned(),
            at: clock.now(),
            zone: clock.zone_name().to_owned(),
            policy: self.0.desk.settings.compaction.clone(),
        };
        Ok(Outcome::done([began]).note(told))
    }
}
