//! The calendar during conversations about it.

use fugato::{graph::HistoryEvent, state::ThreadId, stream::ToolStatus};
use fugato_testkit::{Scripted, assert_contains};
use scheduler::{
    agent::{AgentState, QuestionTopic, Request, TerminalStatus},
    deps::Deps,
    llm_config::LlmConfig,
    schedule::{PlacementStatus, ScheduleState, Slot},
    store::{Calendars, MemoryNote, NoteKind},
};
use serde_json::{Value, json};

use super::{
    scenarios::{NAME, Store, at, changed, filled},
    sqlite::fresh,
};
use crate::common::{
    FIRST, SECOND, Talk, Turn, ask_user, card, ends, lies, place, plan, strict, task,
};

/// An agent over a calendar that has been filled.
struct Fixture {
    stage: Talk,
    store: Store,
    before: ScheduleState,
    _folder: tempfile::TempDir,
}

impl Fixture {
    async fn new(mind: impl FnOnce(&Scripted) -> LlmConfig, script: Vec<Value>) -> Self {
        let (store, folder) = fresh().await.unwrap();
        let before = filled(&store).await;
        let model = Scripted::new(script);
        let deps = Deps::new().unwrap().mind(mind(&model));
        let deps = deps.calendars(Calendars::shared(store.clone(), NAME));
        let stage = Talk::with(&deps, model);
        Self {
            stage,
            store,
            before,
            _folder: folder,
        }
    }

    /// Starts a run in which a model wants to place the first chapter, and the person is asked.
    async fn writing(then: impl IntoIterator<Item = Value>) -> Self {
        let script = [task(), plan(["Place it"]), place(FIRST, 1, 3)];
        let script = script.into_iter().chain(then).collect();
        let desk = Self::new(|model| strict(model.clone()), script).await;
        desk.stage.say("Place it").await;
        let asked = desk.stage.approve().await;
        assert_eq!(card(&asked).topic, QuestionTopic::Tool);
        desk
    }

    /// Starts a run in which a rule places everything, and the person is asked whether to keep it.
    async fn placing() -> (Self, Turn) {
        let desk = Self::new(|_| LlmConfig::default(), vec![]).await;
        let asked = desk.stage.say("plan my week").await;
        assert_eq!(card(&asked).topic, QuestionTopic::Schedule);
        (desk, asked)
    }

    async fn lying(&self) -> ScheduleState {
        self.store.read(NAME).await.unwrap().unwrap().schedule
    }

    /// Places the second chapter as another writer.
    async fn overtake(&self, there: Slot) -> ScheduleState {
        let (theirs, write) = changed(&self.before, &[at(SECOND, there, None)]);
        self.store.write(NAME, "theirs", &write).await.unwrap();
        theirs
    }
}

fn statuses(agent: &AgentState) -> Vec<PlacementStatus> {
    let schedule = agent.schedule.as_ref().unwrap();
    [FIRST, SECOND]
        .map(|id| schedule.task(id).unwrap().status)
        .into()
}

#[tokio::test]
async fn sch_c17_a_confirmed_write_is_stored_at_once_and_the_log_tells_who_agreed() {
    let desk = Fixture::writing([ends("done"), json!("Done.")]).await;
    assert_eq!(desk.lying().await, desk.before, "nobody has agreed yet");
    let card = desk.stage.card().id.to_string();
    let done = desk.stage.approve().await;
    assert!(done.is_finished());
    let agent = done.state();
    assert_eq!(desk.lying().await, **agent.schedule.as_ref().unwrap());
    assert_eq!(lies(agent, FIRST), [Slot::new(1, 3, 4)]);
    let expected = [PlacementStatus::Existing, PlacementStatus::Pending];
    assert_eq!(statuses(agent), expected);
    assert_eq!(done.custom("schedule_preview").len(), 1);
    // The answer to the card, and after it the stored records.
    let runner = desk.stage.runner();
    let history = runner.history(desk.stage.thread(), 1, 100);
    let history = history.await.unwrap();
    let told: Vec<String> = history.iter().map(|entry| format!("{entry:?}")).collect();
    let answered = history.iter().position(|entry| {
        matches!(entry.event(), HistoryEvent::Answered { answers, .. } if format!("{answers:?}").contains(&card))
    });
    let stored = told
        .iter()
        .position(|fact| fact.contains("item-3") && fact.contains("stored"));
    assert!(answered.is_some() && answered < stored, "{told:#?}");
}

