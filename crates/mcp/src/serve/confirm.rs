//! Confirmation by the person behind a client, in both eras of the protocol.
use std::{
    collections::VecDeque,
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, PoisonError},
};

use fugato_stream::EscapedText;
use fugato_tool::ConfirmCard;
use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
        ElicitationAction, InputRequest, InputRequests, InputRequiredResult, ServerRequest,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::name::digest;

/// The question's name, and the name of the value in its answer.
const AGREE: &str = "agree";

/// The outcomes of a confirmation.
pub(super) enum AskOutcome {
    Agreed,
    NotAgreed,
    /// The client has no way to ask a person.
    Unable,
    /// The client asks, and repeats the call with the answer.
    Later(InputRequiredResult),
}

pub(super) async fn confirm(
    card: &ConfirmCard,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    used: &UsedAnswers,
) -> AskOutcome {
    let offered = context
        .client_capabilities()
        .and_then(|offered| offered.elicitation);
    // A client that names no kind of question supports forms, the only kind at first.
    if !offered.is_some_and(|offered| offered.form.is_some() || offered.url.is_none()) {
        return AskOutcome::Unable;
    }
    let Some(form) = form(card) else {
        return AskOutcome::Unable;
    };
    let stateless = context
        .protocol_version()
        .is_some_and(|version| !version.has_initialize());
    if stateless {
        return later(card, request, form, used);
    }
    let asked = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    match context.peer.send_request(asked).await {
        Ok(ClientResult::ElicitResult(answer)) => judged(&answer),
        Ok(_) => AskOutcome::NotAgreed,
        Err(error) => {
            tracing::debug!(%error, "elicitation failed");
            AskOutcome::Unable
        }
    }
}

fn later(
    card: &ConfirmCard,
    request: &CallToolRequestParams,
    form: ElicitRequestParams,
    used: &UsedAnswers,
) -> AskOutcome {
    let seal = seal(card);
    let answer = request
        .input_responses
        .as_ref()
        .and_then(|answers| answers.get(AGREE));
    // An answer to another call is no answer to this one, and one answer is for one call.
    if let Some(answer) = answer
        && let Some(state) = &request.request_state
        && state
            .split_once('.')
            .is_some_and(|(sealed, _)| sealed == seal)
        && used.add(state)
    {
        let answer = serde_json::from_value::<ElicitResult>(answer.clone());
        return answer.map_or(AskOutcome::NotAgreed, |answer| judged(&answer));
    }
    let question = InputRequest::Elicitation(ElicitRequest::new(form));
    let questions = InputRequests::from([(AGREE.to_owned(), question)]);
    let state = format!("{seal}.{:016x}", RandomState::new().hash_one(()));
    AskOutcome::Later(InputRequiredResult::new(Some(questions), Some(state)))
}

/// The answers that were used, the newest of them: each is to one question, and for one call.
#[derive(Debug, Default)]
pub(super) struct UsedAnswers(Mutex<VecDeque<String>>);

impl UsedAnswers {
    const MOST: usize = 4096;

    /// Adds an answer by the state of its question; false if it is known.
    fn add(&self, state: &str) -> bool {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used.iter().any(|known| known == state) {
            return false;
        }
        if used.len() >= Self::MOST {
            used.pop_front();
        }
        used.push_back(state.to_owned());
        true
    }
}

/// Returns a digest of the approved call: the tool, its arguments, what the person is shown and the
/// version of what it acts on, not the id of the attempt.
pub(super) fn seal(card: &ConfirmCard) -> String {
    let ConfirmCard {
        title,
        summary,
        call,
        consequence,
        version,
        ..
    } = card;
    let text = json!([
        call.name,
        call.arguments,
        title,
        summary,
        consequence,
        version
    ])
    .to_string();
    format!("{:016x}", digest(text.as_bytes()))
}

fn judged(answer: &ElicitResult) -> AskOutcome {
    let given = answer.content.as_ref().and_then(|given| given.get(AGREE));
    match (&answer.action, given) {
        (ElicitationAction::Accept, Some(Value::Bool(true))) => AskOutcome::Agreed,
        _ => AskOutcome::NotAgreed,
    }
}

fn form(card: &ConfirmCard) -> Option<ElicitRequestParams> {
    let title = EscapedText::line(&card.title).to_string();
    let parts = [&card.consequence, &card.summary].map(|text| EscapedText::block(text).to_string());
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let message = std::iter::once(title.clone()).chain(parts);
    let message = message.collect::<Vec<_>>().join("\n");
    let form = json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": { AGREE: { "type": "boolean", "title": title } },
            "required": [AGREE],
        },
    });
    serde_json::from_value(form).ok()
}

#[cfg(test)]
mod tests {
    use fugato_state::ToolCall;

    use super::*;

    #[test]
    fn k35_an_agreement_is_to_what_the_card_showed() -> Result<(), serde_json::Error> {
        let cut = |consequence: &str, version: &str| {
            let call = ToolCall::new("c", "cut", json!({ "tree": "oak" }));
            let mut card = ConfirmCard::new("Cut", "", call);
            (card.consequence, card.version) = (consequence.into(), version.into());
            card
        };
        let says = |card: &ConfirmCard, request: &CallToolRequestParams| {
            form(card).map(|form| later(card, request, form, &UsedAnswers::default()))
        };
        let card = cut("fells it", "1");
        let mut request = json!({ "name": "cut", "arguments": { "tree": "oak" } });
        let asked = says(&card, &serde_json::from_value(request.clone())?);
        let Some(AskOutcome::Later(asked)) = asked else {
            panic!("nobody was asked");
        };
        request["requestState"] = json!(asked.request_state);
        request["inputResponses"] =
            json!({ AGREE: { "action": "accept", "content": { AGREE: true } } });
        let request = serde_json::from_value(request)?;
        assert!(matches!(says(&card, &request), Some(AskOutcome::Agreed)));
        let mut all = cut("fells it", "1");
        all.summary = "every tree".into();
        for other in [
            cut("fells it and its neighbour", "1"),
            cut("fells it", "2"),
            all,
        ] {
            let again = says(&other, &request);
            assert!(matches!(again, Some(AskOutcome::Later(_))), "{other:?}");
        }
        Ok(())
    }
}
