use async_trait::async_trait;
use fugato::{
    agent::decision::settle,
    graph::{BoxError, Context, Node, Outcome},
    llm::{Ask, ModelError, RejectedAnswer, Settlement, Tag, TaggedAnswer},
    tool::CatalogueDetail,
};

use super::{
    check_notes, check_words,
    judge::judge,
    request_text,
    understood::{take_over, wished_instead},
};
use crate::{
    agent::{AgentState, Update},
    contract::ExecutorDecision,
    deps::Deps,
    failure::Replacement,
    llm_config::{ModelStage, ask, stand_in, thought},
    prompts, rules,
};

/// The node that decides what to do next: exactly one model call, or a rule.
#[derive(Debug)]
pub struct Decide(pub Deps);

#[async_trait]
impl Node<AgentState> for Decide {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let Some(answer) = self.think(&cx).await else {
            return self.by_rule(&cx, vec![]);
        };
        let thought = answer.as_ref().ok().and_then(thought);
        let ask = Ask::reading("execute", |spoken: &TaggedAnswer| {
            let decision = read(cx.state(), spoken)?;
            let (task, raw) = (cx.task(), &spoken.decision);
            tracing::debug!(task, raw, ?decision, "execute LLM");
            judge(&self.0, &cx, &decision, spoken)
        });
        match settle(&cx, &ask.rejections(self.0.rejections), &answer) {
            Settlement::Decided(updates) => {
                let mut told = stand_in(&cx, &answer.unwrap_or_default().attempts);
                told.extend(updates);
                let done = Outcome::done(told);
                Ok(thought.into_iter().fold(done, Outcome::note))
            }
            Settlement::Again(outcome) => Ok(outcome),
            Settlement::Failed(why) => {
                let (mind, policy) = (&self.0.mind, self.0.mind.on_failure);
                let told = mind.fall_back(&cx, policy, why, Replacement::Rules)?;
                let text = request_text(cx.state());
                match take_over(&self.0, &cx, told.clone(), &text).await? {
                    Some(taken) => Ok(Outcome::done(taken)),
                    None => self.by_rule(&cx, told),
                }
            }
        }
    }
}

/// Reads a decision. Its texts for the person are checked like all texts of a model.
fn read(agent: &AgentState, spoken: &TaggedAnswer) -> Result<ExecutorDecision, RejectedAnswer> {
    let decision = ExecutorDecision::contract(agent.has_step()).read(&spoken.decision)?;
    let abort = decision.abort.as_ref();
    let abort = abort.map_or("", |abort| &abort.user_message);
    let words = [
        ("/speak", decision.speak.as_str()),
        ("/abort/user_message", abort),
    ];
    check_words(agent, spoken, &words)?;
    check_notes(spoken, &[("/reason", &decision.reason)])?;
    Ok(decision)
}

impl Decide {
    async fn think(&self, cx: &Context<AgentState>) -> Option<Result<TaggedAnswer, ModelError>> {
        let agent = cx.state();
        let model = self.0.mind.answering(agent)?;
        let catalogue = self.0.toolbox.catalogue(agent, CatalogueDetail::LITE);
        let tag = Tag::fresh("decision");
        let messages = prompts::execute(agent, &tag, &catalogue);
        let mut request = self.0.mind.request(agent, ModelStage::Execute, messages);
        if !agent.run.execute_thinking && agent.run.thinking.is_none() {
            request = request.thinking(fugato::llm::Thinking::Off);
        }
        let contract = ExecutorDecision::contract(agent.has_step());
        let accepts = move |decision: &str| contract.read(decision).is_ok();
        Some(ask(cx, model, request, tag, &accepts).await)
    }

    /// Decides by rule, under the same contract and the same gates as a model.
    fn by_rule(
        &self,
        cx: &Context<AgentState>,
        mut updates: Vec<Update>,
    ) -> Result<Outcome<Update>, BoxError> {
        updates.extend(wished_instead(&self.0, cx));
        let is_planned = |update: &Update| matches!(update, Update::PlannedCalls(_));
        if updates.iter().any(is_planned) {
            return Ok(Outcome::done(updates));
        }
        let decision = rules::decide(cx.state());
        let judged = judge(&self.0, cx, &decision, &TaggedAnswer::default());
        updates.extend(judged.map_err(|rejected| rejected.to_string())?);
        Ok(Outcome::done(updates))
    }
}