#[tokio::test]
async fn sch_c15_what_a_rule_placed_is_stored_when_the_person_accepts_it() {
    let (desk, asked) = Fixture::placing().await;
    assert_eq!(asked.custom("schedule_preview").len(), 1);
    assert_eq!(statuses(asked.state()), [PlacementStatus::Suggested; 2]);
    assert_eq!(
        desk.lying().await,
        desk.before,
        "suggestions are nobody's decision"
    );
    let done = desk.stage.approve().await;
    assert!(done.is_finished());
    assert!(done.statuses().contains(&"schedule_stored"));
    let agent = done.state();
    assert_eq!(statuses(agent), [PlacementStatus::Existing; 2]);
    let places = |state: &ScheduleState| {
        let tasks = state.tasks.iter();
        let places: Vec<_> = tasks
            .map(|task| (task.slots.clone(), task.embed_host))
            .collect();
        places
    };
    let stored = desk.lying().await;
    assert_eq!(places(&stored), places(agent.schedule.as_ref().unwrap()));
    let first = stored.task(FIRST).unwrap();
    assert_eq!(first.status, PlacementStatus::Existing);
    assert!(!agent.agreed);
}

#[tokio::test]
async fn sch_c15_what_the_person_does_not_accept_is_not_stored() {
    let (desk, _) = Fixture::placing().await;
    let refused = desk.stage.reject().await;
    assert!(refused.is_finished());
    assert_eq!(desk.lying().await, desk.before);
}

#[tokio::test]
async fn sch_129_a_write_that_others_overtook_is_told_and_the_calendar_loaded_anew() {
    let desk = Fixture::writing([]).await;
    let theirs = desk.overtake(Slot::new(1, 3, 4)).await;
    desk.stage.says(&ask_user("Another time?"));
    let told = desk.stage.approve().await;
    assert_eq!(desk.lying().await, theirs, "nothing was written");
    assert!(told.statuses().contains(&"schedule_conflict"));
    assert_eq!(told.tools(), [("place", ToolStatus::Failed)]);
    let agent = told.state();
    assert_eq!(**agent.schedule.as_ref().unwrap(), theirs);
    assert!(agent.has_failed_write(), "it cannot count as done");
    let seen = crate::common::told(desk.stage.model.requests().last().unwrap());
    assert_contains(&seen, "taken by \"Chapter 2\"");
}

#[tokio::test]
async fn sch_129_a_whole_schedule_that_others_overtook_is_not_stored() {
    let (desk, _) = Fixture::placing().await;
    let theirs = desk.overtake(Slot::new(12, 7, 8)).await;
    let ended = desk.stage.approve().await;
    assert!(ended.is_finished());
    let agent = ended.state();
    let outcome = agent.run.outcome.as_ref().unwrap();
    let told = (outcome.status, &*outcome.code);
    assert_eq!(told, (TerminalStatus::Aborted, "schedule_conflict"));
    let texts = ended.texts().join("\n");
    assert_contains(&texts, "“Chapter 2” is on Fri 2054-09-25, 16:00–17:40 now");
    assert_eq!(
        texts.matches("“Chapter 2”").count(),
        1,
        "said once: {texts}"
    );
    assert_eq!(desk.lying().await, theirs);
    assert_eq!(**agent.schedule.as_ref().unwrap(), theirs);
    // Another request places the items that are still pending.
    desk.stage.say("plan my week").await;
    let done = desk.stage.approve().await;
    assert!(done.is_finished());
    assert!(desk.lying().await.task(FIRST).unwrap().is_placed());
}

#[tokio::test]
async fn sch_62_quick_notes_and_quick_tasks_are_stored() {
    let desk = Fixture::new(|_| LlmConfig::default(), vec![]).await;
    let first = desk
        .stage
        .request(Request::new("Make a note: buy milk"))
        .await;
    assert_eq!(first.texts(), ["Noted: buy milk"]);
    let task = desk.stage.request(Request::new("提醒我：交作业")).await;
    assert_eq!(
        task.texts(),
        ["已记为待办：交作业。没有说时间，所以不会提醒。"]
    );
    assert!(task.is_finished());
    let notes = desk.store.read(NAME).await.unwrap().unwrap().notes;
    let note = |kind, text: &str| MemoryNote {
        kind,
        text: text.into(),
    };
    let expected = [(NoteKind::Note, "buy milk"), (NoteKind::Task, "交作业")];
    assert_eq!(notes, expected.map(|(kind, text)| note(kind, text)));
}

#[tokio::test]
async fn sch_133_a_calendar_that_is_not_there_is_named() {
    let (store, _folder) = fresh().await.unwrap();
    let deps = Deps::new().unwrap().calendars(Calendars::of_threads(store));
    let stage = Talk::with(&deps, Scripted::new([""; 0]));
    assert_eq!(*stage.thread(), ThreadId::new("test").unwrap());
    let scene = stage.say("plan my week").await;
    assert_contains(&scene.error(), "no calendar \"test\"");
}

