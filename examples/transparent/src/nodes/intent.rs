use async_trait::async_trait;
use fugato::{BoxError, Context, Node, Outcome, prompt::Stage};
use serde_json::json;

use super::{ModelOutcome, consult, note};
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    intent, prompts, rules,
};

/// The node that finds out the intent of the person.
#[derive(Debug)]
pub struct Understand(pub Deps);

const WHAT: &str = "Say what the person wants, and how involved it is: 0.1 for talk, 0.4 for one call of a tool, more than 0.6 if several steps are needed.";

#[async_trait]
impl Node<AgentState> for Understand {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let contract = intent::contract();
        let stage = Stage::new("You find out what is wanted.")
            .instruction(prompts::asked(WHAT, &contract.outline()));
        let (mut updates, intent) =
            match consult(&self.0, &cx, ("intent", stage), &contract).await? {
                ModelOutcome::Again(outcome) => return Ok(outcome),
                ModelOutcome::Decided(intent) => (vec![], intent),
                ModelOutcome::ByRule(why) => (why, rules::intent_of(cx.state())),
            };
        let told = note("task_analysis", json!(intent));
        updates.push(Update::Understood(intent));
        Ok(Outcome::done(updates).note(told))
    }
}
