//! Asking the model: what streams is shown as it comes, and a failure falls back by rule.
use std::{sync::Arc, time::Instant};

use fugato::{
    agent::{Shown, Speech},
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
    agent::{Agent, Phase, Update},
    failure::{self, Instead},
    log_key,
    prose::{self, Gate},
    report::Receipts,
    route::Routes,
};

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
    /// The text behind it as far as it may be shown, which was shown as it came.
    pub after: String,
    /// Whether some of the text behind it may not be shown.
    pub held_back: bool,
    /// The text before it.
    pub before: String,
    /// The tag, if it was there.
    pub tag: Option<TagFound>,
    /// What the model thought, where its server tells.
    pub reasoning: String,
    /// How long it took, in whole seconds.
    pub seconds: u64,
    /// The attempts to get it, oldest first.
    pub attempts: Vec<Attempt>,
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

/// Asks, and shows the reasoning as it comes, and the text behind the decision sentence by sentence:
/// once the decision is one that `accepts` takes, and as far as it claims nothing that was not done.
pub async fn ask(
    cx: &Context<Agent>,
    model: &dyn ChatModel,
    request: ChatRequest,
    tag: Tag,
    accepts: &(dyn Fn(&str) -> bool + Send + Sync),
) -> Result<Spoken, ModelError> {
    let began = Instant::now();
    let (task, step) = (cx.task(), request.messages.len());
    let receipts = receipts(cx.state());
    let mut listener = Listener {
        shown: Speech::new(cx),
        gate: Gate::new(&receipts),
        spoken: Spoken::default(),
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
        tracing::warn!(task, "{}", log_key::WORDS_HELD_BACK);
    }
    spoken.seconds = began.elapsed().as_secs();
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(
        task,
        messages = step,
        took_ms = took,
        raw = spoken.decision,
        "{}",
        log_key::MODEL_ANSWERED
    );
    Ok(spoken)
}

/// An answer while it comes.
struct Listener<'a> {
    shown: Speech<Agent>,
    gate: Gate<'a>,
    spoken: Spoken,
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

    fn finish(mut self, agent: &Agent) -> Spoken {
        let mark = self.is_cut.then(|| cut_off(agent));
        if let Some(text) = self.gate.finish(mark) {
            self.shown.text(&text);
        }
        self.spoken.held_back = self.gate.has_held_back();
        self.spoken.after = self.gate.into_shown();
        self.spoken
    }
}

/// What the words of a model may say was done: in plain talk what this conversation did, and in
/// work what this request did.
pub(crate) fn receipts(agent: &Agent) -> Receipts {
    match agent.phase {
        Phase::Chatting | Phase::Planning => Receipts::of_conversation(agent),
        _ => Receipts::of_request(agent),
    }
}

/// What marks words whose end is missing.
fn cut_off(agent: &Agent) -> &'static str {
    agent.lang.pick(" [cut off]", "［未完］")
}

/// Words with the mark of those whose end is missing, if it is.
pub(crate) fn marked(response: &ChatResponse, agent: &Agent) -> String {
    let mark = if is_cut(response) { cut_off(agent) } else { "" };
    format!("{}{mark}", response.message.content.trim())
}

/// Whether an answer ended at the limit of tokens.
pub(crate) fn is_cut(response: &ChatResponse) -> bool {
    response.finish == Some(FinishReason::Length)
}

/// Asks for text alone. None of it is shown: all of it is checked before.
pub async fn tell(
    cx: &Context<Agent>,
    model: &dyn ChatModel,
    request: ChatRequest,
) -> Result<ChatResponse, ModelError> {
    fugato::agent::ask(cx, model, request, Shown::Reasoning).await
}

impl Mind {
    /// Goes on without the model, unless the policy is to fail. The person is told at once why.
    pub(crate) fn fall_back(
        &self,
        cx: &Context<Agent>,
        policy: OnFailure,
        why: impl Into<BoxError>,
        instead: Instead<'_>,
    ) -> Result<Vec<Update>, BoxError> {
        let why = why.into();
        if policy == OnFailure::Error {
            return Err(why);
        }
        tracing::warn!(task = cx.task(), why, "{}", log_key::DECIDED_BY_RULE);
        let name = self.model.as_ref().map_or("", |model| model.name());
        let sentence = failure::sentence(name, &*why, instead, cx.state().lang);
        Ok(vec![told(cx, &sentence), Update::FellBack(sentence)])
    }

    /// The model, as long as it answers: when it did not, rules go on to the end of the run.
    pub(crate) fn answering(&self, agent: &Agent) -> Option<&dyn ChatModel> {
        let model = self.model.as_deref()?;
        agent.run.fell_back.is_none().then_some(model)
    }
}

/// Tells the person if another model answered than the one that was named, and why.
pub(crate) fn stand_in(cx: &Context<Agent>, attempts: &[Attempt]) -> Vec<Update> {
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
    let instead = Instead::Model(&answered.model);
    let sentence = failure::sentence(&named.model, &why, instead, cx.state().lang);
    if cx.state().run.stood_in.as_ref() == Some(&sentence) {
        return vec![];
    }
    vec![told(cx, &sentence), Update::StoodIn(sentence)]
}

/// Tells the person something at once. Returns what records that it was told.
fn told(cx: &Context<Agent>, sentence: &str) -> Update {
    show(cx, sentence);
    Update::Talked(ConversationUpdate::Said(Message::assistant(sentence)))
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