/// Returns the decision of a model to write a class.
fn essay(id: u32, items: &Value) -> Value {
    let class = json!({
        "name": "Essay", "mode": "manual", "subject_type": "reading", "difficulty_level": "hard",
        "cognitive_intensity": "low", "config": { "total_slots": 4 },
    });
    crate::common::write(
        "upsert_task_class",
        json!({ "id": id, "task_class": class, "items": items }),
    )
}

#[tokio::test]
async fn sch_88_a_class_is_made_once_the_person_agrees() {
    let domain = json!({ "domain": "taskclass" });
    let script = vec![
        task(),
        plan(["Make a class"]),
        crate::common::look("context_tools_add", domain),
        essay(0, &json!(["Outline", "Draft"])),
        essay(99, &json!(["Outline"])),
        ends("done"),
        ask_user("Which class?"),
    ];
    let desk = Fixture::new(|model| strict(model.clone()), script).await;
    desk.stage.say("Make a class").await;
    let asked = desk.stage.approve().await;
    assert_eq!(card(&asked).topic, QuestionTopic::Tool);
    assert_eq!(desk.lying().await, desk.before);
    let made = desk.stage.approve().await;
    let agent = made.state();
    let stored = desk.lying().await;
    let essay = stored.class(4).unwrap();
    assert_eq!((essay.name.as_str(), essay.total_slots), ("Essay", 4));
    assert_eq!(**agent.schedule.as_ref().unwrap(), stored);
    assert_eq!(agent.task_class_ids, [1, 4]);
    assert!(agent.run.upserts.last_success);
    let told = crate::common::told(desk.stage.model.requests().last().unwrap());
    assert_contains(&told, "none of its items has a place yet");
    // The next one changes a class that is not there: it cannot count as done.
    let refused = desk.stage.approve().await;
    let upserts = &refused.state().run.upserts;
    assert!(!upserts.last_success);
    assert_eq!(upserts.consecutive_failures, 1);
    assert!(
        scheduler::report::Receipts::of_request(refused.state()).classes,
        "the first class has its receipt"
    );
    assert_eq!(upserts.last_issues.len(), 1, "{upserts:?}");
    assert_eq!(refused.corrections().len(), 1, "done was refused");
    assert_eq!(desk.lying().await, stored);
}

#[tokio::test]
async fn sch_88_without_a_store_no_class_is_made() {
    let script = [
        task(),
        plan(["Make a class"]),
        crate::common::look("context_tools_add", json!({ "domain": "taskclass" })),
        essay(0, &json!(["Outline"])),
        ask_user("What now?"),
    ];
    let stage = Talk::new(script);
    stage.say("Make a class").await;
    stage.approve().await;
    stage.approve().await;
    let told = crate::common::told(stage.model.requests().last().unwrap());
    assert_contains(&told, "dependency_missing");
}

#[tokio::test]
async fn sch_83_84_found_tasks_wait_in_the_queue_and_failures_are_counted() {
    let packs = json!({ "domain": "schedule", "packs": ["queue"] });
    let there = |day: u16, slot: u8| {
        let place = json!({ "new_day": day, "new_slot_start": slot });
        crate::common::write("queue_apply_head_move", place)
    };
    let script = vec![
        task(),
        plan(["Place the chapters"]),
        crate::common::look("context_tools_add", packs),
        crate::common::look("query_target_tasks", json!({ "status": "pending" })),
        crate::common::look("queue_pop_head", json!({})),
        there(1, 1),
        there(1, 3),
        crate::common::look("queue_skip_head", json!({ "reason": "later" })),
        ask_user("Is that right?"),
    ];
    let desk = Fixture::new(|model| strict(model.clone()), script).await;
    desk.stage.say("Place the chapters").await;
    let first = desk.stage.approve().await;
    assert_eq!(first.state().run.queue.pending, [SECOND]);
    let failed = desk.stage.approve().await;
    assert_eq!(failed.state().run.queue.attempts, 1);
    let end = desk.stage.approve().await;
    let queue = &end.state().run.queue;
    assert_eq!(queue.completed, [FIRST]);
    assert_eq!(queue.skipped, [SECOND]);
    assert_eq!(lies(end.state(), FIRST), [Slot::new(1, 3, 4)]);
    assert!(
        desk.lying().await.task(FIRST).unwrap().is_placed(),
        "it is stored as well"
    );
}
