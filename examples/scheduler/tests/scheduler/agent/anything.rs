//! Any answer of a model and any reply of a person is carried out, corrected or refused; a rule
//! decides where nothing else helps, and the result is a valid schedule.
use std::sync::Arc;

use fugato::graph::RunResult;
use fugato_testkit::{Scripted, ScriptedReply as Said, consent::WorldStore};
use proptest::prelude::*;
use scheduler::{
    agent::{AgentState, CardReply, Phase, Request},
    llm_config::{LlmConfig, OnFailure},
    schedule::{EventType, ScheduleState, ScheduleTask, Slot},
};
use serde_json::{Value, json};

use crate::common::{CHOIR, FIRST, SECOND, Talk, assert_paired, deps, week};

const TOOLS: [&str; 16] = [
    "get_overview",
    "find_free",
    "list_tasks",
    "query_available_slots",
    "query_target_tasks",
    "place",
    "move",
    "swap",
    "batch_move",
    "unplace",
    "analyze_health",
    "context_tools_add",
    "context_tools_remove",
    "queue_pop_head",
    "queue_apply_head_move",
    "no_such_tool",
];

/// Generates a small number, mostly one that exists.
fn number() -> BoxedStrategy<Value> {
    prop_oneof![
        9 => (1_u32..16).prop_map(|n| json!(n)),
        1 => prop_oneof![Just(json!(-1)), Just(json!(0)), Just(json!(1e300)), Just(json!("3")), Just(json!(null))],
    ]
    .boxed()
}

fn arguments() -> BoxedStrategy<Value> {
    let place = |task: &'static str, day: &'static str, slot: &'static str| {
        (number(), number(), number())
            .prop_map(move |(t, d, s)| json!({ task: t, day: d, slot: s }))
    };
    let moved = || place("task_id", "new_day", "new_slot_start");
    prop_oneof![
        4 => place("task_id", "day", "slot_start"),
        3 => moved(),
        2 => (number(), number()).prop_map(|(a, b)| json!({ "task_a": a, "task_b": b })),
        1 => prop::collection::vec(moved(), 0..4).prop_map(|moves| json!({ "moves": moves })),
        1 => number().prop_map(|n| json!({ "task_id": n, "duration": n })),
        1 => (number(), number()).prop_map(|(d, s)| json!({ "new_day": d, "new_slot_start": s })),
        2 => prop_oneof![
            Just(json!({ "domain": "schedule", "packs": ["mutation", "queue"] })),
            Just(json!({ "domain": "taskclass" })),
            Just(json!({ "all": true })),
            Just(json!({ "domain": "schedule", "packs": ["core"] })),
        ],
        1 => Just(json!({})),
        1 => prop_oneof![Just(json!([])), Just(json!("{}")), Just(json!(null))],
    ]
    .boxed()
}

fn action() -> BoxedStrategy<Value> {
    let known = [
        "continue",
        "confirm",
        "confirm",
        "ask_user",
        "next_plan",
        "done",
        "abort",
        "plan_done",
    ];
    prop_oneof![
        12 => prop::sample::select(known.to_vec()).prop_map(Value::from),
        1 => prop_oneof![Just(json!("fly")), Just(json!(3)), Just(json!(null)), Just(json!("done|abort"))],
    ]
    .boxed()
}

fn decision() -> BoxedStrategy<Value> {
    let call = (prop::sample::select(TOOLS.to_vec()), arguments());
    let call = call.prop_map(|(name, arguments)| json!({ "name": name, "arguments": arguments }));
    (
        action(),
        prop::option::weighted(0.7, call),
        any::<[bool; 4]>(),
        any::<bool>(),
    )
        .prop_map(|(action, call, [says, checked, aborts, plans], listed)| {
            let mut decision = json!({ "action": action });
            if let Some(call) = call {
                decision["tool_call"] = if listed && plans { json!([call]) } else { call };
            }
            if says {
                decision["speak"] = json!("So be it.");
            }
            if checked {
                decision["goal_check"] = json!("seen");
            }
            if aborts {
                decision["abort"] = json!({ "user_message": "no" });
            }
            if plans {
                decision["plan_steps"] = json!([{ "content": "Look" }, { "content": "Place" }]);
            }
            decision
        })
        .boxed()
}

