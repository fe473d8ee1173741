use async_trait::async_trait;
use fugato::{
    BoxError, Context, EventKind, Node, Outcome,
    cron::CANCEL,
    llm::Contract,
    prompt::{Stage, one_of},
    state::say,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ModelOutcome, consult, note};
use crate::{
    agent::{AgentState, Move, TurnState, TurnStop, Update},
    deps::{Deps, TurnLimits},
    intent::either,
    plan::{TurnStep, TurnStepKind, filled, no_query, no_tool},
    prompts, rules,
    tools::list_first,
};

/// The node that decides the next move once.
#[derive(Debug)]
pub struct Think(pub Deps);

/// What a model must answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Decision")]
pub struct ThinkDecision {
    /// Why, in a sentence for the person.
    #[serde(default)]
    pub thought: String,
    /// What comes next.
    pub action: NextAction,
    /// With `use_tool`: the tool.
    #[serde(default)]
    pub name: String,
    /// With `use_tool`: its arguments.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// With `search_memory`: what to look for.
    #[serde(default)]
    pub query: String,
}

/// What can come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "What")]
pub enum NextAction {
    /// Calls a tool.
    UseTool,
    /// Searches the memory.
    SearchMemory,
    /// Answers.
    Finish,
}

fn what() -> String {
    say!(
        "Decide what comes next: one call of a tool, one search of the memory, or the answer.",
        "决定接下来做什么：调用一次工具，查一次记忆，或者回答。"
    )
}

#[async_trait]
impl Node<AgentState> for Think {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let (deps, agent) = (&self.0, cx.state());
        let (turn, limits) = (&agent.turn, deps.limits);
        if turn.moves >= limits.moves {
            let why = agent.lang.pick(
                "I may not take more steps; I answer with what I have.",
                "步数用完了，用已有的结果回答。",
            );
            return Ok(Outcome::done([Update::Stopped(TurnStop::Moves)]).note(thinking(why)));
        }
        let thinks = deps.model.is_some() && turn.by_rule.is_none();
        if thinks && turn.corrected.is_empty() && stands_still(turn, limits) {
            let thought = agent.lang.pick(
                "This does not work out; I make another plan.",
                "这样行不通，重新计划。",
            );
            let moved = Update::Moved {
                thought: thought.to_owned(),
                next: Move::Replan,
                step: None,
            };
            return Ok(Outcome::done([moved]).note(thinking(thought)));
        }
        let contract = contract(&deps.tools(agent), turn, limits);
        let stage = Stage::new(say!("You decide step by step.", "你一步一步地决定。"))
            .instruction(prompts::asked(&what(), &contract.outline()));
        let (updates, thought, next, step) =
            match consult(deps, &cx, ("think", stage), &contract).await? {
                ModelOutcome::Again(outcome) => return Ok(outcome),
                ModelOutcome::Decided(decision) => {
                    let (thought, next) = moved(decision, turn);
                    let step = followed(&next, turn);
                    (vec![], thought, next, step)
                }
                ModelOutcome::ByRule(why) => {
                    let (thought, next, step) = rules::next(agent, &deps.toolbox.schemas(agent));
                    (why, thought, next, step)
                }
            };
        Ok(outcome(agent, updates, thought, next, step))
    }
}

fn outcome(
    agent: &AgentState,
    mut updates: Vec<Update>,
    thought: String,
    next: Move,
    step: Option<usize>,
) -> Outcome<Update> {
    let turn = &agent.turn;
    let mut notes = vec![];
    if !thought.trim().is_empty() {
        notes.push(thinking(&thought));
    }
    // The plan is not binding, but a deviation is noted.
    let planned = turn.plan.get(turn.followed);
    if let Some(planned) = planned.filter(|_| step != Some(turn.followed)) {
        let data = json!({ "planned": planned.title(), "chosen": next, "thought": thought });
        notes.push(note("plan_adjustment", data));
    }
    if let Move::Call { name, params } = &next {
        notes.push(proposed(format!("c{}", agent.calls + 1), name, params));
    }
    updates.push(Update::Moved {
        thought,
        next,
        step,
    });
    let done = Outcome::done(updates);
    notes.into_iter().fold(done, Outcome::note)
}

