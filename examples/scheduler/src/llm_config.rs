//! Asking the model: the stream is shown as it arrives, and a failure falls back to rules.
use std::{collections::BTreeMap, sync::Arc};

use fugato::{
    agent::reply::ask_tagged,
    graph::{BoxError, Context},
    llm::{Attempt, ChatModel, ChatRequest, ModelError, Profile, Tag, TaggedAnswer, Thinking},
    state::{ConversationUpdate, Message},
    stream::EventKind,
};
use serde::{Deserialize, Serialize};

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
    /// The models that a request may name; empty if the model has no others beside it.
    pub models: Vec<String>,
    /// The models of the stages, unless a request chooses others.
    pub choice: ModelChoice,
}

/// A model call of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStage {
    /// Classifying a request.
    Chat,
    /// Answering a question that takes thought.
    DeepAnswer,
    /// Planning, quickly.
    Plan,
    /// The second planning for a complex request.
    DeepPlan,
    /// Deciding what to do next.
    Execute,
    /// Summarising the earlier conversation and work.
    Compact,
    /// Summing up.
    Deliver,
    /// Naming the conversation.
    Title,
}

impl ModelStage {
    /// Returns its name, as settings and the metadata of a model call have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::DeepAnswer => "deep_answer",
            Self::Plan => "plan",
            Self::DeepPlan => "deep_plan",
            Self::Execute => "execute",
            Self::Compact => "compact",
            Self::Deliver => "deliver",
            Self::Title => "title",
        }
    }
}

/// The models that answer, by the names that the model server of the program gives them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelChoice {
    /// The model of all stages that have none of their own; none for the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<String>,
    /// The models of single stages.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stages: BTreeMap<ModelStage, String>,
}

impl ModelChoice {
    /// Returns true if nothing is chosen.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the name of the model of a stage; none for the default one.
    pub fn of(&self, stage: ModelStage) -> Option<&String> {
        self.stages.get(&stage).or(self.all.as_ref())
    }

    /// Checks the names against those of the models that there are.
    pub fn check(&self, known: &[String]) -> Result<(), UnknownModelError> {
        let named = self.all.iter().chain(self.stages.values());
        let mut unknown = named.filter(|name| !known.contains(name));
        match unknown.next() {
            Some(name) => Err(UnknownModelError {
                name: name.clone(),
                allowed: known.join(", "),
            }),
            None => Ok(()),
        }
    }
}

/// A model that the program does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no model {name:?}; allowed are {allowed}")]
pub struct UnknownModelError {
    name: String,
    allowed: String,
}

/// The profile of the model call of each stage. Without one of [`ModelStage::DeepPlan`], a plan is made in
/// one call always.
#[derive(Debug, Clone)]
pub struct Stages(BTreeMap<ModelStage, Profile>);

impl Stages {
    /// Returns the profile of a stage; that of planning where there is no second plan.
    pub fn of(&self, stage: ModelStage) -> Profile {
        let profile = self.0.get(&stage).or(self.0.get(&ModelStage::Plan));
        profile.copied().unwrap_or_default()
    }

    /// Returns the profile of a stage to change it.
    pub fn of_mut(&mut self, stage: ModelStage) -> &mut Profile {
        let usual = || Self::default().of(stage);
        self.0.entry(stage).or_insert_with(usual)
    }

    /// Returns true if a complex request is planned a second time.
    pub fn has_deep_plan(&self) -> bool {
        self.0.contains_key(&ModelStage::DeepPlan)
    }

    /// Lets every plan be made in one call.
    pub fn drop_deep_plan(&mut self) {
        self.0.remove(&ModelStage::DeepPlan);
    }
}

impl Default for Stages {
    fn default() -> Self {
        let stages = [
            (ModelStage::Chat, 0.7, 800, Thinking::Off),
            (ModelStage::DeepAnswer, 0.5, 2000, Thinking::On),
            (ModelStage::Plan, 0.2, 1600, Thinking::Off),
            (ModelStage::DeepPlan, 0.2, 3200, Thinking::On),
            (ModelStage::Execute, 0.3, 1200, Thinking::On),
            (ModelStage::Compact, 0.2, 4000, Thinking::Off),
            (ModelStage::Deliver, 0.5, 800, Thinking::Off),
            (ModelStage::Title, 0.2, 60, Thinking::Off),
        ];
        let stages = stages.map(|(stage, temperature, max_tokens, thinking)| {
            let profile = Profile {
                temperature: Some(temperature),
                max_tokens: Some(max_tokens),
                thinking: Some(thinking),
                ..Profile::default()
            };
            (stage, profile)
        });
        Self(stages.into())
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
        let sentence = failure::sentence(name, &*why, instead);
        Ok(vec![told(cx, &sentence), Update::FellBack(sentence)])
    }

    /// Builds the request of a stage on these messages, with its profile, for the model that the
    /// request of the person, or else the program, chooses for it.
    pub(crate) fn request(
        &self,
        agent: &AgentState,
        stage: ModelStage,
        messages: impl IntoIterator<Item = Message>,
    ) -> ChatRequest {
        let request = ChatRequest::new(messages).metadata("stage", stage.name());
        let mut request = self.stages.of(stage).apply(request);
        if let Some(thinking) = agent.run.thinking {
            request.thinking = if thinking {
                Thinking::On
            } else {
                Thinking::Off
            };
        }
        request.model = self.chosen(agent, stage).cloned();
        request
    }

    /// Returns the name of the model of a stage; none for the default one.
    pub(crate) fn chosen<'a>(
        &'a self,
        agent: &'a AgentState,
        stage: ModelStage,
    ) -> Option<&'a String> {
        let chosen = agent.run.models.of(stage).or(self.choice.of(stage));
        chosen.filter(|name| self.models.contains(name))
    }

    /// Returns the model until it fails to answer once; after that, rules decide to the end of the
    /// run.
    pub(crate) fn answering(&self, agent: &AgentState) -> Option<&dyn ChatModel> {
        let model = self.model.as_deref()?;
        // Calls that rules have planned are theirs to the end.
        let by_rules = agent.run.fell_back.is_some() || agent.run.planned.is_some();
        (!by_rules).then_some(model)
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
    let sentence = failure::sentence(&named.model, &why, instead);
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
