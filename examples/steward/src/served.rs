//! The agent behind the endpoints that all agents have: a conversation on a page.
use async_trait::async_trait;
use fugato::{
    axum::{Caller, Item, Said, Unusable, timeline, title},
    graph::Runner,
    state::{Interrupt, Message, ThreadId},
    stream::{Answered, Reply as Answer},
};
use serde_json::{Value, json};

use crate::{
    clerk::{Clerk, ClerkError},
    nodes::Reply,
    state::{Beside, Request, RequestKind, Steward, Update},
};

/// The agent behind endpoints.
#[derive(Debug, Clone)]
pub struct Served(pub Clerk);

/// Whose applications and claims a caller works on.
pub fn employee(caller: &Caller) -> String {
    caller.account().unwrap_or_else(|| "me".to_owned())
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
        // What it does not know may be there too: clients of other protocols have fields of their own.
        let beside: Beside = serde_json::from_value(Value::Object(said.extra)).map_err(|error| {
            Unusable::new(format!(
                "what came beside the words cannot be used: {error}; allowed are lang (\"en\" or \"zh\"), \
                 base_date (a day), attachments (names of files) and context (fields of a form)"
            ))
        })?;
        let beside = beside.checked().map_err(Unusable::new)?;
        let request = Request::new(RequestKind::Chat, "", &employee(&said.caller));
        let request = Request {
            beside,
            ..request.message(said.text)
        };
        Ok(vec![Update::Requested(Box::new(request))])
    }

    /// Nobody answers for somebody else, by whatever door.
    async fn answer(
        &self,
        thread: &ThreadId,
        caller: &Caller,
        _: &Interrupt,
        answered: Answered,
    ) -> Result<Value, Unusable> {
        let state = self.runner().state(thread).await.map_err(|error| {
            Unusable::new("who may answer this cannot be read now; try again later").because(error)
        })?;
        if state.is_none_or(|state| state.employee != employee(caller)) {
            return Err(Unusable::forbidden(ClerkError::SomebodyElses.to_string()));
        }
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
        title(&steward.history)
    }

    fn tells(&self, changes: &[Update]) -> Option<Vec<Item>> {
        let said = changes.iter().filter_map(|change| match change {
            Update::Requested(request) => Some(Message::user(&request.message)),
            Update::Answered { reply, .. } => Some(Message::assistant(reply)),
            _ => None,
        });
        let said: Vec<_> = said.filter(|it| !it.content.is_empty()).collect();
        Some(timeline(&said))
    }

    fn timeline(&self, steward: &Steward) -> Vec<Item> {
        timeline(&steward.history)
    }
}