/// Returns the note of a proposed call, for the stream and the archive.
pub(super) fn proposed(call: String, name: &str, params: &Map<String, Value>) -> EventKind {
    EventKind::ToolCallProposed {
        call,
        name: name.to_owned(),
        arguments: Value::Object(params.clone()),
    }
}

fn thinking(thought: &str) -> EventKind {
    note("thinking", json!({ "content": thought }))
}

/// Returns true if another plan is due.
fn stands_still(turn: &TurnState, limits: TurnLimits) -> bool {
    let stands = turn.failures >= limits.failures || turn.stuck >= limits.stuck;
    stands && turn.replans < limits.replans && !turn.plan.is_empty()
}

fn contract(tools: &[String], turn: &TurnState, limits: TurnLimits) -> Contract<ThinkDecision> {
    let (tools, turn) = (tools.to_vec(), turn.clone());
    Contract::<ThinkDecision>::new("decision")
        .alias("tool", "name")
        .alias("arguments", "params")
        .synonym("action", "final_answer", "finish")
        .synonym("action", "tool", "use_tool")
        .synonym("action", "rag", "search_memory")
        .prepare(|value| {
            if let Some(object) = value.as_object_mut() {
                either(object);
                object.remove("keywords");
            }
        })
        .check(move |decision, objections| match decision.action {
            NextAction::UseTool if !tools.contains(&decision.name) => {
                let allowed = one_of(tools.iter().map(String::as_str));
                objections.push("/name", no_tool(&decision.name, &allowed));
            }
            NextAction::UseTool if decision.name == CANCEL && turn.listed_jobs().is_none() => {
                objections.push("/name", list_first());
            }
            NextAction::UseTool => {
                let params = Value::Object(decision.params.clone());
                let made = turn.repeats(&decision.name, &params);
                if made >= limits.repeats {
                    let told = say!(
                        "{:?} was called {made} times like this; call it with other params, call another tool, or finish",
                        "{:?} 已经这样调用了 {made} 次；请换参数、换工具，或结束",
                        decision.name
                    );
                    objections.push("/params", told);
                }
            }
            NextAction::SearchMemory if decision.query.trim().is_empty() => {
                objections.push("/query", no_query());
            }
            NextAction::SearchMemory if turn.queries.contains(&decision.query) => {
                objections.push(
                    "/query",
                    say!(
                        "this was searched for already; look for something else, call a tool, or finish",
                        "这个已经查过；请查别的、调用工具，或结束"
                    ),
                );
            }
            NextAction::SearchMemory | NextAction::Finish => {}
        })
}

/// Returns a decision as a move. A reference without a value yet leads to a skipped step.
fn moved(decision: ThinkDecision, turn: &TurnState) -> (String, Move) {
    let ThinkDecision {
        thought,
        action,
        name,
        params,
        query,
    } = decision;
    let next = match action {
        NextAction::Finish => Move::Finish,
        NextAction::SearchMemory => Move::Retrieve { query },
        NextAction::UseTool => match filled(&TurnStep::tool(name, Value::Object(params)), turn) {
            Ok(TurnStep { name, params, .. }) => Move::Call { name, params },
            Err(missing) => Move::Skip {
                why: missing.to_string(),
            },
        },
    };
    (thought, next)
}

/// Returns the index of the plan's step that a move follows; none for a deviation.
fn followed(next: &Move, turn: &TurnState) -> Option<usize> {
    let is = |step: &TurnStep| match next {
        Move::Retrieve { .. } => step.kind == TurnStepKind::Rag,
        Move::Call { name, .. } => step.kind == TurnStepKind::Tool && step.name == *name,
        _ => false,
    };
    let left = turn.plan.get(turn.followed..)?;
    left.iter().position(is).map(|at| turn.followed + at)
}
