//! The answer, in the form that the request has one.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::{BoxError, Context, Node, Outcome, agent::reply::show};

use crate::{
    response::Response,
    service::RuleData,
    state::{Steward, Update},
};

/// Answers.
pub(crate) struct Respond(pub(crate) Arc<RuleData>);

#[async_trait]
impl Node<Steward> for Respond {
    async fn run(&self, cx: Context<Steward>) -> Result<Outcome<Update>, BoxError> {
        let response = Response::of(&self.0, cx.state(), None);
        let reply = response.told().reply.clone();
        show(&cx, &reply);
        let response = serde_json::to_value(&response)?;
        Ok(Outcome::done([Update::Answered { response, reply }]))
    }
}
