//! Asking the model: the stream is shown as it arrives, and a failure falls back to rules.
use std::{sync::Arc, time::Instant};

use fugato::{
    agent::reply::{Speech, ask_unseen},
    graph::{BoxError, Context},
    llm::{
        Attempt, ChatDelta, ChatModel, ChatRequest, ChatResponse, FinishReason, ModelError,
        Profile, Tag, TagEnd, TagFound, TagPiece, TaggedDelta, Thinking, split_tag,
    },
    state::{ConversationUpdate, Message},
    stream::EventKind,
};
use futures::StreamExt as _;

use crate::{
    agent::{AgentState, Phase, Update},
    failure::{self, Replacement},
    prose::{self, Gate},
    report::Receipts,
    route::RouteSet,
};

pub use fugato::agent::{decision::OnFailure, reply::show};

/// The model, its routes, and the profile of each stage; without a model, rules decide.
#[derive(derive_more::Debug, Clone, Default)]
#[debug(
    "LlmConfig {{ model: {:?}, on_failure: {on_failure:?}, .. }}",
    self.model.as_ref().map(|model| model.name().to_owned())
)]
pub struct LlmConfig {
    /// The model; without one every decision is made by rule.
    pub model: Option<Arc<dyn ChatModel>>,
    /// The policy for a model that cannot be used.
    pub on_failure: OnFailure,
    /// The routes that the model chooses among.
    pub routes: RouteSet,
    /// The profile of the model call of each stage.
    pub stages: Stages,
}

/// The profile of the model call of each stage.
#[derive(Debug, Clone, Copy)]
pub struct Stages {
    /// Classifying a request.
    pub chat: Profile,
    /// Answering a question that takes thought.
    pub deep_answer: Profile,
    /// Planning, quickly.
    pub plan: Profile,
    /// The second planning for a complex request; none to plan in one call always.
    pub deep_plan: Option<Profile>,
    /// Deciding what to do next.
    pub execute: Profile,
    /// Summarising the earlier conversation and work.
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

/// An answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaggedAnswer {
    /// The decision, as text to be read.
    pub decision: String,
    /// The text after it as far as it may be shown; it was shown while it streamed.
    pub after: String,
    /// True if some of the text after the decision may not be shown.
    pub held_back: bool,
    /// The text before it.
    pub before: String,
    /// The tag, if it was there.
    pub tag: Option<TagFound>,
    /// The reasoning of the model, if its server sends it.
    pub reasoning: String,
    /// The duration in whole seconds.
    pub seconds: u64,
    /// The attempts to get it, oldest first.
    pub attempts: Vec<Attempt>,
}

impl TaggedAnswer {
    fn found(&mut self, tag: TagFound) {
        self.decision.clone_from(&tag.body);
        self.tag = Some(tag);
    }

    /// Returns the reasoning as a card to store, which the page shows again when the conversation
    /// is opened.
    pub fn thought(&self) -> Option<EventKind> {
        let text = self.reasoning.trim();
        (!text.is_empty()).then(|| EventKind::Card {
            card: "thinking_summary".into(),
            data: serde_json::json!({ "text": text, "seconds": self.seconds.max(1) }),
        })
    }
}

/// Returns the card of the reasoning before an answer, if there is any.
pub fn thought(answer: Option<&Result<TaggedAnswer, ModelError>>) -> Option<EventKind> {
    answer?.as_ref().ok()?.thought()
}

/// Asks the model. The reasoning is shown while it streams. The text after the decision is shown
/// sentence by sentence, once `accepts` takes the decision, and as long as no sentence claims an
/// action without a receipt.
pub async fn ask(
    cx: &Context<AgentState>,
    model: &dyn ChatModel,
    request: ChatRequest,
    tag: Tag,
    accepts: &(dyn Fn(&str) -> bool + Send + Sync),
) -> Result<TaggedAnswer, ModelError> {
    let began = Instant::now();
    let (task, step) = (cx.task(), request.messages.len());
    let receipts = receipts(cx.state());
    let mut listener = Listener {
        shown: Speech::new(cx),
        gate: Gate::new(&receipts),
        spoken: TaggedAnswer::default(),
        is_cut: false,
    };
    let mut deltas = split_tag(model.stream(request).await?, tag);
    while let Some(delta) = deltas.next().await {
        listener.take(delta?, accepts);
    }
    let mut spoken = listener.finish(cx.state());
    if prose::check(&spoken.before, &receipts).is_err() {
        spoken.before.clear();
    }
    if spoken.held_back {
        tracing::warn!(task, "words held back");
    }
    spoken.seconds = began.elapsed().as_secs();
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(
        task,
        messages = step,
        took_ms = took,
        raw = spoken.decision,
        "model answered"
    );
    Ok(spoken)
}

/// An answer while it comes.
struct Listener<'a> {
    shown: Speech<AgentState>,
    gate: Gate<'a>,
    spoken: TaggedAnswer,
    is_cut: bool,
}

