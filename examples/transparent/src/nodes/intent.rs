use async_trait::async_trait;
use fugato::{BoxError, Context, Node, Outcome, prompt::Stage, state::say};
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

fn what() -> String {
    say!(
        "Say what the person wants, and how involved it is: 0.1 for talk, 0.4 for one call of a tool, more than 0.6 if several steps are needed.",
        "说明用户想要什么，以及有多复杂：闲聊为 0.1，调用一次工具为 0.4，需要几步则大于 0.6。"
    )
}

#[async_trait]
impl Node<AgentState> for Understand {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let contract = intent::contract();
        let stage = Stage::new(say!(
            "You find out what is wanted.",
            "你负责弄清用户想要什么。"
        ))
        .instruction(prompts::asked(&what(), &contract.outline()));
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
