use async_trait::async_trait;
use fugato::{
    agent::Settled,
    graph::{BoxError, Context, Node, Outcome},
    llm::ModelError,
    tool::Detail,
};

use super::{hear, judge::judge};
use crate::{
    agent::{Agent, Update},
    contract,
    deps::Deps,
    mind::{Spoken, ask, decision_tag, request, thought},
    prompts, rules,
};

/// Decides what to do next: exactly one model call, or a rule.
#[derive(Debug)]
pub struct Decide(pub Deps);

#[async_trait]
impl Node<Agent> for Decide {
    async fn run(&self, cx: Context<Agent>) -> Result<Outcome<Update>, BoxError> {
        let Some(answer) = self.think(&cx).await else {
            return self.by_rule(&cx);
        };
        let thought = thought(Some(&answer));
        let contract = contract::decision(cx.state().has_step());
        let judged = |spoken: Spoken| {
            let (decision, spoken) = hear(spoken, &contract)?;
            let (task, raw) = (cx.task(), &spoken.decision);
            tracing::debug!(task, raw, ?decision, "{}", crate::log_key::EXECUTE_LLM);
            judge(&self.0, &cx, &decision, &spoken)
        };
        match self.0.corrections.settle(&cx, answer, judged) {
            Settled::Decided(updates) => {
                let done = Outcome::done(updates);
                Ok(thought.into_iter().fold(done, Outcome::note))
            }
            Settled::Again(outcome) => Ok(outcome),
            Settled::Undecided(why) => {
                self.0.mind.on_failure.fall_back(&cx, why)?;
                self.by_rule(&cx)
            }
        }
    }
}

impl Decide {
    async fn think(&self, cx: &Context<Agent>) -> Option<Result<Spoken, ModelError>> {
        let model = self.0.mind.model.as_ref()?;
        let agent = cx.state();
        let catalogue = self
            .0
            .registry
            .catalogue(&agent.active_tools(), Detail::LITE);
        let tag = decision_tag(cx);
        let messages = prompts::execute(agent, &tag, &catalogue);
        let mut request = request(agent, &self.0.mind.stages.execute, messages);
        request = request.metadata("stage", "execute");
        if !agent.run.execute_thinking && agent.run.thinking.is_none() {
            request = request.thinking(fugato::llm::Thinking::Off);
        }
        Some(ask(cx, &**model, request, tag).await)
    }

    /// A rule follows the same contract and the same gates as a model.
    fn by_rule(&self, cx: &Context<Agent>) -> Result<Outcome<Update>, BoxError> {
        let decision = rules::decide(cx.state());
        let updates = judge(&self.0, cx, &decision, &Spoken::default());
        Ok(Outcome::done(
            updates.map_err(|rejected| rejected.to_string())?,
        ))
    }
}