impl Listener<'_> {
    fn take(&mut self, delta: TaggedDelta, accepts: &(dyn Fn(&str) -> bool + Send + Sync)) {
        let spoken = &mut self.spoken;
        match delta {
            TaggedDelta::Piece(TagPiece::Found(found)) => {
                self.gate.open(accepts(&found.body));
                spoken.found(found);
            }
            TaggedDelta::Piece(TagPiece::Text(text)) => {
                if let Some(text) = self.gate.push(&text) {
                    self.shown.text(&text);
                }
            }
            TaggedDelta::Other(ChatDelta::Reasoning(text)) => {
                self.shown.reasoning(&text);
                spoken.reasoning.push_str(&text);
            }
            TaggedDelta::Other(ChatDelta::Attempt(attempt)) => spoken.attempts.push(attempt),
            TaggedDelta::Other(ChatDelta::Finish(reason)) => {
                self.is_cut = reason == FinishReason::Length;
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

    fn finish(mut self, agent: &AgentState) -> TaggedAnswer {
        let mark = self.is_cut.then(|| cut_off(agent));
        if let Some(text) = self.gate.finish(mark) {
            self.shown.text(&text);
        }
        self.spoken.held_back = self.gate.has_held_back();
        self.spoken.after = self.gate.into_shown();
        self.spoken
    }
}

/// Returns the actions that the text of a model may claim: in plain talk those of this
/// conversation, and in work those of this request.
pub(crate) fn receipts(agent: &AgentState) -> Receipts {
    match agent.phase {
        Phase::Chatting | Phase::Planning => Receipts::of_conversation(agent),
        _ => Receipts::of_request(agent),
    }
}

/// Returns the mark for a text whose end is missing.
fn cut_off(agent: &AgentState) -> &'static str {
    agent.lang.pick(" [cut off]", "［未完］")
}

/// Returns the text, with a mark if its end is missing.
pub(crate) fn marked(response: &ChatResponse, agent: &AgentState) -> String {
    let mark = if is_cut(response) { cut_off(agent) } else { "" };
    format!("{}{mark}", response.message.content.trim())
}

/// Returns true if an answer ended at the limit of tokens.
pub(crate) fn is_cut(response: &ChatResponse) -> bool {
    response.finish == Some(FinishReason::Length)
}

/// Asks for text alone. None of it is shown before all of it is checked.
pub async fn tell(
    cx: &Context<AgentState>,
    model: &dyn ChatModel,
    request: ChatRequest,
) -> Result<ChatResponse, ModelError> {
    ask_unseen(cx, model, request).await
}

impl LlmConfig {
    /// Continues without the model, unless the policy is to fail. The person sees the reason at
    /// once.
    pub(crate) fn fall_back(
        &self,
        cx: &Context<AgentState>,
        policy: OnFailure,
        why: impl Into<BoxError>,
        instead: Replacement<'_>,
    ) -> Result<Vec<Update>, BoxError> {
        let why = why.into();
        if policy == OnFailure::Error {
            return Err(why);
        }
        tracing::warn!(task = cx.task(), why, "decided by rule");
        let name = self.model.as_ref().map_or("", |model| model.name());
        let sentence = failure::sentence(name, &*why, instead, cx.state().lang);
        Ok(vec![told(cx, &sentence), Update::FellBack(sentence)])
    }

    /// Returns the model until it fails to answer once; after that, rules decide to the end of the
    /// run.
    pub(crate) fn answering(&self, agent: &AgentState) -> Option<&dyn ChatModel> {
        let model = self.model.as_deref()?;
        agent.run.fell_back.is_none().then_some(model)
    }
}

/// Shows the person that a model other than the named one answered, and why. Returns the updates
/// that record it.
pub(crate) fn stand_in(cx: &Context<AgentState>, attempts: &[Attempt]) -> Vec<Update> {
    let Some(answered) = attempts.last().filter(|last| last.failure.is_none()) else {
        return vec![];
    };
    let mut others = attempts
        .iter()
        .filter(|attempt| attempt.model != answered.model);
    let failed = others.find_map(|other| Some((other, other.failure.as_ref()?)));
    let Some((named, failure)) = failed else {
        return vec![];
    };
    let why = ModelError::new(failure.kind, failure.message.clone());
    let instead = Replacement::Model(&answered.model);
    let sentence = failure::sentence(&named.model, &why, instead, cx.state().lang);
    if cx.state().run.stood_in.as_ref() == Some(&sentence) {
        return vec![];
    }
    vec![told(cx, &sentence), Update::StoodIn(sentence)]
}

/// Shows the person a sentence at once. Returns the update that records it.
fn told(cx: &Context<AgentState>, sentence: &str) -> Update {
    show(cx, sentence);
    Update::Talked(ConversationUpdate::Said(Message::assistant(sentence)))
}

/// Shows the current activity of the agent, at once and without storing it.
pub fn status(cx: &Context<AgentState>, code: &str, summary: impl Into<String>) {
    cx.emit(status_note(code, summary));
}

/// Returns the event that reports a result; as a note it is stored and shown again.
pub fn status_note(code: &str, summary: impl Into<String>) -> EventKind {
    EventKind::Status {
        code: code.into(),
        summary: summary.into(),
    }
}

/// Returns a tag that is unique to this request, so that text smuggled into the conversation cannot
/// carry it.
pub fn decision_tag(cx: &Context<AgentState>) -> Tag {
    Tag::around("decision", nonce(cx))
}

/// Returns the same for a route, which has all its data in its attributes.
pub fn route_tag(cx: &Context<AgentState>) -> Tag {
    Tag::alone("route", nonce(cx))
}

fn nonce(cx: &Context<AgentState>) -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let nonce = RandomState::new().hash_one((cx.task(), cx.attempt()));
    format!("{nonce:016x}")
}

/// Builds the request for a tagged decision on these messages, with the profile of a stage.
pub fn request(
    agent: &AgentState,
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
