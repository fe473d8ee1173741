//! Making room in prompts: what older messages came to, in the place of them.
mod layers;
mod statistics;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{ChatModel, ChatModelExt as _, ChatRequest, Profile, Timeout};
use fugato_memory::{Compaction, CompactionPolicy, CompactionUpdate, SummaryError, SummaryRequest};
use fugato_prompt::{EstimatedTokens, TokenCount};
use fugato_state::{Message, Millis, State};
use fugato_stream::EventKind;

pub use layers::{CompactLayers, Layered};
pub use statistics::{CompactionStatistics, compactions};

use crate::log_key;

/// Messages of which the older ones may be summarised.
#[derive(Debug, Clone)]
pub struct Compacting<'a> {
    /// What they are a part of; each part has a summary and a watermark of its own.
    pub part: &'a str,
    /// The messages, from the first one on. The originals stay.
    pub history: &'a [Message],
    /// What was summarised before.
    pub done: &'a Compaction,
    /// When, and how much.
    pub policy: CompactionPolicy,
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

/// What asks a model for summaries, or makes them by rule. It is a node by itself for a state that
/// [`Compacts`], and can be asked by other nodes.
///
/// # Contract
/// - **nothing is lost**: messages stay where they are; a summary is merged with the one before.
/// - **a failure changes nothing**: neither an error of the model nor an unusable summary does more
///   than leave everything as it is, and say so, unless a rule makes one instead.
/// - **one change**: the summary and the watermark are one update.
#[derive(Clone)]
pub struct Compact {
    model: Option<Arc<dyn ChatModel>>,
    least: Option<f32>,
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
/// What a rule makes of messages of which none matters.
const NOTHING: &str = "…";

impl fmt::Debug for Compact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compact")
            .field("model", &self.model.as_ref().map(ChatModel::name))
            .field("least", &self.least)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

impl Compact {
    /// Asks this model, for at most 4,000 tokens within two minutes each time.
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self::with(Some(Arc::new(Timeout::new(model))), None)
    }

    /// Asks nobody: a summary consists of a line of each message that matters at least so much, by
    /// [`importance`](fugato_memory::importance).
    pub fn by_rule(least: f32) -> Self {
        Self::with(None, Some(least))
    }

    /// Makes a summary by rule where the model makes none, as [`by_rule`](Self::by_rule) does.
    #[must_use]
    pub fn or_by_rule(mut self, least: f32) -> Self {
        self.least = Some(least);
        self
    }

    fn with(model: Option<Arc<dyn ChatModel>>, least: Option<f32>) -> Self {
        let profile = Profile {
            max_tokens: Some(4_000),
            temperature: Some(0.2),
            timeout: Some(Duration::from_secs(120)),
            ..Profile::default()
        };
        Self {
            model,
            least,
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
        let mut made = None;
        if let Some(model) = &self.model {
            let summary = self.summary(&**model, &request, cx.now()).await;
            made = kept(summary, &mut statistics);
        }
        if let (None, Some(least)) = (&made, self.least) {
            statistics.by_rule = true;
            made = kept(extracted(&request, least, cx.now()), &mut statistics);
        }
        if let Some((_, summary)) = &made {
            statistics.tokens_after = self.count.text(summary);
        } else {
            let (task, part, error) = (cx.task(), part.part, &statistics.failure);
            tracing::warn!(task, part, error, "{}", log_key::NOTHING_WAS_COMPACTED);
        }
        tell(cx, "context_compact_done", part.over);
        let update = made.map(|(update, _)| update);
        Some(Compacted { update, statistics })
    }

    async fn summary(
        &self,
        model: &dyn ChatModel,
        due: &SummaryRequest,
        now: Millis,
    ) -> Result<Made, BoxError> {
        let mut messages = due.prompt();
        let mut tried = 1;
        loop {
            let request = ChatRequest::new(messages.clone()).metadata("stage", "compact");
            let answer = model.complete(self.profile.apply(request)).await?;
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

/// A change, and the summary that it keeps.
type Made = (CompactionUpdate, String);

fn extracted(due: &SummaryRequest, least: f32, now: Millis) -> Result<Made, SummaryError> {
    let mut summary = due.extract(least);
    if summary.is_empty() {
        NOTHING.clone_into(&mut summary);
    }
    Ok((due.check(&summary, now)?, summary))
}

/// What was made; else why not is in the statistics.
fn kept<E: fmt::Display>(
    made: Result<Made, E>,
    statistics: &mut CompactionStatistics,
) -> Option<Made> {
    made.map_err(|error| statistics.failure = Some(error.to_string()))
        .ok()
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
            let name = part.part;
            if let Some(compacted) = self.part(&cx, part).await {
                let update = compacted.update;
                updates.extend(update.map(|update| S::compacted(name, update)));
                notes.push(compacted.statistics.to_event());
            }
        }
        Ok(notes
            .into_iter()
            .fold(Outcome::done(updates), Outcome::note))
    }
}
