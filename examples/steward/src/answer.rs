//! The answer, in the form that the request has one.
use fugato::{BoxError, Context, agent::reply::show};

use crate::{
    deps::Deps,
    reply::about_documents,
    response::Response,
    state::{Steward, Update},
};

/// Shows the reply to the request, and returns its answer.
pub(crate) async fn answer(deps: &Deps, cx: &Context<Steward>) -> Result<Update, BoxError> {
    let (state, desk) = (cx.state(), &deps.desk);
    let mut response = Response::of(desk, state, None);
    if state.is_off_topic()
        && let Some(asked) = desk.document_question(&state.message)
    {
        let documents = deps.ledger.documents(&state.employee).await?;
        response.told_mut().reply = about_documents(desk, state, asked, &documents);
    }
    let reply = response.told().reply.clone();
    show(cx, &reply);
    let response = serde_json::to_value(&response)?;
    Ok(Update::Answered { response, reply })
}
