//! Compaction of prompts: a summary takes the place of older messages.
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

pub use layers::{CompactLayers, LayeredMemory};
pub use statistics::{CompactionStatistics, compactions};

/// Messages of which the older ones may be summarised.
#[derive(Debug, Clone)]
pub struct CompactionInput<'a> {
    /// The name of the part that the messages belong to; each part has its own summary and
    /// watermark.
    pub part: &'a str,
    /// The messages from the first one on. The originals are kept.
    pub history: &'a [Message],
    /// The summary so far, with its watermark.
    pub done: &'a Compaction,
    /// The policy that says when compaction is due, and of how many messages.
    pub policy: CompactionPolicy,
    /// The status text when compaction begins.
    pub beginning: &'a str,
    /// The status text when there is a summary.
    pub over: &'a str,
    /// The status text when there is none, and all stays as it was.
    pub failed: &'a str,
}

/// A state that has messages to be compacted, in a conversation or elsewhere.
pub trait Compactable: State {
    /// Returns the parts that may be compacted, in order.
    fn compacting(&self) -> Vec<CompactionInput<'_>>;

    /// Returns the update that stores the compaction of a part, for
    /// [`Compaction::apply`](fugato_memory::Compaction::apply).
    fn compacted(part: &str, update: CompactionUpdate) -> Self::Update;
}

/// A summariser of older messages, by a model or by rule. It is a node for a state that
/// [`Compactable`], and other nodes can call it for one part.
///
/// # Contract
/// - **nothing is lost**: messages stay where they are; a summary is merged with the one before.
/// - **a failure changes nothing**: an error of the model or an unusable summary leaves the state
///   as it is and is recorded, unless a rule makes a summary instead.
/// - **one change**: the summary and the watermark are one update.
#[derive(derive_more::Debug, Clone)]
#[debug(
    "Compact {{ model: {:?}, least: {least:?}, profile: {profile:?}, .. }}",
    self.model.as_ref().map(ChatModel::name)
)]
pub struct Compact {
    model: Option<Arc<dyn ChatModel>>,
    least: Option<f32>,
    count: Arc<dyn TokenCount>,
    profile: Profile,
    named: Option<String>,
}

/// The number of times that a model is asked for a usable summary.
const TRIES: usize = 2;
/// The summary by rule if no message is important enough.
const NOTHING: &str = "…";

impl Compact {
    /// Asks this model for at most 4,000 tokens, with a timeout of two minutes for each request.
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self::with(Some(Arc::new(Timeout::new(model))), None)
    }

    /// Uses no model: the summary has a line of each message of at least this importance, by
    /// [`importance`](fugato_memory::importance).
    pub fn by_rule(least: f32) -> Self {
        Self::with(None, Some(least))
    }

    fugato_state::setters! {
        /// Makes a summary by rule if the model gives none, as [`by_rule`](Self::by_rule) does.
        pub fn or_by_rule(least: f32) { least = Some(least) }

        /// Sets the profile of the requests.
        pub fn profile(profile: Profile) { profile = profile }

        /// Names the model of the requests, for one that chooses among several.
        pub fn named(model: Option<String>) { named = model }

        /// Sets the token counter.
        pub fn count(count: impl TokenCount + 'static) { count = Arc::new(count) }
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
            named: None,
        }
    }

    /// Compacts one part if that is due, and emits a status before and after; none if it is not
    /// due. Returns the update, none if compaction failed, and the statistics with the failure.
    pub async fn part<S: State>(
        &self,
        cx: &Context<S>,
        part: CompactionInput<'_>,
    ) -> Option<(Option<CompactionUpdate>, CompactionStatistics)> {
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
        let over = if let Some((_, summary)) = &made {
            statistics.tokens_after = self.count.text(summary);
            part.over
        } else {
            let (task, error) = (cx.task(), &statistics.failure);
            let CompactionInput { part, failed, .. } = part;
            tracing::warn!(task, part, error, "compaction failed");
            failed
        };
        over.clone_into(&mut statistics.told);
        tell(cx, "context_compact_done", over);
        Some((made.map(|(update, _)| update), statistics))
    }

    async fn summary(
        &self,
        model: &dyn ChatModel,
        due: &SummaryRequest,
        now: Millis,
    ) -> Result<StoredSummary, BoxError> {
        let mut messages = due.prompt();
        let mut tried = 1;
        loop {
            let mut request = ChatRequest::new(messages.clone()).metadata("stage", "compact");
            request.model.clone_from(&self.named);
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

/// An update, and the summary that it stores.
type StoredSummary = (CompactionUpdate, String);

fn extracted(due: &SummaryRequest, least: f32, now: Millis) -> Result<StoredSummary, SummaryError> {
    let mut summary = due.extract(least);
    if summary.is_empty() {
        NOTHING.clone_into(&mut summary);
    }
    Ok((due.check(&summary, now)?, summary))
}

/// Returns the update and summary; a failure is recorded in the statistics instead.
fn kept<E: fmt::Display>(
    made: Result<StoredSummary, E>,
    statistics: &mut CompactionStatistics,
) -> Option<StoredSummary> {
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
impl<S: Compactable> Node<S> for Compact {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let (mut updates, mut notes) = (vec![], vec![]);
        for part in cx.state().compacting() {
            let name = part.part;
            if let Some((update, statistics)) = self.part(&cx, part).await {
                updates.extend(update.map(|update| S::compacted(name, update)));
                notes.push(statistics.to_event());
            }
        }
        Ok(notes
            .into_iter()
            .fold(Outcome::done(updates), Outcome::note))
    }
}
