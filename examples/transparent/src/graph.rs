//! The wiring of the agent.
use fugato::{
    END, Graph, RunnerOptions,
    agent::{memory::remember, trace::recorded},
    graph::{BudgetUnit, BuildError},
};

use crate::{
    agent::{AgentState, TurnPhase, Update},
    deps::Deps,
    nodes::{
        Act, AnswerNode, BeginNode, KeepNode, PlanNode, Quote, RepairNode, Retrieve, TellNode,
        Think, Understand,
    },
    rules,
};

/// Returns the graph of the agent. It has no data of a conversation, so one graph serves all of
/// them.
pub fn graph(deps: &Deps) -> Result<Graph<AgentState>, BuildError> {
    let notebook = std::sync::Arc::new(deps.desk.notebook.clone());
    let said = |agent: &AgentState| {
        let request = &agent.turn.request;
        let noted = rules::noted(&request.text).filter(|_| request.job.is_none());
        noted
            .and_then(rules::meant)
            .map(std::borrow::Cow::into_owned)
    };
    let [intent, plan, think, retrieve, act, repair, answer] = NODES.map(TurnPhase::node);
    Graph::<AgentState>::starting_at("begin")
        .node("begin", BeginNode(deps.clone()))
        .node(
            "remember",
            remember(notebook, said, |_| Update::Remembered, lost),
        )
        .node("quote", Quote(deps.clone()))
        .node("compact", recorded(deps.compact()))
        .node(intent, recorded(Understand(deps.clone())))
        .node(plan, recorded(PlanNode(deps.clone())))
        .node(think, recorded(Think(deps.clone())))
        .node(retrieve, Retrieve(deps.clone()))
        .node(act, Act(deps.clone()))
        .node(repair, recorded(RepairNode(deps.clone())))
        .node(answer, recorded(AnswerNode(deps.clone())))
        .node("keep", KeepNode(deps.clone()))
        .node("tell", TellNode)
        .branch("begin", ["remember", "tell"], |agent: &AgentState| {
            if agent.turn.request.told {
                "tell"
            } else {
                "remember"
            }
        })
        .edge("tell", END)
        .edge("remember", "quote")
        .edge("quote", "compact")
        .edge("compact", intent)
        // A stage whose answer is corrected is repeated.
        .branch(intent, [intent, plan, think], next)
        .branch(plan, [plan, think], next)
        .branch(think, [think, plan, retrieve, act, answer], next)
        .edge(retrieve, think)
        .branch(act, [repair, think], next)
        .branch(repair, [repair, act, think], next)
        .edge(answer, "keep")
        .edge("keep", END)
        .output(|agent| agent.turn.answer.clone())
        .build()
}

const NODES: [TurnPhase; 7] = [
    TurnPhase::Intent,
    TurnPhase::Plan,
    TurnPhase::Think,
    TurnPhase::Retrieve,
    TurnPhase::Act,
    TurnPhase::Repair,
    TurnPhase::Answer,
];

fn next(agent: &AgentState) -> &'static str {
    agent.turn.phase.node()
}

/// Sets the budgets of a run, as upper bounds in addition to the limits of a turn.
pub fn budgets(options: RunnerOptions) -> RunnerOptions {
    const QUARTER_OF_AN_HOUR: u64 = 15 * 60 * 1000;
    options
        .step_limit(120)
        .budget(BudgetUnit::ModelCalls, 60)
        .budget(BudgetUnit::ToolCalls, 30)
        .budget(BudgetUnit::Tokens, 400_000)
        .budget(BudgetUnit::WallTime, QUARTER_OF_AN_HOUR)
}

/// Returns the update of a note that could not be stored.
fn lost(why: &str) -> Vec<Update> {
    let why = why.to_owned();
    vec![Update::NotRemembered { why }]
}
