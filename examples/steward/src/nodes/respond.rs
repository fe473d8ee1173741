//! The answer, in the form that the request has one.
use async_trait::async_trait;
use fugato::{BoxError, Context, Node, Outcome, agent::reply::show};

use crate::{
    deps::Deps,
    reply::about_documents,
    response::Response,
    state::{Steward, Update},
};

/// Answers.
pub(crate) struct Respond(pub(crate) Deps);

#[async_trait]
impl Node<Steward> for Respond {
    async fn run(&self, cx: Context<Steward>) -> Result<Outcome<Update>, BoxError> {
        let (state, desk) = (cx.state(), &self.0.desk);
        let mut response = Response::of(desk, state, None);
        if state.is_off_topic()
            && let Some(asked) = desk.reader.question(&state.message)
        {
            let documents = self.0.ledger.documents(&state.employee).await?;
            response.told_mut().reply = about_documents(desk, state, asked, &documents);
        }
        let reply = response.told().reply.clone();
        show(&cx, &reply);
        let response = serde_json::to_value(&response)?;
        Ok(Outcome::done([Update::Answered { response, reply }]))
    }
}
