use std::{future::ready, sync::Arc};

use fugato_graph::{Context, IntoNode as _, Node};
use fugato_llm::{Answer, Ask, AskError, ChatModel, Profile};
use serde_json::Value;

use super::{DecisionState, DecisionUpdate, Judge, announce};
use crate::{reply::last_said, trace::recorded};

/// A judge with an optional model. Cheap to clone.
#[derive_where::derive_where(Clone)]
#[derive(derive_more::Debug)]
#[debug("Inquiry {{ model: {:?}, .. }}", self.model.as_ref().map(ChatModel::name))]
pub struct Inquiry<J> {
    judge: Arc<J>,
    model: Option<Arc<dyn ChatModel>>,
    profile: Profile,
}

impl<J: Judge> Inquiry<J> {
    /// Creates an inquiry of this model; without one, rules decide.
    pub fn new(judge: J, model: Option<Arc<dyn ChatModel>>) -> Self {
        Self {
            judge: Arc::new(judge),
            model,
            profile: Profile::default(),
        }
    }

    fugato_state::setters! {
        /// Sets the limits of attempts and time; see [`Ask::profile`].
        pub fn profile(profile: Profile) { profile = profile }
    }

    /// Returns the judge.
    pub fn judge(&self) -> &J {
        &self.judge
    }

    /// Asks the model, and returns its verdict.
    pub async fn ask(&self, situation: &J::Situation) -> Result<Answer<J::Verdict>, AskError> {
        let Some(model) = &self.model else {
            return Err(AskError::default());
        };
        let (request, function) = self.judge.question(situation);
        let stage = request.metadata.get("stage").cloned().unwrap_or_default();
        let read = |arguments: &Value| self.judge.read(situation, arguments);
        let ask = Ask::function(stage.as_str(), function, read).profile(self.profile);
        let answer = ask.run(&**model, request).await;
        if let Err(why) = &answer {
            tracing::warn!(stage, reason = why.reason(), "decided by rule");
        }
        answer
    }

    /// Returns the verdict of the model, or else that of the rules.
    pub async fn judged(&self, situation: &J::Situation) -> Answer<J::Verdict> {
        let rules = |why| Answer::by_rule(self.judge.rules(situation), why);
        self.ask(situation).await.unwrap_or_else(rules)
    }

    /// Returns a node that asks the model. A missing verdict is not an error: the record has the
    /// reason. The calls of the model are [recorded].
    pub fn by_model(&self) -> impl Node<DecisionState<J::Situation, J::Verdict>> + use<J> {
        let inquiry = self.clone();
        let ask = move |cx: Context<DecisionState<J::Situation, J::Verdict>>| {
            let inquiry = inquiry.clone();
            async move {
                let situation = &cx.state().situation;
                let (value, how) = match inquiry.ask(situation).await {
                    Ok(answer) => (Some(answer.value), answer.record),
                    Err(why) => (None, why.into()),
                };
                let (request, _) = inquiry.judge.question(situation);
                announce(&cx, &how, last_said(&request));
                let how = Some(how);
                DecisionUpdate { value, how }
            }
        };
        recorded(ask.into_node())
    }

    /// Returns a node that lets the rules decide.
    pub fn by_rules(&self) -> impl Node<DecisionState<J::Situation, J::Verdict>> + use<J> {
        let judge = self.judge.clone();
        let rules = move |cx: Context<DecisionState<J::Situation, J::Verdict>>| {
            ready(DecisionUpdate::from(judge.rules(&cx.state().situation)))
        };
        rules.into_node()
    }
}
