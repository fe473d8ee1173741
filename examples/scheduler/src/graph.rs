//! The wiring of the agent: the order of the nodes, and the reasons for it.
use fugato::{
    agent::trace::recorded,
    graph::{BuildError, END, Graph},
    words::Phrases,
};

use crate::{
    agent::{AgentState, Card, CardReply, Phase, Update},
    deps::Deps,
    nodes::{
        Act, Chat, Decide, Deliver, Execute, PersistNode, PlanNode, QuickTask, RoughBuildNode,
        confirm,
    },
};

/// Builds the graph of the agent. It holds no conversation, so one graph serves all of them.
pub fn graph(deps: &Deps) -> Result<Graph<AgentState>, BuildError> {
    let graph = Graph::<AgentState>::starting_at("chat")
        .node("chat", recorded(Chat(deps.clone())))
        .node("plan", recorded(PlanNode(deps.clone())))
        .node("confirm", confirm)
        .pause("interrupt", card, |_, reply: CardReply| {
            let is_yes = |text: &str| Phrases::default().consent(text) == Some(true);
            Update::Replied(reply.clear(is_yes))
        })
        .node("rough_build", RoughBuildNode(deps.clone()))
        .node("execute", recorded(Execute(deps.clone())))
        .node("decide", recorded(Decide(deps.clone())))
        .node("act", Act(deps.clone()))
        .node("deliver", recorded(Deliver(deps.clone())))
        .node("keep", PersistNode(deps.clone()))
        .node("quick_task", QuickTask(deps.clone()))
        // An open question takes precedence over every other condition.
        .guard("interrupt", |agent| agent.pending.is_some())
        .branch(
            "chat",
            [
                "chat",
                "plan",
                "confirm",
                "rough_build",
                "execute",
                "quick_task",
                "deliver",
                END,
            ],
            after_chat,
        )
        .branch(
            "plan",
            ["plan", "confirm", "rough_build", "execute", "deliver"],
            by_phase,
        )
        .branch(
            "confirm",
            ["plan", "rough_build", "execute", "deliver"],
            by_phase,
        )
        .branch(
            "interrupt",
            [
                "plan",
                "confirm",
                "rough_build",
                "execute",
                "keep",
                "deliver",
                END,
            ],
            after_interrupt,
        )
        .branch("rough_build", ["execute", "deliver"], after_rough_build)
        .branch(
            "execute",
            ["decide", "act", "confirm", "deliver"],
            after_execute,
        )
        .branch(
            "decide",
            ["act", "execute", "confirm", "keep", "deliver"],
            after_decide,
        )
        .branch("act", ["execute", "confirm", "deliver"], by_phase)
        .edge("keep", "deliver")
        .edge("deliver", END)
        .edge("quick_task", END)
        .output(|agent| agent.run.outcome.clone());
    let labelled = LABELS.iter().fold(graph, |graph, (node, en, zh)| {
        graph.label(*node, format!("{en} · {zh}"))
    });
    labelled.build()
}

/// The label of each node in English and Chinese, for readers of a trace.
const LABELS: &[(&str, &str, &str)] = &[
    ("chat", "reading the request", "理解请求"),
    ("plan", "making a plan", "制定计划"),
    ("confirm", "preparing a card", "准备确认"),
    ("interrupt", "asking the person", "等待用户"),
    ("rough_build", "placing by rule", "粗排"),
    ("execute", "beginning a round", "开始一轮"),
    ("decide", "deciding", "决策"),
    ("act", "calling a tool", "调用工具"),
    ("keep", "storing the schedule", "保存日程"),
    ("deliver", "summing up", "总结"),
    ("quick_task", "taking a note", "快速记录"),
];

fn card(agent: &AgentState) -> Option<Card> {
    agent.pending.as_ref().map(|pending| pending.card.clone())
}

/// Routes by the phase, the smallest signal that covers plain talk, planning, execution and
/// resumption in one graph.
fn by_phase(agent: &AgentState) -> &'static str {
    match agent.phase {
        Phase::Planning => "plan",
        Phase::WaitingConfirm => "confirm",
        Phase::Executing if agent.run.needs_rough_build && !agent.task_class_ids.is_empty() => {
            "rough_build"
        }
        Phase::Executing => "execute",
        Phase::QuickTask => "quick_task",
        Phase::Done => "deliver",
        Phase::Chatting | Phase::Interrupted => END,
    }
}

/// Routes after `chat`; a corrected classification is requested again, and so is one over a
/// calendar that was loaded anew.
fn after_chat(agent: &AgentState) -> &'static str {
    let unread = agent.run.corrections > 0 || agent.run.reread && agent.run.judged.is_none();
    if agent.phase == Phase::Chatting && unread {
        return "chat";
    }
    by_phase(agent)
}

/// Routes after a reply; agreed changes are stored before the run is summarised.
fn after_interrupt(agent: &AgentState) -> &'static str {
    match agent.phase {
        Phase::Done if agent.agreed => "keep",
        Phase::WaitingConfirm => "confirm",
        // A call by hand comes before the question that was open.
        _ if agent.run.asks_again => "execute",
        _ => by_phase(agent),
    }
}

/// Routes after the placing by rule; a draft of which the person has to decide passes through
/// `execute`, which begins no round for it.
fn after_rough_build(agent: &AgentState) -> &'static str {
    match agent.phase {
        Phase::WaitingConfirm => "execute",
        _ => by_phase(agent),
    }
}

fn after_execute(agent: &AgentState) -> &'static str {
    match (&agent.wanted, agent.phase) {
        (_, Phase::Done) => "deliver",
        (_, Phase::WaitingConfirm) => "confirm",
        (Some(wanted), _) if wanted.accepted => "act",
        _ => "decide",
    }
}

/// Routes after a decision: a write that waits for the person is confirmed, a call that needs no
/// consent is executed, and all else is decided again.
fn after_decide(agent: &AgentState) -> &'static str {
    match (&agent.wanted, agent.phase) {
        (_, Phase::Done) if agent.agreed => "keep",
        (_, Phase::Done) => "deliver",
        (_, Phase::WaitingConfirm) => "confirm",
        (Some(wanted), _) if wanted.accepted => "act",
        (Some(_), _) => "confirm",
        (None, _) => "execute",
    }
}
