//! Asking the model: what streams is shown as it comes, and a failure falls back by rule.
use std::{sync::Arc, time::Instant};

use fugato::{
    agent::{Shown, Speech},
    graph::Context,
    llm::{
        ChatDelta, ChatModel, ChatRequest, ModelError, Profile, Tag, TagEnd, TagFound, TagPiece,
        TaggedDelta, Thinking, split_tag,
    },
    state::Message,
    stream::EventKind,
};
use futures::StreamExt as _;

use crate::{agent::Agent, route::Routes};

pub use fugato::agent::{OnFailure, show};

/// Who decides, and in which manner.
#[derive(Clone, Default)]
pub struct Mind {
    /// The model; without one every decision is made by rule.
    pub model: Option<Arc<dyn ChatModel>>,
    /// What happens when the model cannot be used.
    pub on_failure: OnFailure,
    /// The routes that the model chooses among.
    pub routes: Routes,
    /// How each stage asks.
    pub stages: Stages,
}

impl std::fmt::Debug for Mind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mind")
            .field(
                "model",
                &self.model.as_ref().map(|model| model.name().to_owned()),
            )
            .field("on_failure", &self.on_failure)
            .finish_non_exhaustive()
    }
}

/// How each stage asks the model.
#[derive(Debug, Clone, Copy)]
pub struct Stages {
    /// Classifying a request.
    pub chat: Profile,
    /// Answering a question that takes thought.
    pub deep_answer: Profile,
    /// Planning, quickly.
    pub plan: Profile,
    /// Planning once more, when the request is complex; none to plan in one call always.
    pub deep_plan: Option<Profile>,
    /// Deciding what to do next.
    pub execute: Profile,
    /// Summarising what was said and done before.
    pub compact: Profile,
    /// Summing up.
    pub deliver: Profile,
}

impl Default for Stages {
    fn default() -> Self {
        let stage = |temperature, max_tokens, thinking| Profile {
            temperature: Some(temperature),
            max_tokens: Some(max_tokens),
            thinking: Some(thinking),
            ..Profile::default()
        };
        Self {
            chat: stage(0.7, 800, Thinking::Off),
            deep_answer: stage(0.5, 2000, Thinking::On),
            plan: stage(0.2, 1600, Thinking::Off),
            deep_plan: Some(stage(0.2, 3200, Thinking::On)),
            execute: stage(0.3, 1200, Thinking::On),
            compact: stage(0.2, 4000, Thinking::Off),
            deliver: stage(0.5, 800, Thinking::Off),
        }
    }
}

/// What a model said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spoken {
    /// The decision, as text to be read.
    pub decision: String,
    /// The text behind it, which was shown as it came.
    pub after: String,
    /// The text before it.
    pub before: String,
    /// The tag, if it was there.
    pub tag: Option<TagFound>,
    /// What the model thought, where its server tells.
    pub reasoning: String,
    /// How long it took, in whole seconds.
    pub seconds: u64,
}

impl Spoken {
    fn found(&mut self, tag: TagFound) {
        self.decision.clone_from(&tag.body);
        self.tag = Some(tag);
    }

    /// What was thought, to be kept: the page shows it again when the conversation is opened.
    pub fn thought(&self) -> Option<EventKind> {
        let text = self.reasoning.trim();
        (!text.is_empty()).then(|| EventKind::Card {
            card: "thinking_summary".into(),
            data: serde_json::json!({ "text": text, "seconds": self.seconds.max(1) }),
        })
    }
}

/// What was thought before an answer, if there is one.
pub fn thought(answer: Option<&Result<Spoken, ModelError>>) -> Option<EventKind> {
    answer?.as_ref().ok()?.thought()
}

/// Asks, and shows the reasoning and the text behind the decision as they come.
pub async fn ask(
    cx: &Context<Agent>,
    model: &dyn ChatModel,
    request: ChatRequest,
    tag: Tag,
) -> Result<Spoken, ModelError> {
    let began = Instant::now();
    let (task, step) = (cx.task(), request.messages.len());
    let mut shown = Speech::new(cx);
    let mut deltas = split_tag(model.stream(request).await?, tag);
    let mut spoken = Spoken::default();
    while let Some(delta) = deltas.next().await {
        match delta? {
            TaggedDelta::Piece(TagPiece::Found(found)) => spoken.found(found),
            TaggedDelta::Piece(TagPiece::Text(text)) => {
                shown.text(&text);
                spoken.after.push_str(&text);
            }
            TaggedDelta::Other(ChatDelta::Reasoning(text)) => {
                shown.reasoning(&text);
                spoken.reasoning.push_str(&text);
            }
            TaggedDelta::End(TagEnd::Tagged { before }) => spoken.before = before,
            TaggedDelta::End(TagEnd::Unclosed { found, before }) => {
                spoken.found(found);
                spoken.before = before;
            }
            TaggedDelta::End(TagEnd::Plain { text }) => spoken.decision = text,
            _ => {}
        }
    }
    drop(shown);
    spoken.seconds = began.elapsed().as_secs();
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(
        task,
        messages = step,
        took_ms = took,
        raw = spoken.decision,
        "{}",
        crate::log_key::MODEL_ANSWERED
    );
    Ok(spoken)
}

/// Asks for text alone, and shows it as it comes.
pub async fn tell(
    cx: &Context<Agent>,
    model: &dyn ChatModel,
    request: ChatRequest,
) -> Result<String, ModelError> {
    let told = fugato::agent::ask(cx, model, request, Shown::All).await?;
    Ok(told.message.content)
}

/// Says what the agent is at: shown at once, and forgotten.
pub fn status(cx: &Context<Agent>, code: &str, summary: impl Into<String>) {
    cx.emit(came_of_it(code, summary));
}

/// Says what came of something: as a note it is kept, and shown again.
pub fn came_of_it(code: &str, summary: impl Into<String>) -> EventKind {
    EventKind::Status {
        code: code.into(),
        summary: summary.into(),
    }
}

/// A tag that only this request can bear: what somebody smuggled into the conversation does not.
pub fn decision_tag(cx: &Context<Agent>) -> Tag {
    Tag::around("decision", nonce(cx))
}

/// The same for a route, which says everything in its attributes.
pub fn route_tag(cx: &Context<Agent>) -> Tag {
    Tag::alone("route", nonce(cx))
}

fn nonce(cx: &Context<Agent>) -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let nonce = RandomState::new().hash_one((cx.task(), cx.attempt()));
    format!("{nonce:016x}")
}

/// A request that asks for a tagged decision of these messages, in the manner of a stage.
pub fn request(
    agent: &Agent,
    profile: &Profile,
    messages: impl IntoIterator<Item = Message>,
) -> ChatRequest {
    let mut request = profile.apply(ChatRequest::new(messages));
    if let Some(thinking) = agent.run.thinking {
        request.thinking = if thinking {
            Thinking::On
        } else {
            Thinking::Off
        };
    }
    request
}
