//! The conditions of every call, and the tools behind them.
use fugato::{
    agent::Toolbox,
    state::{ToolCall, say},
    tool::{Access, GateChain, GatedCall, Registry, Verdict, confirm_writes},
};

use crate::{
    agent::{AgentState, Update},
    calendar::Sections,
    tools::ToolView,
};

/// Returns the reason why nothing may be written, with the allowed alternatives.
pub(crate) fn closed() -> String {
    say!(
        "not everything fits, so nothing may be written; use ask_user and offer four options: \
         extend the window, relax constraints, reduce the scope, accept the risk and close",
        "排不下全部内容，因此不能写入；请用 ask_user 给出四个选择：延长时间范围、放宽约束、减少内容、接受风险并结束"
    )
}

/// Returns the tools behind their gates; kept items may be moved again if `existing_may_move`.
pub(crate) fn toolbox(
    registry: &Registry<ToolView, Update>,
    existing_may_move: bool,
    sections: &Sections,
) -> Toolbox<AgentState> {
    let sections = sections.clone();
    let tools = registry.viewed(move |agent| ToolView::of(agent, existing_may_move, &sections));
    Toolbox::new(tools)
        .visible(AgentState::active_tools)
        .gates(GateChain::new().with(feasible).with(consent))
        .preview(|agent: &AgentState, call: &ToolCall| {
            let wanted = agent
                .wanted
                .as_ref()
                .filter(|wanted| wanted.call.id == call.id);
            wanted.map(|wanted| wanted.summary.clone())
        })
}

/// Blocks writes of the schedule that was diagnosed as infeasible. A class may be the change that
/// makes everything fit again.
fn feasible(gated: &GatedCall<'_>, agent: &AgentState) -> Verdict {
    let schedules = gated.spec.domain.as_deref() == Some("schedule");
    if gated.spec.access == Access::Write && schedules && agent.is_gate_closed() {
        return Verdict::Block(closed());
    }
    Verdict::Allow
}

/// Asks for consent to every write, unless the person gave it to this call or in advance. The
/// optimisation writes suggestions only, which the person is asked about at the end.
fn consent(gated: &GatedCall<'_>, agent: &AgentState) -> Verdict {
    let wanted = agent.wanted.as_ref();
    let agreed = wanted.is_some_and(|wanted| wanted.has_consent(gated.call));
    if agreed || agent.run.always_execute || agent.run.optimize_only {
        return Verdict::Allow;
    }
    confirm_writes(gated, agent)
}

#[cfg(test)]
mod tests {
    use fugato::tool::EffectClass;

    use crate::tools::registry;

    #[test]
    fn tools_only_propose_so_no_call_is_an_effect() {
        let registry = registry().unwrap();
        let specs = registry
            .all()
            .filter(|spec| spec.effect != EffectClass::Pure);
        let acting: Vec<_> = specs.map(|spec| &spec.name).collect();
        assert_eq!(acting, Vec::<&String>::new());
    }
}
