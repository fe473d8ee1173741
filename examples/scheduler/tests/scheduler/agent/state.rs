//! The state and its transitions.
use std::sync::Arc;

use fugato::{
    state::{PlanStep, State as _, ToolCall},
    tool::WantedCall,
};
use scheduler::agent::{
    AgentState, Card, CardReply, ContextHook, Health, PLAN, PendingInteraction, Phase,
    QuestionTopic, Request, RouteDecision, TerminalOutcome, Update,
};
use serde_json::json;

use crate::common::week;

fn step(content: &str) -> PlanStep {
    PlanStep {
        content: content.into(),
        done_when: "it is so".into(),
    }
}

fn planned() -> AgentState {
    let mut agent = AgentState::default();
    agent.apply(Update::Requested(Request::new("Arrange it").classes([1])));
    agent.finish_plan(
        vec![step("Look"), step("Place")],
        false,
        vec![],
        ContextHook::schedule("plan"),
    );
    agent
}

fn wanted(accepted: bool) -> WantedCall {
    WantedCall {
        call: ToolCall::new("call-1", "place", json!({ "task_id": 3 })),
        summary: "task_id=3".into(),
        speak: "I place it.".into(),
        accepted,
    }
}

fn asks(topic: QuestionTopic, resume_phase: Phase) -> Update {
    let card = Card::confirm(topic, "Shall I?", String::new());
    Update::Asked(PendingInteraction {
        topic,
        card,
        resume_phase,
    })
}

#[test]
fn sch_10_phases_are_stored_by_name() {
    use Phase::{Chatting, Done, Executing, Interrupted, Planning, QuickTask, WaitingConfirm};
    for (phase, name) in [
        (Chatting, "chatting"),
        (Planning, "planning"),
        (WaitingConfirm, "waiting_confirm"),
        (Executing, "executing"),
        (QuickTask, "quick_task"),
        (Interrupted, "interrupted"),
        (Done, "done"),
    ] {
        assert_eq!(json!(phase), name);
    }
}

#[test]
fn sch_11_transitions_change_the_phase() {
    use Phase::{Chatting, Done, Executing, Interrupted, Planning, WaitingConfirm};
    let mut agent = AgentState::default();
    let routed = RouteDecision {
        phase: Planning,
        rough_build: false,
        refine: false,
        reorder: false,
        thinking: true,
        mode: scheduler::agent::Mode::LocalAdjust,
    };
    let planned = Update::Planned {
        steps: vec![step("Look")],
        needs_rough_build: false,
        task_class_ids: vec![],
        hook: ContextHook::schedule("plan"),
    };
    assert_eq!(agent.phase, Chatting);
    for (update, phase) in [
        (Update::Routed(routed), Planning),
        (planned, WaitingConfirm),
        (asks(QuestionTopic::Plan, WaitingConfirm), Interrupted),
        (Update::Replied(CardReply::approve()), Executing),
        (asks(QuestionTopic::AskUser, Executing), Interrupted),
        (Update::Replied(CardReply::text("yes")), Executing),
        (Update::Advanced, Done),
    ] {
        agent.apply(update);
        assert_eq!(agent.phase, phase);
    }
}

/// Returns an agent with a value in every field.
fn full() -> AgentState {
    let mut agent = planned();
    agent.apply(Update::Loaded(Arc::new(week())));
    agent.apply(Update::HookUsed);
    agent.apply(Update::Wanted(wanted(false)));
    agent.apply(Update::Diagnosed(Health {
        checked: true,
        signal: "problem_days=1".into(),
        candidate: Some(("swap".into(), json!({ "task_a": 5 }))),
        ..Health::default()
    }));
    agent.apply(asks(QuestionTopic::Tool, Phase::WaitingConfirm));
    agent.apply(Update::Noted("milk".into()));
    agent
}

#[test]
fn sch_12_the_state_survives_a_round_trip() {
    let agent = full();
    let stored = serde_json::to_string(&agent).unwrap();
    assert_eq!(serde_json::from_str::<AgentState>(&stored).unwrap(), agent);
}

#[test]
fn sch_14_done_keeps_an_outcome_that_was_set() {
    for outcome in [
        TerminalOutcome::exhausted(30),
        TerminalOutcome::aborted("execute", "aborted", "It cannot be done.", "no reason"),
    ] {
        let mut agent = planned();
        agent.apply(Update::Ended(outcome.clone()));
        agent.apply(Update::Ended(TerminalOutcome::exhausted(1)));
        agent.apply(Update::Done);
        agent.apply(Update::Delivered);
        assert_eq!(agent.phase, Phase::Done);
        assert_eq!(agent.run.outcome, Some(outcome));
    }
}

