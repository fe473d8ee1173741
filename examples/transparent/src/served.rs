//! The agent behind its endpoints: a message becomes a turn, and a thread becomes the items of a
//! page.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::state::say;
use fugato::{
    MemoryLog, RunError, Runner,
    axum::{
        BadInput, MessageIntent, ServedAgent as AgentServed, TimelineItem, UserMessage, timeline,
        title,
    },
    cli::Lang,
    state::{Message, ThreadId},
};
use serde::Deserialize;

use crate::{
    agent::{AgentState, Request, Update},
    rules::{only_looks, retimed, standing},
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

    /// Returns the answer to a question that is asked while a card waits: that of a turn of its own,
    /// of which the conversation keeps nothing; none if it would need a card itself.
    async fn aside(&self, thread: &ThreadId, said: &str) -> Result<Option<String>, RunError> {
        let log = Arc::new(MemoryLog::default());
        let aside = Runner::new(self.runner.graph().clone(), log);
        let lang = self.lang;
        let request = Request {
            lang,
            ..Request::new(said)
        };
        aside.start(thread, vec![Update::Asked(request)]).await?;
        let agent = aside.state(thread).await?;
        let answer = agent.map(|agent| agent.turn.answer.clone());
        Ok(answer.filter(|answer| !answer.is_empty()))
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

    fn longest_message(&self) -> usize {
        20_000
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

    /// Words under the card of a reminder may change its time: the reminder takes the card's place. A
    /// question under a card is answered, and the card is left as it is.
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
        let agent = self.runner.state(thread).await.map_err(unread)?;
        let changed = agent.as_ref().and_then(|agent| {
            let said_before = agent.conversation.history.iter().rev();
            let (_, time) = standing(&agent.turn, said_before)?;
            retimed(&agent.turn, &time, &said.text)
        });
        if reminds && changed.is_some() {
            return Ok(MessageIntent::Instead);
        }
        if open.is_empty() || !only_looks(&said.text) {
            return Ok(MessageIntent::Request);
        }
        let told = self.aside(thread, &said.text).await.map_err(unread)?;
        let waits = say!(
            "The card still waits: answer it as it says.",
            "卡片还在等待：请按卡片上写的回答。"
        );
        Ok(told.map_or(MessageIntent::Request, |told| {
            MessageIntent::Told(format!("{told}\n{waits}"))
        }))
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
