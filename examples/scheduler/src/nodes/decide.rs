use async_trait::async_trait;
use fugato::{
    graph::{BoxError, Context, Node, Outcome},
    tool::Detail,
};

use super::{Heard, correct, fall_back, hear, judge::judge};
use crate::{
    agent::{Agent, Update},
    contract::{self, Decision},
    deps::Deps,
    mind::{Spoken, ask, decision_tag, request},
    prompts, rules,
};

/// Decides what to do next: exactly one model call, or a rule.
#[derive(Debug)]
pub struct Decide(pub Deps);

#[async_trait]
impl Node<Agent> for Decide {
    async fn run(&self, cx: Context<Agent>) -> Result<Outcome<Update>, BoxError> {
        let why: BoxError = match self.think(&cx).await {
            None => return self.by_rule(&cx),
            Some(Heard::Decided(decision, spoken)) => {
                tracing::debug!(task = cx.task(), ?decision, "execute LLM");
                match judge(&self.0, &cx, &decision, &spoken) {
                    Ok(updates) => return Ok(Outcome::done(updates)),
                    Err(rejected) => match correct(&cx, &rejected, self.0.max_corrections) {
                        Ok(outcome) => return Ok(outcome),
                        Err(why) => why,
                    },
                }
            }
            Some(Heard::Rejected(rejected)) => {
                match correct(&cx, &rejected, self.0.max_corrections) {
                    Ok(outcome) => return Ok(outcome),
                    Err(why) => why,
                }
            }
            Some(Heard::Failed(error)) => error.into(),
        };
        fall_back(&cx, self.0.mind.on_failure, why)?;
        self.by_rule(&cx)
    }
}

impl Decide {
    async fn think(&self, cx: &Context<Agent>) -> Option<Heard<Decision>> {
        let model = self.0.mind.model.as_ref()?;
        let agent = cx.state();
        let catalogue = self
            .0
            .registry
            .catalogue(&agent.active_tools(), Detail::LITE);
        let tag = decision_tag(cx);
        let messages = prompts::execute(agent, &tag, &catalogue);
        let mut request = request(agent, &self.0.mind.stages.execute, messages);
        if !agent.run.execute_thinking && agent.run.thinking.is_none() {
            request = request.thinking(fugato::llm::Thinking::Off);
        }
        Some(hear(
            ask(cx, &**model, request, tag).await,
            &contract::decision(agent.has_step()),
        ))
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
