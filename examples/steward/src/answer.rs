//! The answer, in the form that the request has one.
use fugato::{
    BoxError, Context,
    agent::reply::show,
    state::{Lang, State as _},
};

use crate::{
    deps::Deps,
    ledger::LedgerError,
    reply::{self, about_documents, still_waits},
    response::Response,
    state::{RuntimeDecision, Steward, Update},
};

/// Shows the reply to the request, and returns its answer.
pub(crate) async fn answer(deps: &Deps, cx: &Context<Steward>) -> Result<Update, BoxError> {
    let (state, desk) = (cx.state(), &deps.desk);
    let mut response = Response::of(desk, state, None);
    let is_unclear = matches!(state.runtime_decision, Some(RuntimeDecision::Unclear));
    if (state.is_off_topic() || is_unclear)
        && let Some(asked) = desk.asked_beside(&state.message, state.steward_state.current())
    {
        let documents = deps.ledger.documents(&state.employee).await?;
        let words = (state.message.as_str(), state.lang());
        let asked = (asked, state.base());
        response.told_mut().reply = about_documents(desk, words, asked, &documents);
    }
    let reply = &response.told().reply;
    // What was done before another task was begun is told already.
    let came = reply::came(state).filter(|_| state.is_done_with_one());
    let rest = came.and_then(|came| reply.strip_prefix(came.as_str()));
    let reply = rest.unwrap_or(reply).trim_start().to_owned();
    show(cx, &reply);
    let response = serde_json::to_value(&response)?;
    Ok(Update::Answered { response, reply })
}

/// Returns the answer to a question under a card, which is left as it is: the documents, or who
/// approves; none if the words are no such question.
pub(crate) async fn under_a_card(
    deps: &Deps,
    state: &Steward,
    words: &str,
) -> Result<Option<String>, LedgerError> {
    let asked = deps.desk.document_question(words);
    let Some(asked) = asked.filter(|asked| !asked.begins_task()) else {
        return Ok(None);
    };
    let lang = Lang::evident(words).unwrap_or_else(|| state.lang());
    let documents = deps.ledger.documents(&state.employee).await?;
    let asked = (asked, state.base());
    let told = about_documents(&deps.desk, (words, lang), asked, &documents);
    Ok(Some(format!("{told}\n{}", still_waits(lang))))
}
