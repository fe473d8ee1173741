//! The agent as others talk to it: what they say becomes a turn, and a thread becomes what a page
//! shows.
use async_trait::async_trait;
use fugato::{
    Runner,
    axum::{Agent as AgentServed, Item, Said, Unusable},
    cli::Lang,
    state::{Message, Role},
    tool::clip,
};
use serde::Deserialize;
use serde_json::Value;

use crate::agent::{Agent, Request, Update};

/// The agent behind its endpoints.
#[derive(Debug, Clone)]
pub struct Served {
    runner: Runner<Agent>,
    lang: Option<Lang>,
}

impl Served {
    /// Speaks this language, or that of the words.
    pub fn new(runner: Runner<Agent>, lang: Option<Lang>) -> Self {
        Self { runner, lang }
    }
}

/// What a client may send beside the words.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Extra {
    lang: Option<Lang>,
}

#[async_trait]
impl AgentServed for Served {
    type State = Agent;

    fn name(&self) -> &'static str {
        "transparent"
    }

    fn runner(&self) -> &Runner<Agent> {
        &self.runner
    }

    async fn input(&self, said: Said) -> Result<Vec<Update>, Unusable> {
        if said.text.trim().is_empty() {
            return Err(Unusable::new("say what you want: the message has no text"));
        }
        let extra: Extra = serde_json::from_value(Value::Object(said.extra)).map_err(|error| {
            Unusable::new(format!("what came beside the words cannot be used: {error}; allowed is lang (\"en\" or \"zh\")"))
        })?;
        let lang = extra.lang.or(self.lang);
        Ok(vec![Update::Asked(Request {
            lang,
            ..Request::new(said.text)
        })])
    }

    fn title(&self, agent: &Agent) -> Option<String> {
        const LONGEST: usize = 40;
        let first = agent
            .conversation
            .history
            .iter()
            .find(|message| message.role == Role::User)?;
        Some(clip(&first.content, LONGEST))
    }

    fn timeline(&self, agent: &Agent) -> Vec<Item> {
        let words = |message: &Message| message.content.clone();
        let said = agent
            .conversation
            .history
            .iter()
            .filter_map(|message| match message.role {
                Role::User => Some(Item::UserText {
                    text: words(message),
                }),
                Role::Assistant => Some(Item::AssistantText {
                    text: words(message),
                    reasoning_content: None,
                }),
                Role::System | Role::Tool => None,
            });
        let mut said: Vec<Item> = said.collect();
        // The calls of the newest turn stand before its answer.
        let answered = agent
            .conversation
            .history
            .last()
            .is_some_and(|message| message.role == Role::Assistant);
        let at = said.len() - usize::from(answered && !said.is_empty());
        let calls = agent.turn.uses.iter().flat_map(|made| {
            let call = made.call.clone();
            let result = Item::ToolResult {
                call: call.id.clone(),
                name: None,
                status: Some(made.status),
                summary: Some(clip(&made.text, 48)),
                result: Some(made.text.clone().into()),
            };
            let called = Item::ToolCall {
                call: call.id,
                name: call.name,
                arguments: call.arguments,
            };
            [called, result]
        });
        said.splice(at..at, calls);
        said
    }
}
