//! The agent behind its endpoints: a message becomes a turn, and a thread becomes the items of a
//! page.
use async_trait::async_trait;
use fugato::state::say;
use fugato::{
    RunError, Runner,
    axum::{
        Agent as AgentServed, BadInput, MessageIntent, TimelineItem, UserMessage, timeline, title,
    },
    cli::Lang,
    state::{Message, ThreadId},
};
use serde::Deserialize;

use crate::{
    agent::{AgentState, Request, Update},
    rules::retimed,
};

/// The agent behind its endpoints.
#[derive(Debug, Clone)]
pub struct ServedTransparent {
    runner: Runner<AgentState>,
    lang: Option<Lang>,
}

impl ServedTransparent {
    /// Creates the agent with this language, or that of the messages.
    pub fn new(runner: Runner<AgentState>, lang: Option<Lang>) -> Self {
        Self { runner, lang }
    }
}

/// The additional fields of a client's message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Extra {
    lang: Option<Lang>,
}

#[async_trait]
impl AgentServed for ServedTransparent {
    type State = AgentState;

    fn name(&self) -> &'static str {
        "transparent"
    }

    fn runner(&self) -> &Runner<AgentState> {
        &self.runner
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Update>, BadInput> {
        let said = said.in_words()?;
        let Extra { lang } = said.beside("is lang (\"en\" or \"zh\")")?;
        let lang = lang.or(self.lang);
        Ok(vec![Update::Asked(Request {
            lang,
            earlier: said.earlier(),
            ..Request::new(said.text)
        })])
    }

    /// Words under the card of a reminder may change its time: the reminder takes the card's place.
    async fn intent(
        &self,
        thread: &ThreadId,
        said: &UserMessage,
    ) -> Result<MessageIntent, BadInput> {
        let unread = |error: RunError| {
            BadInput::new(say!("the thread cannot be read", "读不到这个对话")).because(error)
        };
        let open = self.runner.interrupts(thread).await.map_err(unread)?;
        let reminds = open.first().is_some_and(|asked| {
            asked.question.prompt.pointer("/call/name") == Some(&"create_cron_job".into())
        });
        if !reminds {
            return Ok(MessageIntent::Request);
        }
        let agent = self.runner.state(thread).await.map_err(unread)?;
        let request = agent.map(|agent| agent.turn.request.text.clone());
        let changed = request.and_then(|request| retimed(&request, &said.text));
        Ok(changed.map_or(MessageIntent::Request, |_| MessageIntent::Instead))
    }

    fn title(&self, agent: &AgentState) -> Option<String> {
        title(&agent.conversation.history)
    }

    fn timeline_items(&self, changes: &[Update]) -> Option<Vec<TimelineItem>> {
        let said = changes.iter().filter_map(|change| match change {
            Update::Asked(request) if !request.told => Some(Message::user(&request.text)),
            Update::Answered { text } => Some(Message::assistant(text)),
            _ => None,
        });
        Some(timeline(&said.collect::<Vec<_>>()))
    }

    fn timeline(&self, agent: &AgentState) -> Vec<TimelineItem> {
        timeline(&agent.conversation.history)
    }
}
