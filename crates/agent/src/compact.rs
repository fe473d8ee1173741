//! Making room in prompts: what older messages came to, in the place of them.
mod layers;
mod statistics;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{ChatModel, ChatModelExt as _, ChatRequest, Profile, Timeout};
use fugato_memory::{Compaction, CompactionPolicy, CompactionUpdate, SummaryRequest};
use fugato_prompt::{EstimatedTokens, TokenCount};
use fugato_state::{Message, State};
use fugato_stream::EventKind;

pub use layers::{CompactLayers, Layered};
pub use statistics::{CompactionStatistics, compactions};

use crate::log_key;

/// Messages of which the older ones may be summarised.
#[derive(Debug, Clone, Copy)]
pub struct Compacting<'a> {
    /// What they are a part of; each part has a summary and a watermark of its own.
    pub part: &'a str,
    /// The messages, from the first one on. The originals stay.
    pub history: &'a [Message],
    /// What was summarised before.
    pub done: &'a Compaction,
    /// When, and how much.
    pub policy: &'a CompactionPolicy,
    /// What a person reads when it begins.
    pub beginning: &'a str,
    /// What a person reads when it is over.
    pub over: &'a str,
}

/// A state that has messages to be compacted, in a conversation or elsewhere.
pub trait Compacts: State {
    /// What may be compacted, one part after the other.
    fn compacting(&self) -> Vec<Compacting<'_>>;

    /// The change that keeps what a part was compacted to, for
    /// [`Compaction::apply`](fugato_memory::Compaction::apply).
    fn compacted(part: &str, update: CompactionUpdate) -> Self::Update;
}

/// What asks a model for summaries. It is a node by itself for a state that [`Compacts`], and can
/// be asked by other nodes.
///
/// # Contract
/// - **nothing is lost**: messages stay where they are; a summary is merged with the one before.
/// - **a failure changes nothing**: neither an error of the model nor an unusable summary does more
///   than leave everything as it is, and say so.
/// - **one change**: the summary and the watermark are one update.
#[derive(Clone)]
pub struct Compact {
    model: Arc<dyn ChatModel>,
    count: Arc<dyn TokenCount>,
    profile: Profile,
}

/// What came of compacting one part.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Compacted {
    /// The change; none if it failed.
    pub update: Option<CompactionUpdate>,
    /// What it saved.
    pub statistics: CompactionStatistics,
}

/// How often a summary is asked for until it will do.
const TRIES: usize = 2;

impl fmt::Debug for Compact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compact")
            .field("model", &self.model.name())
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

impl Compact {
    /// Asks this model, for at most 4,000 tokens within two minutes each time.
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        let profile = Profile {
            max_tokens: Some(4_000),
            temperature: Some(0.2),
            timeout: Some(Duration::from_secs(120)),
            ..Profile::default()
        };
        Self {
            model: Arc::new(Timeout::new(model)),
            count: Arc::new(EstimatedTokens),
            profile,
        }
    }

    /// Asks in this manner.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Counts tokens with this.
    #[must_use]
    pub fn count(mut self, count: impl TokenCount + 'static) -> Self {
        self.count = Arc::new(count);
        self
    }

    /// Compacts one part if that is due, and tells the reader; none if it is not.
    pub async fn part<S: State>(&self, cx: &Context<S>, part: Compacting<'_>) -> Option<Compacted> {
        let tokens = |message: &Message| self.count.message(message);
        let request = part.policy.due(part.history, part.done, tokens)?;
        tell(cx, "context_compact_start", part.beginning);
        let before = self.count.messages(&request.messages) + self.count.text(&request.known);
        let mut statistics = CompactionStatistics::new(part.part, &request, before);
        let update = match self.summary(&request, cx.now()).await {
            Ok((update, summary)) => {
                statistics.tokens_after = self.count.text(&summary);
                Some(update)
            }
            Err(error) => {
                tracing::warn!(
                    task = cx.task(),
                    part = part.part,
                    error,
                    "{}",
                    log_key::NOTHING_WAS_COMPACTED
                );
                statistics.tokens_after = before;
                statistics.failure = Some(error.to_string());
                None
            }
        };
        tell(cx, "context_compact_done", part.over);
        Some(Compacted { update, statistics })
    }

    async fn summary(
        &self,
        due: &SummaryRequest,
        now: fugato_state::Millis,
    ) -> Result<(CompactionUpdate, String), BoxError> {
        let mut messages = due.prompt();
        let mut tried = 1;
        loop {
            let request = ChatRequest::new(messages.clone()).metadata("stage", "compact");
            let answer = self.model.complete(self.profile.apply(request)).await?;
            let summary = answer.message.content;
            match due.check(&summary, now) {
                Ok(update) => return Ok((update, summary)),
                Err(error) if tried == TRIES => return Err(error.into()),
                Err(error) => {
                    messages.push(Message::assistant(summary));
                    messages.push(Message::user(error.to_string()));
                    tried += 1;
                }
            }
        }
    }
}

fn tell<S: State>(cx: &Context<S>, code: &str, summary: &str) {
    cx.emit(EventKind::Status {
        code: code.to_owned(),
        summary: summary.to_owned(),
    });
}

#[async_trait]
impl<S: Compacts> Node<S> for Compact {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let (mut updates, mut notes) = (vec![], vec![]);
        for part in cx.state().compacting() {
            if let Some(compacted) = self.part(&cx, part).await {
                let update = compacted.update;
                updates.extend(update.map(|update| S::compacted(part.part, update)));
                notes.push(compacted.statistics.to_event());
            }
        }
        Ok(notes
            .into_iter()
            .fold(Outcome::done(updates), Outcome::note))
    }
}
