//! The agent: a loop of model and tools over a log, with the interface for its users.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    agent::{
        Assistant, React, ReactLoop, ReactReply, ReactUpdate, Toolbox,
        memory::remember,
        react::{ReplyError, StopReason},
    },
    axum::{BadInput, MessageIntent, ServedAgent, TimelineItem, UserMessage, timeline, title},
    cli::Resources,
    graph::{BoxError, BuildError, Graph, Run, RunError, Runner},
    llm::ChatModel,
    memory::LongTermMemory,
    prompt::spoken,
    state::{ConversationUpdate, Interrupt, Role, RunContext, ThreadId, ToolCall, say},
    tool::{GateChain, Registry, confirm_writes},
};
use serde::Deserialize as _;

use crate::{
    Settings, rules,
    tools::ToolEnvironment,
    wishes::{corrected, drops, noted, takes_its_place},
};

/// Returns the system prompt of the model.
fn system() -> String {
    say!(
        "You are an assistant with a few tools. \
         Use a tool where it knows better than you: to calculate, for the time, for files, and to \
         recall what the person asked to be remembered. \
         What the person asks to be remembered is kept without your doing. \
         Never say that you did what no tool did. \
         Answer briefly, in the language of the person.",
        "你是一个有几件工具的助手。工具比你更清楚的就用工具：计算、时间、文件，以及回忆用户要求记住的内容。\
         用户要求记住的内容会自动保存，不用你做。没有工具做过的事，绝不要说你做了。用用户的语言简短回答。"
    )
}

/// The agent. Cheap to clone.
#[derive(derive_more::Debug, Clone)]
#[debug("ReactAgent {{ .. }}")]
pub struct ReactAgent {
    assistant: Arc<Assistant>,
}

impl ReactAgent {
    /// Opens the agent that the command line describes. If the model fails, rules answer.
    pub async fn open(settings: &Settings, open: &Resources) -> Result<Self, BoxError> {
        let mut tools = ToolEnvironment::new(&open.dir);
        if let Some(files) = &settings.files {
            tools.files = open.own(files);
        }
        // Looking at what is stored needs no tool.
        let registry = if open.reads {
            Registry::builder().build()?
        } else {
            tools.registry(settings).await?
        };
        let memory = Arc::new(tools.notebook.clone());
        let graph = graph(open.model.clone(), registry, memory, settings.max_steps)?;
        Ok(Self::new(open.runner(graph)))
    }

    /// Creates the agent over a runner of its [`graph`].
    pub fn new(runner: Runner<React>) -> Self {
        let assistant = Arc::new(Assistant::new(runner));
        Self { assistant }
    }

    /// Says something, and waits for the reply.
    pub async fn chat(&self, thread: &ThreadId, text: &str) -> Result<ReactReply, ReplyError> {
        self.assistant.chat(thread, text).await
    }

    /// Says something. What is returned is a stream of what happens, and a future of its end, which
    /// [`Assistant::reply`] makes a reply of.
    pub fn chat_stream(&self, thread: &ThreadId, text: &str) -> Run<React> {
        self.assistant.chat_stream(thread, text)
    }
}

/// Builds the loop. A note of the person is stored first, a person agrees to every write, and each
/// end has a reply. Without a model, or if it does not answer, rules do.
pub fn graph(
    model: Option<Arc<dyn ChatModel>>,
    registry: Registry<React, ReactUpdate>,
    memory: Arc<dyn LongTermMemory>,
    max_steps: u32,
) -> Result<Graph<React>, BuildError> {
    let toolbox = Toolbox::new(registry).gates(GateChain::new().with(confirm_writes));
    let agent = match model {
        Some(model) => ReactLoop::new(model, toolbox).rules(rules::reply),
        None => ReactLoop::by_rules(rules::reply, toolbox),
    };
    agent
        .system_of(|_| system())
        .max_steps(max_steps)
        .memory_trigger(remember(
            memory,
            |react| noted(&last_words(react)?),
            |_| ReactUpdate::Remembered,
            |_| vec![],
        ))
        .build()
}

/// Returns the reply to words that do not decide the open card.
fn waits() -> String {
    say!(
        "A card waits, and I did not understand that as an answer; nothing has changed. Say yes or no \
         as the card shows it, or say how to change it.",
        "有卡片在等待，这句没听懂，什么都没有改变。请按卡片上写的说“好的”或“不要”，或者说怎么改。"
    )
}

/// Returns true if words change the call that a card asks about.
fn changes(asked: &Interrupt, words: &str) -> bool {
    let call = asked.question.prompt.get("call");
    let call = call.and_then(|call| ToolCall::deserialize(call).ok());
    call.is_some_and(|call| corrected(&call, words).is_some())
}

/// Returns the last message of the person.
fn last_words(react: &React) -> Option<String> {
    let mut said = react.conversation.history.iter().rev();
    let said = said.find(|message| message.role == Role::User)?;
    Some(said.content.clone())
}

#[async_trait]
impl ServedAgent for ReactAgent {
    type State = React;

    fn name(&self) -> &'static str {
        "react"
    }

    fn longest_message(&self) -> usize {
        20_000
    }

    fn runner(&self) -> &Runner<React> {
        self.assistant.runner()
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<ReactUpdate>, BadInput> {
        let said = said.in_words()?;
        let context = RunContext::new().user(said.caller.account());
        let earlier = said.earlier().into_iter().map(ConversationUpdate::Said);
        let mut updates: Vec<_> = earlier.map(ReactUpdate::Talked).collect();
        updates.extend(ReactUpdate::request(said.text, context.model(said.model)));
        Ok(updates)
    }

    /// Words under a card that do not decide it leave it open; those that drop or change it take
    /// its place.
    async fn intent(
        &self,
        thread: &ThreadId,
        said: &UserMessage,
    ) -> Result<MessageIntent, BadInput> {
        let unread = |error: RunError| {
            BadInput::new(say!("the thread cannot be read", "读不到这个对话")).because(error)
        };
        let open = self.runner().interrupts(thread).await.map_err(unread)?;
        Ok(match open.first() {
            None => MessageIntent::Request,
            Some(asked)
                if drops(&said.text)
                    || takes_its_place(&said.text)
                    || changes(asked, &said.text) =>
            {
                MessageIntent::Instead
            }
            Some(_) => MessageIntent::Told(waits()),
        })
    }

    fn title(&self, react: &React) -> Option<String> {
        title(&react.conversation.history)
    }

    fn timeline_items(&self, changes: &[ReactUpdate]) -> Option<Vec<TimelineItem>> {
        let unusable = ReactUpdate::Stopped(StopReason::Unusable);
        let usable = !changes.contains(&unusable);
        let said = changes.iter().filter_map(|change| match change {
            ReactUpdate::Talked(ConversationUpdate::Said(message)) => Some(message),
            ReactUpdate::Answered(message) | ReactUpdate::Ruled { message, .. } if usable => {
                Some(message)
            }
            _ => None,
        });
        Some(timeline(said))
    }

    fn timeline(&self, react: &React) -> Vec<TimelineItem> {
        timeline(spoken(&react.conversation.history))
    }
}
