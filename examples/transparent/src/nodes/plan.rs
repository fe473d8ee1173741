use async_trait::async_trait;
use fugato::{BoxError, Context, Node, Outcome, prompt::Stage, state::say};
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

fn make() -> String {
    say!(
        "Make a plan: first what to search the memory for, then which tools to call. A later step refers to what earlier ones found by {{{{selected_path}}}} or {{{{last_result}}}}.",
        "制定计划：先在记忆里查什么，再调用哪些工具。后面的步骤用 {{{{selected_path}}}} 或 {{{{last_result}}}} 指代前面找到的内容。"
    )
}

fn make_again() -> String {
    let make = make();
    say!(
        "The plan did not work out. Make another one from where things stand. {make}",
        "计划行不通。请从现在的情况重新制定。{make}"
    )
}

#[async_trait]
impl Node<AgentState> for PlanNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let again = !agent.turn.plan.is_empty();
        let tools = self.0.tools(agent);
        let contract = plan::contract(&tools);
        let what = if again { make_again() } else { make() };
        let stage = Stage::new(say!("You plan.", "你负责制定计划。"))
            .instruction(prompts::asked(&what, &contract.outline()));
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
