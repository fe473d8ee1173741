//! Asking the model: the stream is shown as it arrives, and a failure falls back to rules.
use std::sync::Arc;

use fugato::{
    agent::reply::ask_tagged,
    graph::{BoxError, Context},
    llm::{Attempt, ChatModel, ChatRequest, ModelError, Profile, Tag, TaggedAnswer, Thinking},
    state::{ConversationUpdate, Message},
    stream::EventKind,
};

use crate::{
    agent::{AgentState, Phase, Update},
    failure::{self, Replacement},
    prose,
    report::Receipts,
    route::RouteSet,
};

pub use fugato::agent::{
    decision::OnFailure,
    reply::{ask_unseen, show},
};

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

/// Returns the reasoning before an answer as a card to store, which the page shows again when the
/// conversation is opened; none if there is none.
pub fn thought(answer: &TaggedAnswer) -> Option<EventKind> {
    let text = answer.reasoning.trim();
    (!text.is_empty()).then(|| EventKind::Card {
        card: "thinking_summary".into(),
        data: serde_json::json!({ "text": text, "seconds": answer.seconds.max(1) }),
    })
}

/// Asks the model for a decision in a tag. The text after it is shown once `accepts` takes the
/// decision, and as long as no sentence claims an action without a receipt.
pub async fn ask(
    cx: &Context<AgentState>,
    model: &dyn ChatModel,
    request: ChatRequest,
    tag: Tag,
    accepts: &(dyn Fn(&str) -> bool + Send + Sync),
) -> Result<TaggedAnswer, ModelError> {
    let receipts = receipts(cx.state());
    let allows = |text: &str| prose::check(text, &receipts).is_ok();
    ask_tagged(cx, model, request, tag, accepts, &allows).await
}

/// Returns the actions that the text of a model may claim: in plain talk those of this
/// conversation, and in work those of this request.
pub(crate) fn receipts(agent: &AgentState) -> Receipts {
    match agent.phase {
        Phase::Chatting | Phase::Planning => Receipts::of_conversation(agent),
        _ => Receipts::of_request(agent),
    }
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
