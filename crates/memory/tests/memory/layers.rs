//! Tests of the memory layers: they stay separate and within their limits.
use fugato_memory::{
    DialogueTurn, Execution, ExecutionStatus, ExecutionUpdate, HistoryUpdate, Memory, MemoryUpdate,
    Observation, PendingQuestion, PreferenceUpdate, Speaker, TaskDecision, TaskState, TaskSummary,
    TaskUpdate, WorldSnapshot,
};
use fugato_state::{Plan, PlanStep};
use proptest::prelude::*;
use serde_json::json;

fn said(text: &str, at: i64) -> HistoryUpdate {
    HistoryUpdate::Said(DialogueTurn::new(Speaker::User, text, at))
}

fn waiting() -> PendingQuestion {
    PendingQuestion {
        question: "which?".into(),
        intent: String::new(),
        missing: vec![],
        since: 1,
    }
}

fn planned() -> ExecutionUpdate {
    let content = "look".to_owned();
    ExecutionUpdate::Planned(Plan::new(vec![PlanStep {
        content,
        done_when: String::new(),
    }]))
}

fn learnt(fact: &str) -> TaskUpdate {
    TaskUpdate::Learnt {
        fact: fact.into(),
        at: 1,
    }
}

fn every_layer() -> [MemoryUpdate; 4] {
    let wish = PreferenceUpdate::Set {
        name: "tone".into(),
        wish: "plain".into(),
    };
    [
        MemoryUpdate::History(said("hello", 1)),
        MemoryUpdate::Task(learnt("the exam is in June")),
        MemoryUpdate::Execution(ExecutionUpdate::Began {
            goal: "plan".into(),
        }),
        MemoryUpdate::Preference(wish),
    ]
}

#[test]
fn l14_an_update_of_a_layer_leaves_the_others_alone() {
    for (n, update) in every_layer().into_iter().enumerate() {
        let mut memory = Memory::default();
        memory.apply(update);
        let empty = Memory::default();
        let changed = [
            memory.history != empty.history,
            memory.task != empty.task,
            memory.execution != empty.execution,
            memory.preferences != empty.preferences,
        ];
        assert_eq!(changed, [0, 1, 2, 3].map(|layer| layer == n));
    }
}

#[test]
fn pln_t9_clearing_empties_the_three_layers_of_the_work() {
    let mut memory = Memory::default();
    for update in every_layer() {
        memory.apply(update);
    }
    memory.apply(MemoryUpdate::Cleared);
    let wish = memory.preferences.get("tone");
    assert_eq!(wish, Some("plain"));
    let preferences = memory.preferences.clone();
    assert_eq!(
        memory,
        Memory {
            preferences,
            ..Memory::default()
        }
    );
}

#[test]
fn pln_2_a_history_is_bounded_and_forgets_by_age() {
    let mut memory = Memory::default();
    for at in 0..150 {
        memory.history.apply(said("x", at));
    }
    let times = |memory: &Memory| -> Vec<i64> {
        memory.history.turns().iter().map(|turn| turn.at).collect()
    };
    assert_eq!(times(&memory), (50..150).collect::<Vec<_>>());
    memory.history.apply(HistoryUpdate::ForgottenBefore(145));
    assert_eq!(times(&memory), (145..150).collect::<Vec<_>>());
    memory.history.apply(HistoryUpdate::KeptRecent(2));
    assert_eq!(times(&memory), [148, 149]);
}

#[test]
fn pln_3_a_task_state_is_normalised() {
    let mut task = TaskState::default();
    task.apply(learnt("Lives in Bonn"));
    let summary = TaskSummary {
        goal: "  pass the exam ".into(),
        open_loops: [
            "wait for the user",
            "调用 place",
            "which room?",
            "Which Room? ",
            "the API key abc",
        ]
        .map(str::to_owned)
        .to_vec(),
        facts: ["lives in bonn", " has two children ", ""]
            .map(str::to_owned)
            .to_vec(),
        decision: Some(TaskDecision {
            action: "a".into(),
            reason: "b".into(),
            still_valid: true,
        }),
        ..TaskSummary::default()
    };
    task.apply(TaskUpdate::Merged {
        summary: summary.clone(),
        at: 9,
    });
    let expected = TaskState {
        goal: "pass the exam".into(),
        flow: String::new(),
        open_loops: vec!["which room?".into()],
        facts: vec!["Lives in Bonn".into(), "has two children".into()],
        decision: summary.decision,
        updated: 9,
    };
    assert_eq!(task, expected);
}

#[test]
fn pln_w1_a_fact_is_only_lost_if_it_is_withdrawn() {
    let mut task = TaskState::default();
    for fact in ["one", "two"] {
        task.apply(learnt(fact));
    }
    let silent = TaskSummary::default();
    task.apply(TaskUpdate::Merged {
        summary: silent,
        at: 2,
    });
    assert_eq!(task.facts, ["one", "two"]);
    let withdrawn = vec!["ONE".to_owned()];
    let said = TaskSummary {
        withdrawn,
        ..TaskSummary::default()
    };
    task.apply(TaskUpdate::Merged {
        summary: said,
        at: 3,
    });
    assert_eq!(task.facts, ["two"]);
}

