use std::{future::ready, sync::Arc};

use fugato_graph::{Context, IntoNode as _, Node};
use fugato_llm::{CallOptions, ChatModel, DecisionStyle, RejectedAnswer, call};
use fugato_state::Role;

use super::{DecisionSource, DecisionState, DecisionUpdate, Judge, Judgement};
use crate::trace::recorded;

/// A judge with an optional model. Cheap to clone.
#[derive_where::derive_where(Clone)]
#[derive(derive_more::Debug)]
#[debug("Inquiry {{ model: {:?}, .. }}", self.model.as_ref().map(ChatModel::name))]
pub struct Inquiry<J> {
    judge: Arc<J>,
    model: Option<Arc<dyn ChatModel>>,
    options: CallOptions,
}

impl<J: Judge> Inquiry<J> {
    /// Creates an inquiry of this model; without one, rules decide.
    pub fn new(judge: J, model: Option<Arc<dyn ChatModel>>) -> Self {
        Self {
            judge: Arc::new(judge),
            model,
            options: CallOptions::default(),
        }
    }

    fugato_state::setters! {
        /// Sets the limits of attempts and time.
        pub fn options(options: CallOptions) { options = options }
    }

    /// Returns the judge.
    pub fn judge(&self) -> &J {
        &self.judge
    }

    /// Asks the model. Returns its verdict, if there is one, and the record of the decision.
    pub async fn ask(&self, situation: &J::Situation) -> (Option<J::Verdict>, Judgement) {
        let Some(model) = &self.model else {
            return (None, Judgement::instead(vec![], "there is no model"));
        };
        let (request, function) = self.judge.question(situation);
        let stage = request.metadata.get("stage").cloned().unwrap_or_default();
        let read = |arguments: &serde_json::Value| {
            let read = self.judge.read(situation, arguments);
            read.map_err(|wrong| {
                RejectedAnswer::sense(arguments.to_string(), wrong.path, wrong.why)
            })
        };
        match call(&**model, request, function, self.options, read).await {
            Ok(called) => {
                let source = match called.style {
                    DecisionStyle::Native => DecisionSource::LlmFunctionCall,
                    _ => DecisionSource::LlmTextCall,
                };
                let how = Judgement::by_model(source, called.traces);
                (Some(called.value), how)
            }
            Err(none) => {
                let reason = none.why().to_owned();
                tracing::warn!(stage, reason, "decided by rule");
                (None, Judgement::instead(none.traces, reason))
            }
        }
    }

    /// Returns the verdict of the model, or else that of the rules, with the record of the
    /// decision.
    pub async fn judged(&self, situation: &J::Situation) -> (J::Verdict, Judgement) {
        let (verdict, how) = self.ask(situation).await;
        let verdict = verdict.unwrap_or_else(|| self.judge.rules(situation));
        (verdict, how)
    }

    /// Returns a node that asks the model. A missing verdict is not an error: the reason is in
    /// [`Judgement::fallback_reason`]. The calls of the model are [recorded].
    pub fn by_model(&self) -> impl Node<DecisionState<J::Situation, J::Verdict>> + use<J> {
        let inquiry = self.clone();
        let ask = move |cx: Context<DecisionState<J::Situation, J::Verdict>>| {
            let inquiry = inquiry.clone();
            async move {
                let (value, how) = inquiry.ask(&cx.state().situation).await;
                let (request, _) = inquiry.judge.question(&cx.state().situation);
                let mut asked = request.messages.iter().rev();
                let asked = asked.find(|message| message.role == Role::User);
                how.announce(&cx, asked.map_or("", |message| &message.content));
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
