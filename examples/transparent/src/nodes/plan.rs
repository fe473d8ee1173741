use async_trait::async_trait;
use fugato::{BoxError, Context, Node, Outcome, prompt::Stage};
use serde_json::json;

use super::{ModelOutcome, consult, note};
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    plan, prompts, rules,
};

/// The node that makes a plan: queries to the memory, then tools.
#[derive(Debug)]
pub struct PlanNode(pub Deps);

const WHAT: &str = "Make a plan: first what to search the memory for, then which tools to call. A later step refers to what earlier ones found by {{selected_path}} or {{last_result}}.";
const AGAIN: &str = "The plan did not work out. Make another one from where things stand.";

#[async_trait]
impl Node<AgentState> for PlanNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let again = !agent.turn.plan.is_empty();
        let tools = self.0.tools(agent);
        let contract = plan::contract(&tools);
        let what = if again {
            format!("{AGAIN} {WHAT}")
        } else {
            WHAT.to_owned()
        };
        let stage = Stage::new("You plan.").instruction(prompts::asked(&what, &contract.outline()));
        let (mut updates, steps) = match consult(&self.0, &cx, ("plan", stage), &contract).await? {
            ModelOutcome::Again(outcome) => return Ok(outcome),
            ModelOutcome::Decided(plan) => (vec![], plan.steps),
            ModelOutcome::ByRule(why) => (
                why,
                rules::steps(&agent.turn, &self.0.toolbox.schemas(agent)),
            ),
        };
        let name = if again { "plan_adjustment" } else { "planning" };
        let told = note(name, json!({ "steps": steps }));
        updates.push(Update::Planned { steps, again });
        Ok(Outcome::done(updates).note(told))
    }
}

impl Deps {
    /// Returns the names of the tools that can be called now.
    pub(crate) fn tools(&self, agent: &AgentState) -> Vec<String> {
        let schemas = self.toolbox.schemas(agent);
        schemas.into_iter().map(|schema| schema.name).collect()
    }
}
