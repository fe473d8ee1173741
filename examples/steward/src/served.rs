//! The agent behind the endpoints that all agents have: a conversation on a page.
use async_trait::async_trait;
use fugato::{
    axum::{Caller, Item, Said, Unusable},
    graph::Runner,
    state::{Interrupt, Message, Role, ThreadId},
    stream::{Answered, Reply as Answer},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    clerk::Clerk,
    form::Fields,
    nodes::Reply,
    state::{Request, RequestKind, Steward, Update},
};

/// The agent behind endpoints.
#[derive(Debug, Clone)]
pub struct Served(pub Clerk);

/// What a client may send beside the words. What it does not know it may send too: clients of
/// other protocols have fields of their own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Extra {
    lang: Option<String>,
    base_date: String,
    attachments: Vec<String>,
    context: Fields,
}

/// Whose applications and claims a caller works on.
pub fn employee(caller: &Caller) -> String {
    let tenant = Some(caller.tenant.as_str()).filter(|tenant| !tenant.is_empty());
    caller.user.as_deref().or(tenant).unwrap_or("me").to_owned()
}

#[async_trait]
impl fugato::axum::Agent for Served {
    type State = Steward;

    fn name(&self) -> &'static str {
        "steward"
    }

    fn runner(&self) -> &Runner<Steward> {
        self.0.runner()
    }

    async fn input(&self, said: Said) -> Result<Vec<Update>, Unusable> {
        if said.text.trim().is_empty() {
            return Err(Unusable::new("say what you want: the message has no text"));
        }
        let extra: Extra = serde_json::from_value(Value::Object(said.extra)).map_err(|error| {
            Unusable::new(format!(
                "what came beside the words cannot be used: {error}; allowed are lang (\"en\" or \"zh\"), \
                 base_date (a day), attachments (names of files) and context (fields of a form)"
            ))
        })?;
        let mut request =
            Request::new(RequestKind::Chat, "", &employee(&said.caller)).message(said.text);
        (request.lang, request.base_date) = (extra.lang, extra.base_date);
        (request.attachments, request.context) = (extra.attachments, extra.context);
        Ok(vec![Update::Requested(Box::new(request))])
    }

    async fn answer(
        &self,
        _: &ThreadId,
        _: &Caller,
        _: &Interrupt,
        answered: Answered,
    ) -> Result<Value, Unusable> {
        let Answered { reply, reason, .. } = answered;
        let reply = match reply {
            // Its schema says what is wrong with it.
            Answer::Value(Value::Object(object)) => return Ok(Value::Object(object)),
            Answer::Approve | Answer::Value(Value::Bool(true)) => Reply::approve(),
            Answer::Value(Value::String(text)) => Reply::say(text),
            Answer::Reject | Answer::Cancel | Answer::Value(Value::Bool(false) | Value::Null) => {
                Reply {
                    text: reason,
                    ..Reply::reject()
                }
            }
            _ => {
                return Err(Unusable::new(
                    "say approve or reject, or what you want instead",
                ));
            }
        };
        Ok(json!(reply))
    }

    fn title(&self, steward: &Steward) -> Option<String> {
        let first = steward
            .history
            .iter()
            .find(|message| message.role == Role::User)?;
        Some(first.content.chars().take(60).collect())
    }

    fn timeline(&self, steward: &Steward) -> Vec<Item> {
        let text = |message: &Message| message.content.clone();
        let said = steward
            .history
            .iter()
            .filter_map(|message| match message.role {
                Role::User => Some(Item::UserText {
                    text: text(message),
                }),
                Role::Assistant => Some(Item::AssistantText {
                    text: text(message),
                    reasoning_content: None,
                }),
                _ => None,
            });
        said.collect()
    }
}