#[test]
fn sch_15_each_transition_is_one_change() {
    let is_at = |agent: &AgentState, phase, step| {
        assert_eq!((agent.phase, agent.plan.current), (phase, step));
    };
    let mut agent = planned();
    is_at(&agent, Phase::WaitingConfirm, 0);
    assert_eq!(agent.hook, Some(ContextHook::schedule("plan")));
    agent.confirm_plan();
    assert_eq!(agent.phase, Phase::Executing);
    // An old plan must not be mistaken for one by a run without a plan.
    let mut direct = agent.clone();
    direct.start_direct_execute();
    assert_eq!(direct.phase, Phase::Executing);
    assert!(!direct.has_step() && direct.run.react);
    assert_eq!(direct.conversation.pinned(PLAN), None);
    let mut rejected = agent.clone();
    rejected.reject_plan();
    assert_eq!(rejected.phase, Phase::Planning);
    assert!(!rejected.has_step() && rejected.hook.is_none());
    agent.advance_step();
    is_at(&agent, Phase::Executing, 1);
    agent.advance_step();
    is_at(&agent, Phase::Done, 2);
    assert_eq!((&agent.hook, &agent.tools.domain), (&None, &None));
}

#[test]
fn sch_c6_the_next_run_finds_a_clean_state_and_the_same_conversation() {
    let mut agent = full();
    agent.reset_for_next_run();
    let once = agent.clone();
    agent.reset_for_next_run();
    assert_eq!(agent, once, "resetting twice is resetting once");
    assert_eq!((&agent.wanted, &agent.pending), (&None, &None));
    assert_eq!((&agent.hook, agent.phase), (&None, Phase::Chatting));
    assert!(!agent.has_step());
    let before = full();
    assert_eq!(agent.schedule, before.schedule);
    assert_eq!(agent.original, before.original);
    assert_eq!(agent.task_class_ids, before.task_class_ids);
    assert_eq!((agent.notes, agent.calls), (before.notes, before.calls));
    assert_eq!(agent.conversation.history, before.conversation.history);
}

#[test]
fn sch_18_a_pending_interaction_survives_a_round_trip() {
    let pending = PendingInteraction {
        topic: QuestionTopic::AskUser,
        card: Card::question(QuestionTopic::AskUser, "A question", "Mornings?").streamed(true),
        resume_phase: Phase::Planning,
    };
    let stored = json!({
        "topic": "ask_user",
        "card": { "type": "ask_user", "topic": "ask_user", "title": "A question", "summary": "Mornings?", "streamed": true },
        "resume_phase": "planning",
    });
    assert_eq!(json!(pending), stored);
    let read: PendingInteraction = serde_json::from_value(stored).unwrap();
    assert_eq!(read, pending);
}

#[test]
fn sch_19_an_answer_restores_the_phase() {
    for phase in [Phase::Planning, Phase::Executing] {
        let mut agent = planned();
        agent.apply(asks(QuestionTopic::AskUser, phase));
        assert_eq!(agent.phase, Phase::Interrupted);
        agent.apply(Update::Replied(CardReply::text("mornings")));
        assert_eq!((agent.phase, agent.pending), (phase, None));
    }
}

#[test]
fn sch_37_the_plan_is_pinned() {
    let agent = planned();
    let plan = "1. Look (done when: it is so)\n2. Place (done when: it is so)";
    assert_eq!(agent.conversation.pinned(PLAN), Some(plan));
    let current = agent.conversation.pinned(scheduler::agent::CURRENT_STEP);
    assert_eq!(current, Some("step 1 of 2: Look"));
}

#[test]
fn sch_95_a_hook_is_consumed_once() {
    let mut agent = planned();
    agent.apply(Update::HookUsed);
    let domain = agent.tools.domain.clone();
    let packs: Vec<_> = agent.tools.packs.iter().cloned().collect();
    assert_eq!((domain.as_deref(), &agent.hook), (Some("schedule"), &None));
    assert_eq!(packs, ["analyze", "mutation"]);
    let once = agent.clone();
    agent.apply(Update::HookUsed);
    assert_eq!(agent, once);
}

#[test]
fn sch_110_the_same_signal_twice_is_standing_still() {
    let health = |signal: &str| {
        Update::Diagnosed(Health {
            checked: true,
            signal: signal.into(),
            ..Health::default()
        })
    };
    let mut agent = AgentState::default();
    let mut counts = vec![];
    for signal in ["a", "a", "a", "b", ""] {
        agent.apply(health(signal));
        counts.push(agent.health.stagnation);
    }
    assert_eq!(counts, [0, 1, 2, 0, 0]);
}

#[test]
fn sch_c20_a_cancel_of_the_user_is_a_reject() {
    let answer =
        |action: &str| serde_json::from_value::<CardReply>(json!({ "action": action })).unwrap();
    let end = |action: &str| {
        let mut agent = planned();
        agent.confirm_plan();
        agent.apply(Update::Wanted(wanted(false)));
        agent.apply(asks(QuestionTopic::Tool, Phase::WaitingConfirm));
        agent.apply(Update::Replied(answer(action)));
        agent
    };
    assert_eq!(end("cancel"), end("reject"));
    assert_eq!(end("cancel").phase, Phase::Executing);
    assert_eq!(end("cancel").wanted, None);
}