/// Generates answers of a model: a decision, the beginning of one, one within prose, or no decision
/// at all.
fn said() -> BoxedStrategy<String> {
    prop_oneof![
        10 => decision().prop_map(|decision| decision.to_string()),
        1 => (decision(), 1_usize..60).prop_map(|(decision, most)| decision.to_string().chars().take(most).collect()),
        1 => decision().prop_map(|decision| format!("Sure!\n```json\n{decision}\n```\nSo be it.")),
        1 => Just(r#"{"intent": "chat", "reply": "Hello."}"#.to_owned()),
        1 => ".{0,20}",
    ]
    .boxed()
}

fn reply() -> BoxedStrategy<CardReply> {
    prop_oneof![
        5 => Just(CardReply::approve()),
        1 => Just(CardReply::reject(Some("not like that".into()))),
        1 => Just(CardReply::text("as you like")),
    ]
    .boxed()
}

/// Asserts that no task is lost, and that each is in an allowed place.
fn assert_whole(before: &ScheduleState, now: &ScheduleState) {
    let ids = |state: &ScheduleState| {
        state
            .tasks
            .iter()
            .map(|task| task.state_id)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(now), ids(before), "nothing is lost or made up");
    let length = |task: &ScheduleTask| task.slots.iter().map(Slot::sections).sum::<u8>();
    for task in &now.tasks {
        let was = before.task(task.state_id).unwrap();
        assert_eq!(task.duration, was.duration);
        assert!(
            task.slots.is_empty() || length(task) == task.duration,
            "{task:?}"
        );
        if task.event_type == EventType::Course {
            assert_eq!(task.slots, was.slots, "courses stay");
        }
        for slot in &task.slots {
            assert!((1..=14).contains(&slot.day) && slot.slot_start >= 1 && slot.slot_end <= 12);
            let others = now
                .tasks
                .iter()
                .filter(|other| other.state_id != task.state_id);
            let apart = |there: &Slot| {
                there.day != slot.day
                    || there.slot_end < slot.slot_start
                    || slot.slot_end < there.slot_start
            };
            for other in others.filter(|other| !other.slots.iter().all(apart)) {
                let guest = task.embed_host == Some(other.state_id)
                    && other.embedded_by == Some(task.state_id);
                let host = other.embed_host == Some(task.state_id)
                    && task.embedded_by == Some(other.state_id);
                assert!(guest || host, "{task:?} lies on {other:?}");
            }
        }
    }
    let start = |id| now.task(id).unwrap().start();
    if let (Some(first), Some(second)) = (start(FIRST), start(SECOND)) {
        assert!(first < second, "the chapters keep their order");
    }
}

fn assert_legal(before: &ScheduleState, ended: &RunResult<AgentState>) {
    let agent = ended.state();
    assert_paired(agent);
    if let Some(schedule) = &agent.schedule {
        assert_whole(before, schedule);
    }
    match ended {
        RunResult::Interrupted { interrupts, .. } => {
            assert_eq!((agent.phase, interrupts.len()), (Phase::Interrupted, 1));
            assert!(agent.pending.is_some());
        }
        RunResult::Finished { .. } => {
            assert!(
                matches!(agent.phase, Phase::Done | Phase::Chatting),
                "{:?}",
                agent.phase
            );
            assert_eq!((&agent.pending, &agent.wanted), (&None, &None));
        }
        other => panic!("{other:?}"),
    }
}

/// Runs a request, with replies as long as there is an open question.
async fn play(script: Vec<String>, replies: Vec<CardReply>, always: bool) {
    let mut calendar = week();
    // It overlaps with a lecture from the beginning.
    calendar.tasks.retain(|task| task.state_id != CHOIR);
    let model = Scripted::new(script.into_iter().map(Said::text));
    let mind = LlmConfig {
        model: Some(Arc::new(model.clone())),
        on_failure: OnFailure::Rules,
        ..LlmConfig::default()
    };
    let deps = deps(calendar.clone()).mind(mind).existing_may_move(true);
    let stage = Talk::over(WorldStore::in_memory(), &deps, model, 12);
    let mut request = Request::new("Place the chapters, and move the gym").classes([1]);
    request.always_execute = always;
    let mut scene = stage.request(request).await;
    for reply in replies {
        assert_legal(&calendar, scene.result());
        if scene.is_finished() {
            return;
        }
        scene = stage.answer(reply).await;
    }
    assert_legal(&calendar, scene.result());
}

#[test]
fn sch_w12_whatever_a_model_says_no_phase_is_stuck_and_the_schedule_is_whole() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = ProptestConfig::with_cases(fugato_testkit::share_of(128));
    let replies = || prop::collection::vec(reply(), 8);
    proptest!(config, |(script in prop::collection::vec(said(), 0..24), replies in replies(), always: bool)| {
        let begin = [r#"{"intent": "task"}"#, r#"{"action": "plan_done", "plan_steps": [{"content": "Arrange it"}]}"#];
        let script = begin.into_iter().map(str::to_owned).chain(script).collect();
        runtime.block_on(play(script, replies, always));
    });
}
