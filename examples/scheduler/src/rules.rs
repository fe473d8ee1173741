//! Decisions without a model: the same contracts, answered by rule.
use serde_json::{Map, Value, json};

use crate::{
    agent::{
        AgentState, ContextHook, Mode, Phase, ROUGH_BUILD_DONE, RouteDecision, TerminalOutcome,
    },
    contract::{Abort, ActionKind, Call, Complexity, ExecutorDecision, PlanAction, PlanDecision},
    keywords::{KeywordHits, said},
    report::Receipts,
    route::{RequestRoute, RouteTo},
    tools::EDIT_TASK_CLASS,
};
use fugato::state::{PlanStep, say};

/// Returns the end of a run whose model failed, if rules do not understand the request; such a
/// request is not carried out.
pub(crate) fn not_understood(agent: &AgentState, stage: &str) -> Option<TerminalOutcome> {
    if agent.run.understood {
        return None;
    }
    let told = not_understood_words(agent);
    let why = "rules do not understand the request";
    Some(TerminalOutcome::aborted(stage, "not_understood", told, why))
}

fn not_understood_words(agent: &AgentState) -> &'static str {
    if Receipts::of_request(agent).is_any() {
        agent.lang.pick(
            "By rules alone I did not understand the rest of your request, and nothing more was changed.",
            "仅凭规则没有看懂请求的其余部分，没有再改动任何内容。",
        )
    } else {
        agent.lang.pick(
            "By rules alone I did not understand your request, and nothing was changed.",
            "仅凭规则没有看懂你的请求，没有改动任何内容。",
        )
    }
}

/// Returns the route of a request. Its literal words overrule the classification.
pub fn route(agent: &AgentState, understood: impl Into<RequestRoute>, text: &str) -> RouteDecision {
    let route = understood.into();
    let said = said(text);
    let pending = pending_items(agent);
    let built = agent.conversation.pinned(ROUGH_BUILD_DONE).is_some();
    let has_classes = !agent.task_class_ids.is_empty();
    let in_words = said.place_all || said.draft_only || said.redo_rough_build;
    let wants_build = in_words || route.rough_build;
    let rough_build = has_classes
        && wants_build
        && (!built || said.redo_rough_build)
        && (pending > 0 || agent.schedule.is_none());
    let optimise = said.global_reopt;
    let phase = match (
        (said.quick_note || said.quick_task) && !said.wants_work(),
        route.to,
    ) {
        (true, _) | (_, RouteTo::QuickTask) => Phase::QuickTask,
        (_, RouteTo::DirectReply | RouteTo::DeepAnswer) => Phase::Chatting,
        (_, RouteTo::Execute) => Phase::Executing,
        _ if rough_build || optimise => Phase::Executing,
        _ => Phase::Planning,
    };
    RouteDecision {
        phase,
        // A whole rearrangement searches from where everything lies.
        rough_build: rough_build || optimise && has_classes,
        // The first build is refined, regardless of the model.
        refine: (rough_build || optimise)
            && !said.draft_only
            && (!built || optimise || route.refine),
        reorder: said.reorder.unwrap_or(route.reorder),
        thinking: route.thinking,
        mode: mode(said, rough_build),
    }
}

fn mode(said: KeywordHits, rough_build: bool) -> Mode {
    if rough_build {
        Mode::FirstFull
    } else if said.global_reopt {
        Mode::GlobalReopt
    } else {
        Mode::LocalAdjust
    }
}

fn pending_items(agent: &AgentState) -> usize {
    let schedule = agent.schedule.as_ref();
    schedule.map_or(0, |schedule| {
        schedule
            .tasks
            .iter()
            .filter(|task| task.is_pending_item())
            .count()
    })
}

/// Returns the plan that rules can carry out: place everything, and refine it.
pub fn plan(agent: &AgentState) -> PlanDecision {
    let step = |en: &str, zh: &str, done_en: &str, done_zh: &str| PlanStep {
        content: agent.lang.pick(en, zh).into(),
        done_when: agent.lang.pick(done_en, done_zh).into(),
    };
    PlanDecision {
        speak: String::new(),
        action: PlanAction::PlanDone,
        reason: String::new(),
        complexity: Complexity::Simple,
        need_thinking: false,
        plan_steps: vec![step(
            "Place everything pending by rule, then refine it",
            "按规则安排所有待办，然后优化",
            "nothing is pending and no change would help",
            "没有待办，且没有可改进之处",
        )],
        needs_rough_build: !agent.task_class_ids.is_empty(),
        task_class_ids: vec![],
        context_hook: Some(ContextHook::schedule("plan_by_rule")),
    }
}

