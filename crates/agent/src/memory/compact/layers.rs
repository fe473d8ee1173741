use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{Ask, ChatModel, ChatRequest, Contract, Profile, Timeout};
use fugato_memory::{History, HistoryUpdate, Speaker, TaskState, TaskSummary, TaskUpdate};
use fugato_prompt::TokenCount;
use fugato_state::{Message, State, say};

/// A state with the layers of memory that can be compacted.
pub trait LayeredMemory: State {
    /// Returns the recent turns of the conversation.
    fn history(&self) -> &History;

    /// Returns the task memory.
    fn task(&self) -> &TaskState;

    /// Returns the updates of both layers, to be stored together: the turns that leave the history
    /// are summarised in the task.
    fn compacted(task: TaskUpdate, history: HistoryUpdate) -> Vec<Self::Update>;
}

/// A node that moves a summary of older turns from the history into the task memory.
///
/// Compaction is due when there are more turns than the recent ones and all turns together exceed
/// the threshold in tokens. A failure, or a summary that breaks its contract three times, leaves
/// both layers as they are.
#[derive(derive_more::Debug, Clone)]
#[debug(
    "CompactLayers {{ model: {:?}, recent: {recent:?}, threshold: {threshold:?}, .. }}",
    self.model.name()
)]
pub struct CompactLayers {
    model: Arc<dyn ChatModel>,
    count: Arc<dyn TokenCount>,
    profile: Profile,
    recent: usize,
    threshold: u64,
}

impl CompactLayers {
    /// Asks this model for at most 1,200 tokens, with a timeout of a minute for each request.
    /// Compaction is due when there are more than six turns with more than 900 tokens in total.
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        let profile = Profile {
            max_tokens: Some(1_200),
            temperature: Some(0.2),
            timeout: Some(Duration::from_secs(60)),
            ..Profile::default()
        };
        Self {
            model: Arc::new(Timeout::new(model)),
            count: Arc::new(ThirdsEstimate),
            profile,
            recent: 6,
            threshold: 900,
        }
    }

    /// Sets the number of turns that stay in the history, and the threshold in tokens.
    #[must_use]
    pub fn keep(mut self, recent: usize, threshold: u64) -> Self {
        (self.recent, self.threshold) = (recent, threshold);
        self
    }

    fugato_state::setters! {
        /// Sets the token counter. The default counts a third of the characters, and ten for each
        /// turn.
        pub fn count(count: impl TokenCount + 'static) { count = Arc::new(count) }
    }

    fn request<S: LayeredMemory>(&self, state: &S) -> Option<ChatRequest> {
        let turns = state.history().turns();
        let tokens: u64 = turns.iter().map(|turn| self.count.text(&turn.text)).sum();
        let old = turns.len().checked_sub(self.recent)?;
        if old == 0 || tokens <= self.threshold {
            return None;
        }
        let mut told = say!(
            "What is known of the task:\n{}\n\nWhat was said since:\n",
            "关于任务已知的内容：\n{}\n\n此后说过的话：\n",
            serde_json::to_string(state.task()).unwrap_or_default()
        );
        for turn in turns.iter().take(old) {
            let who = match turn.by {
                Speaker::User => say!("person", "用户"),
                Speaker::Assistant => say!("agent", "助手"),
            };
            let text = turn.lasting();
            told.push_str(&say!("{who}: {text}\n", "{who}：{text}\n"));
        }
        let task = say!(
            "Bring what is known of the task up to date. Keep goals, facts that the person stated, \
             what is unresolved and the last decision of weight; leave out steps, tool calls and \
             values that can be looked up again. A fact that no longer holds is named in \
             `withdrawn`, word for word. Answer with one JSON object:\n{}",
            "更新关于任务已知的内容。保留目标、用户说过的事实、未解决的问题和最近的重要决定；省略步骤、\
             工具调用和可以再次查到的值。不再成立的事实要逐字写在 `withdrawn` 里。用一个 JSON \
             对象回答：\n{}",
            contract().outline()
        );
        let messages = [Message::system(task), Message::user(told)];
        Some(ChatRequest::new(messages))
    }
}

fn contract() -> Contract<TaskSummary> {
    Contract::new("task_summary")
}

#[async_trait]
impl<S: LayeredMemory> Node<S> for CompactLayers {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let Some(request) = self.request(cx.state()) else {
            return Ok(Outcome::done([]));
        };
        let ask = Ask::json("compact", &contract()).profile(self.profile);
        match ask.run(&*self.model, request).await {
            Ok(answer) => {
                let (summary, at) = (answer.value, cx.now());
                let task = TaskUpdate::Merged { summary, at };
                let history = HistoryUpdate::KeptRecent(self.recent);
                Ok(Outcome::done(S::compacted(task, history)))
            }
            Err(error) => {
                let task = cx.task();
                tracing::warn!(task, %error, "compaction failed");
                Ok(Outcome::done([]))
            }
        }
    }
}

/// A token count of a third of the characters, and ten for each message.
struct ThirdsEstimate;

impl TokenCount for ThirdsEstimate {
    fn text(&self, text: &str) -> u64 {
        u64::try_from(text.chars().count() / 3 + 10).unwrap_or(u64::MAX)
    }

    fn message(&self, message: &Message) -> u64 {
        self.text(&message.content)
    }
}
