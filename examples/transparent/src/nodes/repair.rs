use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    llm::Contract,
    prompt::{Stage, fenced},
    state::say,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ModelOutcome, consult, note, think::proposed};
use crate::{
    agent::{AgentState, PendingCall, Update},
    deps::Deps,
    prompts, rules,
};

/// The node that repairs the arguments of a failed call. Its result is the next attempt.
#[derive(Debug)]
pub struct RepairNode(pub Deps);

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// Why the call failed, and what is different now.
    #[serde(default)]
    pub thought: String,
    /// Whether there is nothing that could be different.
    #[serde(default)]
    pub give_up: bool,
    /// The arguments of the next attempt.
    #[serde(default)]
    pub params: Map<String, Value>,
}

#[async_trait]
impl Node<AgentState> for RepairNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let (deps, agent) = (&self.0, cx.state());
        let wanted = agent.turn.wanted.as_ref().ok_or("no call is wanted")?;
        let cause = wanted.cause.clone().unwrap_or_default();
        let contract = contract(wanted);
        let call = json!({ "name": wanted.call.name, "params": wanted.call.arguments });
        let what = say!(
            "The call {call} failed:\n{}\nSay with which params to try it again, or give up.",
            "调用 {call} 失败了：\n{}\n说明用哪些 params 再试一次，或者放弃。",
            fenced(&cause)
        );
        let stage = Stage::new(say!("You mend calls of tools.", "你负责修正工具的调用。"))
            .instruction(prompts::asked(&what, &contract.outline()));
        let (mut updates, thought, params) = match consult(deps, &cx, ("repair", stage), &contract)
            .await?
        {
            ModelOutcome::Again(outcome) => return Ok(outcome),
            ModelOutcome::Decided(revised) => {
                let params = (!revised.give_up).then_some(revised.params);
                (vec![], revised.thought, params)
            }
            ModelOutcome::ByRule(why) => (why, String::new(), rules::repair(&agent.turn, wanted)),
        };
        let data = json!({
            "call": wanted.id, "name": wanted.call.name, "attempt": wanted.attempt,
            "old": wanted.call.arguments, "new": params, "cause": cause, "thought": thought,
        });
        let told = note("correction", data);
        let Some(params) = params else {
            updates.push(Update::GaveUp);
            return Ok(Outcome::done(updates).note(told));
        };
        let again = format!("{}.{}", wanted.id, wanted.attempt + 1);
        let call = proposed(again, &wanted.call.name, &params);
        updates.push(Update::Repaired { params });
        Ok(Outcome::done(updates).note(told).note(call))
    }
}

/// Returns the contract for a repair, which rejects equal arguments, as they would fail again.
fn contract(wanted: &PendingCall) -> Contract<Revision> {
    let old = wanted.call.arguments.clone();
    Contract::<Revision>::new("revision")
        .alias("arguments", "params")
        .prepare(|value| {
            if let Some(object) = value.as_object_mut() {
                object.retain(|_, value| !value.is_null());
            }
        })
        .check(move |revision, objections| {
            if !revision.give_up && Value::Object(revision.params.clone()) == old {
                objections.push(
                    "/params",
                    say!(
                        "with these the call has just failed; change them, or set give_up to true",
                        "用这些参数刚刚失败过；请改动，或把 give_up 设为 true"
                    ),
                );
            }
        })
}