/// Decides the next action: diagnose, apply the best candidate, and end when there is none.
pub fn decide(agent: &AgentState) -> ExecutorDecision {
    if let Some((code, told, why)) = hopeless(agent) {
        let mut end = ExecutorDecision::of(ActionKind::Abort);
        end.abort = Some(Abort {
            code: code.into(),
            user_message: told,
            internal_reason: why.into(),
        });
        return end;
    }
    if let Some(planned) = &agent.run.planned {
        return next_planned(agent, planned);
    }
    // A model may have dropped the tools before it failed.
    if !has_tools(agent) {
        let Value::Object(arguments) = json!({ "domain": "schedule", "packs": NEEDED }) else {
            return ExecutorDecision::of(ActionKind::Done);
        };
        return ExecutorDecision::of(ActionKind::Continue).calling("context_tools_add", arguments);
    }
    if !agent.health.checked {
        return ExecutorDecision::of(ActionKind::Continue).calling("analyze_health", Map::new());
    }
    if !agent.health.is_feasible {
        let mut ask = ExecutorDecision::of(ActionKind::AskUser);
        ask.speak = infeasible(agent);
        return ask;
    }
    match &agent.health.candidate {
        Some((tool, Value::Object(arguments)))
            if agent.health.should_continue && agent.health.stagnation < 2 =>
        {
            let action = if agent.run.optimize_only {
                ActionKind::Continue
            } else {
                ActionKind::Confirm
            };
            ExecutorDecision::of(action).calling(tool, arguments.clone())
        }
        _ => {
            let mut done = ExecutorDecision::of(ActionKind::Done);
            done.goal_check = Some(format!("diagnosis: {}", agent.health.signal));
            done
        }
    }
}

/// Decides the next of the planned calls, and makes its tools available before.
fn next_planned(agent: &AgentState, planned: &[Call]) -> ExecutorDecision {
    let Some(call) = planned.first() else {
        let mut done = ExecutorDecision::of(ActionKind::Done);
        done.goal_check = Some("every call that was planned is answered".into());
        return done;
    };
    let (domain, packs): (&str, &[&str]) = match call.name.as_str() {
        EDIT_TASK_CLASS => ("taskclass", &["edit"]),
        _ => ("schedule", &["mutation", "arrange"]),
    };
    let active = agent.tools.domain.as_deref() == Some(domain)
        && packs.iter().all(|pack| agent.tools.packs.contains(*pack));
    if active {
        return ExecutorDecision::of(ActionKind::Confirm)
            .calling(&call.name, call.arguments.clone());
    }
    let Value::Object(arguments) = json!({ "domain": domain, "packs": packs }) else {
        return ExecutorDecision::of(ActionKind::Done);
    };
    ExecutorDecision::of(ActionKind::Continue).calling("context_tools_add", arguments)
}

/// Returns the reason why rules can do nothing more, if so: a code, the message for the person, and
/// the reason for an operator.
fn hopeless(agent: &AgentState) -> Option<(&'static str, String, &'static str)> {
    let told = |en: &str, zh: &str| agent.lang.pick(en, zh).to_owned();
    if agent.schedule.is_none() {
        let text = told("There is no schedule to work on.", "没有可用的日程。");
        return Some((
            "schedule_missing",
            text,
            "no schedule provider was injected",
        ));
    }
    // Items placed by rule are refined by rule; anything else needs a request that is understood.
    if !agent.run.understood && !agent.run.optimize_only && !agent.run.refused {
        let text = not_understood_words(agent).to_owned();
        let why = "rules do not understand the request";
        return Some(("not_understood", text, why));
    }
    if agent.run.refused {
        let text = told(
            "Without a model I know no other arrangement. What I proposed stays a draft.",
            "没有模型时我想不出别的安排，刚才的方案保留为草稿。",
        );
        return Some((
            "schedule_refused",
            text,
            "the person did not keep the schedule",
        ));
    }
    if agent.has_failed_write() {
        let why = agent.run.evidence.iter().rev().find(|it| !it.success);
        let why = why.map_or("", |failed| failed.summary.as_str());
        let (en, zh) = (
            format!("A change could not be made: {why}"),
            format!("有一处修改未能完成：{why}"),
        );
        let text = told(&en, &zh);
        return Some((
            "write_failed",
            text,
            "a rule does not repair a write that failed",
        ));
    }
    // The person has answered, and it still does not fit.
    if agent.health.checked && !agent.health.is_feasible && agent.run.resumed.is_some() {
        let text = told(
            "Not everything fits; the rest is left pending.",
            "排不下的部分保留为待办。",
        );
        return Some(("infeasible", text, "capacity is missing"));
    }
    None
}

/// The packs with which rules work.
const NEEDED: [&str; 2] = ["analyze", "mutation"];

fn has_tools(agent: &AgentState) -> bool {
    agent.tools.domain.as_deref() == Some("schedule")
        && NEEDED.iter().all(|pack| agent.tools.packs.contains(*pack))
}

/// Returns the question with the person's options when not everything fits.
pub fn infeasible(agent: &AgentState) -> String {
    let gap = agent.health.capacity_gap;
    let choices = choices();
    say!(
        "Not everything fits: {gap} sections are missing. {choices}",
        "排不下：还差 {gap} 节。{choices}"
    )
}

/// Returns the choices of the person when not everything fits.
pub(crate) fn choices() -> String {
    say!(
        "Shall I (1) extend the window, (2) relax constraints, (3) reduce the scope, or (4) accept the risk and close?",
        "要（1）延长时间窗，（2）放宽限制，（3）缩小范围，还是（4）接受风险并结束？"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_were_put_away_are_taken_out_again() {
        let mut agent = AgentState {
            schedule: Some(std::sync::Arc::default()),
            ..AgentState::default()
        };
        agent.run.optimize_only = true;
        let called = decide(&agent).tool_call.unwrap();
        assert_eq!(called.name, "context_tools_add");
    }
}
