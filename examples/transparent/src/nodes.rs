//! The nodes, each in its own file. Their order is in `graph.rs`.
mod act;
mod answer;
mod begin;
mod intent;
mod keep;
mod plan;
mod quote;
mod repair;
mod retrieve;
mod tell;
mod think;

use fugato::{
    BoxError, Context, EventKind, Outcome,
    agent::{decision::settle, reply::ask_unseen},
    llm::{Ask, Contract, Settlement},
    prompt::Stage,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use act::Act;
pub use answer::AnswerNode;
pub use begin::BeginNode;
pub use intent::Understand;
pub use keep::KeepNode;
pub use plan::PlanNode;
pub use quote::Quote;
pub use repair::{RepairNode, Revision};
pub use retrieve::Retrieve;
pub use tell::TellNode;
pub use think::{NextAction, Think, ThinkDecision};

use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    prompts,
};

/// The result of asking the model.
enum ModelOutcome<T> {
    /// A decision.
    Decided(T),
    /// The outcome that stores the correction; the model is asked again in the next round.
    Again(Outcome<Update>),
    /// There is no model, or it cannot be used: rules decide, and these updates record the reason.
    ByRule(Vec<Update>),
}

/// Asks the model for a decision under a contract.
async fn consult<T: DeserializeOwned>(
    deps: &Deps,
    cx: &Context<AgentState>,
    stage: (&str, Stage),
    contract: &Contract<T>,
) -> Result<ModelOutcome<T>, BoxError> {
    let agent = cx.state();
    let Some(model) = deps.model.as_ref().filter(|_| agent.turn.by_rule.is_none()) else {
        return Ok(ModelOutcome::ByRule(vec![]));
    };
    let (name, stage) = stage;
    let request = match prompts::request(deps, agent, name, stage) {
        Ok(request) => request.response_format(contract.response_format()),
        Err(error) => return by_rule(deps, cx, error).map(ModelOutcome::ByRule),
    };
    let answer = ask_unseen(cx, &**model, request).await;
    let asked = Ask::json(name, contract).rejections(deps.rejections);
    Ok(match settle(cx, &asked, &answer) {
        Settlement::Decided(decision) => ModelOutcome::Decided(decision),
        Settlement::Again(outcome) => ModelOutcome::Again(outcome),
        Settlement::Failed(why) => ModelOutcome::ByRule(by_rule(deps, cx, why)?),
    })
}

/// Lets rules decide for the rest of the turn, so the failed model is not asked at each stage.
/// Returns the update, or the error if rules must not decide.
fn by_rule(
    deps: &Deps,
    cx: &Context<AgentState>,
    why: impl Into<BoxError>,
) -> Result<Vec<Update>, BoxError> {
    let why = why.into();
    let told = why.to_string();
    let model = deps.model.as_ref().map_or("model", |model| model.name());
    let said = cx.state().in_language();
    deps.on_failure.fall_back(cx, why, (model, said))?;
    Ok(vec![Update::ByRule { why: told }])
}

/// Returns a durable note for the readers of the stream.
fn note(name: &str, data: Value) -> EventKind {
    let name = name.to_owned();
    EventKind::Custom { name, data }
}