#[test]
fn pln_5_old_observations_become_notes() {
    let mut execution = Execution::default();
    for n in 0..20 {
        execution.apply(ExecutionUpdate::Observed(Observation {
            step: String::new(),
            kind: "tool".into(),
            summary: format!("{n}{}", "报".repeat(500)),
            raw: None,
            at: n,
        }));
    }
    let times: Vec<i64> = execution.observed.iter().map(|one| one.at).collect();
    assert_eq!(times, (12..20).collect::<Vec<_>>());
    let notes: Vec<_> = execution
        .notes
        .iter()
        .map(|note| note.split('报').next())
        .collect();
    let expected = ["tool: 8", "tool: 9", "tool: 10", "tool: 11"].map(Some);
    assert_eq!(notes, expected);
    assert!(
        execution
            .observed
            .iter()
            .all(|one| one.summary.chars().count() == 400)
    );
}

#[test]
fn pln_16b_a_newer_look_replaces_an_older_of_its_kind() {
    let mut execution = Execution::default();
    for (value, at) in [(1, 10), (2, 20), (3, 15)] {
        let snapshot = WorldSnapshot {
            value: json!(value),
            at,
        };
        execution.apply(ExecutionUpdate::Seen {
            kind: "rooms".into(),
            snapshot,
        });
    }
    assert_eq!(
        execution.snapshots["rooms"],
        WorldSnapshot {
            value: json!(2),
            at: 20
        }
    );
}

#[test]
fn pln_t10_the_status_changes_as_allowed_and_not_otherwise() {
    use ExecutionStatus::{
        Completed, Failed, Planning, Running, WaitingUser, WaitingUserConfirmation,
    };
    let all = [
        Planning,
        Running,
        WaitingUser,
        WaitingUserConfirmation,
        Completed,
        Failed,
    ];
    let allowed: Vec<_> = all
        .iter()
        .flat_map(|from| all.iter().map(move |to| (*from, *to)))
        .filter(|(from, to)| from.may_become(*to))
        .collect();
    let expected = [
        (Planning, Running),
        (Running, WaitingUser),
        (Running, WaitingUserConfirmation),
        (Running, Completed),
        (Running, Failed),
        (WaitingUser, Planning),
        (WaitingUserConfirmation, Planning),
        (WaitingUserConfirmation, Running),
        (Completed, Planning),
        (Failed, Planning),
    ];
    assert_eq!(allowed, expected);
    let mut execution = Execution::default();
    execution.apply(ExecutionUpdate::Completed);
    execution.apply(ExecutionUpdate::Asked(waiting()));
    assert_eq!(execution, Execution::default());
    execution.apply(planned());
    execution.apply(ExecutionUpdate::AskedToConfirm(waiting()));
    assert_eq!(
        (execution.status, &execution.waiting),
        (WaitingUserConfirmation, &Some(waiting()))
    );
    execution.apply(ExecutionUpdate::Confirmed);
    assert_eq!((execution.status, &execution.waiting), (Running, &None));
}

fn update() -> impl Strategy<Value = MemoryUpdate> {
    let text = "[a-c报 ]{0,5}";
    prop_oneof![
        (text, 0..50i64).prop_map(|(text, at)| MemoryUpdate::History(said(&text, at))),
        (0..5usize).prop_map(|n| MemoryUpdate::History(HistoryUpdate::KeptRecent(n))),
        text.prop_map(|fact| MemoryUpdate::Task(learnt(&fact))),
        text.prop_map(|error| MemoryUpdate::Execution(ExecutionUpdate::Failed { error })),
        Just(MemoryUpdate::Execution(planned())),
        Just(MemoryUpdate::Execution(ExecutionUpdate::Asked(waiting()))),
        Just(MemoryUpdate::Execution(ExecutionUpdate::Answered)),
        (text, text).prop_map(
            |(name, wish)| MemoryUpdate::Preference(PreferenceUpdate::Set { name, wish })
        ),
        Just(MemoryUpdate::Cleared),
    ]
}

proptest! {
    #[test]
    fn what_is_stored_is_what_was_applied(updates in prop::collection::vec(update(), 0..40)) {
        let mut memory = Memory::default();
        let mut again = Memory::default();
        for update in updates {
            let stored = serde_json::to_string(&update)?;
            memory.apply(update);
            again.apply(serde_json::from_str(&stored)?);
            again = serde_json::from_str(&serde_json::to_string(&again)?)?;
        }
        prop_assert_eq!(memory, again);
    }
}

#[test]
fn pln_21_what_was_true_then_is_kept_and_not_told_again() {
    let turn = DialogueTurn::new(Speaker::Assistant, "There are two models.", 7);
    let old = json!({ "by": "assistant", "text": "There are two models.", "at": 7 });
    assert_eq!(serde_json::to_value(&turn).ok(), Some(old));
    assert_eq!(turn.lasting(), "There are two models.");
    let turn = turn.passing(true);
    assert_eq!(
        turn.lasting(),
        "(what was looked up then; it may have changed since)"
    );
    assert_eq!(turn.text, "There are two models.");
    let again = serde_json::to_value(&turn).and_then(serde_json::from_value::<DialogueTurn>);
    assert_eq!(again.ok(), Some(turn));
}
