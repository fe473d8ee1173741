//! Carrying out a plan, decision by decision.
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use fugato::{
    graph::BoxError,
    state::{Role, ThreadId},
    store::MemoryLog,
};
use fugato_testkit::{Scripted, assert_contains, assert_lacks};
use scheduler::{
    agent::{CardReply, Phase, QuestionTopic, ROUGH_BUILD_DONE, Request, TerminalStatus},
    deps::{Deps, ScheduleProvider},
    llm_config::LlmConfig,
    schedule::{PlacementStatus, ScheduleState, Slot},
};
use serde_json::{Value, json};

use crate::common::{
    CHOIR, FIRST, GYM, SECOND, Talk, Turn, ask_user, assert_paired, call, card, deps, ends, lies,
    look, place, plan, refusals, strict, task, told, week,
};

fn always() -> Request {
    Request::new("Arrange it").classes([1]).always_execute()
}

fn asking() -> Value {
    ask_user("Well?")
}

async fn play(script: impl IntoIterator<Item = Value>) -> (Talk, Turn) {
    let begin = [task(), plan(["First", "Second"])];
    let stage = Talk::new(begin.into_iter().chain(script));
    let scene = stage.request(always()).await;
    (stage, scene)
}

/// Returns the text of the last request to the model.
fn last(stage: &Talk) -> String {
    told(stage.model.requests().last().unwrap())
}

/// Returns the code of the outcome.
fn code(scene: &Turn) -> &str {
    &scene.state().run.outcome.as_ref().unwrap().code
}

/// Returns an agent without a model.
fn by_rule(schedule: ScheduleState) -> Talk {
    let deps = deps(schedule).mind(LlmConfig::default());
    Talk::with(&deps, Scripted::new([""; 0]))
}

#[tokio::test]
async fn sch_16_schemas_are_built_anew() {
    let (stage, scene) = play([look("get_overview", json!({})), asking()]).await;
    let asked = told(stage.model.requests().last().unwrap());
    let stored = serde_json::to_string(scene.state()).unwrap();
    // The tool descriptions and instructions in the prompt are not part of the stored state.
    for text in [
        "You are a scheduling assistant",
        "Lets two placed tasks of equal length",
    ] {
        assert!(asked.contains(text), "{asked}");
        assert!(!stored.contains(text), "{stored}");
    }
    assert!(stored.contains("current_step") && stored.contains("Arrange it"));
}

/// A provider that counts the loads of the schedule.
struct Counting(Arc<AtomicUsize>);

#[async_trait]
impl ScheduleProvider for Counting {
    async fn load(&self, _: &ThreadId) -> Result<ScheduleState, BoxError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(week())
    }
}

#[tokio::test]
async fn sch_17_the_schedule_is_loaded_once_with_its_original() {
    let loads = Arc::new(AtomicUsize::new(0));
    let model = Scripted::new([
        task(),
        plan(["Look"]),
        look("get_overview", json!({})),
        place(FIRST, 1, 3),
        asking(),
    ]);
    let deps = Deps::new().unwrap().provider(Counting(loads.clone()));
    let stage = Talk::with(&deps.mind(strict(model.clone())), model);
    let asked = stage.say("Look").await;
    assert_eq!(loads.load(Ordering::Relaxed), 0);
    assert_eq!(asked.state().schedule, None);
    stage.approve().await;
    let scene = stage.approve().await;
    assert_eq!(loads.load(Ordering::Relaxed), 1);
    assert_eq!(scene.state().original.as_deref(), Some(&week()));
    assert_eq!(lies(scene.state(), FIRST), [Slot::new(1, 3, 4)]);
}

/// Starts a conversation that waits for consent to place the first chapter.
async fn writing(rest: impl IntoIterator<Item = Value>) -> Talk {
    let begin = [task(), plan(["First"]), place(FIRST, 1, 3)];
    let stage = Talk::new(begin.into_iter().chain(rest));
    stage.say("Arrange it").await;
    stage.approve().await;
    stage
}

#[tokio::test]
async fn sch_21_an_accepted_call_runs_without_the_model() {
    let stage = writing([asking()]).await;
    let wanted = stage.state().await.wanted.unwrap();
    assert_eq!((&*wanted.call.name, wanted.accepted), ("place", false));
    let seen = stage.model.requests().len();
    let scene = stage.approve().await;
    assert_eq!(lies(scene.state(), FIRST), [Slot::new(1, 3, 4)]);
    assert_eq!(scene.state().wanted, None);
    // The one request after it already knew the result.
    assert_eq!(stage.model.requests().len(), seen + 1);
    assert_contains(&last(&stage), "placed task 3");
    assert_paired(scene.state());
}

#[tokio::test]
async fn sch_23_resuming_asks_no_model() {
    let stage = writing([]).await;
    let before = stage.model.requests().len();
    let id = stage.card().id.to_string();
    let answer = json!({ "action": "reject", "text": "not now" });
    let scene = stage.resume(&id, answer).await;
    // Only the next decision asks the model: the script is over, and it says which call it was.
    assert_contains(&scene.error(), "call 4 of a script with 3 replies");
    assert_eq!(stage.model.requests().len(), before + 1);
    assert_eq!(stage.state().await.wanted, None);
}

#[tokio::test]
async fn sch_25_a_reason_becomes_the_message_of_the_user() {
    let stage = writing([asking()]).await;
    let rejected = CardReply::reject(Some("Not on Mondays.".into()));
    let scene = stage.answer(rejected).await;
    let mut history = scene.state().conversation.history.iter();
    let said = history.rfind(|message| message.role == Role::User);
    assert_eq!(said.unwrap().content, "Not on Mondays.");
    assert_contains(&last(&stage), "Not on Mondays.");
}

#[tokio::test]
async fn sch_26_always_execute_asks_nothing() {
    let (_, scene) = play([place(FIRST, 1, 3), ends("done"), json!("Done.")]).await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    let statuses = "accepted planning plan_auto_confirmed executing executing summarizing done";
    assert_eq!(scene.statuses().join(" "), statuses);
    assert_eq!(lies(scene.state(), FIRST), [Slot::new(1, 3, 4)]);
}

#[tokio::test]
async fn sch_39_a_round_begins_in_order() {
    let stage = writing([asking()]).await;
    let agent = &stage.state().await;
    // The hook was consumed, the schedule loaded, the context pinned, a round used.
    assert_eq!((&agent.hook, agent.run.rounds.used), (&None, 1));
    assert!(agent.schedule.is_some());
    let context = agent.conversation.pinned("execution_context");
    assert_eq!(context, Some("First (done when: it is so)"));
    // An accepted call comes before everything else, and uses no round of its own.
    let scene = stage.approve().await;
    assert_eq!(scene.statuses(), ["confirmed", "executing", "ask_user"]);
    assert_eq!(scene.state().run.rounds.used, 2);
}

#[tokio::test]
async fn sch_43_each_action_of_execution_leads_on() {
    let silent = json!({ "action": "continue", "reason": "Both days look alike." });
    let (stage, scene) = play([
        silent,
        look("get_overview", json!({})),
        ends("next_plan"),
        look("list_tasks", json!({})),
        ends("next_plan"),
        json!("Done."),
    ])
    .await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    assert_eq!((scene.state().plan.current, scene.tools().len()), (2, 2));
    // Reasoning without a text is in the history, so that the next round can continue from it.
    assert!(told(&stage.model.requests()[3]).contains("Both days look alike."));

    let abort = json!({
        "action": "abort", "speak": "I give up.",
        "abort": { "code": "exam_is_today", "user_message": "The exam is today." },
    });
    let (_, scene) = play([abort, json!("Sorry.")]).await;
    let outcome = scene.state().run.outcome.as_ref().unwrap();
    let ended = (outcome.status, &*outcome.code);
    assert_eq!(ended, (TerminalStatus::Aborted, "exam_is_today"));
    let mut said = scene.state().conversation.history.iter();
    assert!(said.all(|message| !message.content.contains("I give up")));
    assert_eq!(scene.output().unwrap()["code"], "exam_is_today");
}

#[tokio::test]
async fn sch_44_execution_without_a_step_is_an_error() {
    let script = [task(), plan(["First"]), ends("next_plan")];
    let stage = Talk::new(script);
    let scene = stage.request(always()).await;
    // A step is not closed by a claim: it needs evidence, and so the run comes to no end here.
    assert!(scene.error().contains("call 4 of a script with 3 replies"));
    // With no plan, no free execution and no optimisation there is nothing to execute.
    let node = scheduler::nodes::Execute(deps(week()));
    let graph = fugato::Graph::<scheduler::agent::AgentState>::starting_at("execute")
        .node("execute", node)
        .edge("execute", fugato::END)
        .build()
        .unwrap();
    let runner = fugato::Runner::new(graph, Arc::new(MemoryLog::default()));
    let update = scheduler::agent::Update::Requested(Request::new("Go"));
    let scene = stage.follow(runner.start(stage.thread(), update)).await;
    assert_contains(&scene.error(), "nothing to execute");
}

#[tokio::test]
async fn sch_48_words_with_a_context_call_are_dropped() {
    let packs = json!({ "domain": "schedule", "packs": ["detail_read"], "mode": "merge" });
    let mut more = look("context_tools_add", packs);
    more["speak"] = json!("I fetch another tool.");
    let mut seen = look("query_range", json!({ "day": 1 }));
    seen["speak"] = json!("I look at Monday.");
    let (_, scene) = play([more, seen, asking()]).await;
    assert_eq!(scene.texts(), ["Here is the plan.", "I look at Monday."]);
    let mut history = scene.state().conversation.history.iter();
    assert!(history.all(|message| !message.content.contains("another tool")));
    assert_eq!(scene.tools().len(), 2);
}

#[tokio::test]
async fn sch_50_a_step_needs_evidence() {
    let (_, scene) = play([
        ends("next_plan"),
        look("get_overview", json!({})),
        ends("next_plan"),
        // Evidence for the first step does not count for the second.
        ends("done"),
        asking(),
    ])
    .await;
    let corrections = refusals(&scene);
    assert_eq!(corrections.len(), 2);
    for told in corrections {
        assert_contains(&told, "nothing shows that this step is done");
    }
    assert_eq!(scene.state().plan.current, 1);
}

/// Returns a single day that is far too small, by length and by the rules of the classes.
fn cramped() -> ScheduleState {
    let mut schedule = week();
    schedule.window.days.truncate(1);
    for class in &mut schedule.task_classes {
        class.excluded_slots = vec![1, 2, 3, 4, 5];
    }
    for id in [FIRST, SECOND] {
        let mut tasks = schedule.tasks.iter_mut();
        tasks.find(|task| task.state_id == id).unwrap().duration = 8;
    }
    schedule.tasks.retain(|task| {
        ![GYM, CHOIR].contains(&task.state_id) && task.slots.iter().all(|slot| slot.day == 1)
    });
    schedule
}

#[tokio::test]
async fn sch_52_an_infeasible_schedule_asks_with_four_options() {
    let begin = [task(), plan(["First"]), look("analyze_health", json!({}))];
    let then = [place(FIRST, 1, 3), ends("done"), asking(), ends("done")];
    let script = begin.into_iter().chain(then).chain([json!("Closed.")]);
    let stage = Talk::about(cramped(), script);
    let scene = stage.request(always()).await;
    let corrections = refusals(&scene);
    assert_eq!(corrections.len(), 2, "a write and an end: {corrections:?}");
    let options = [
        "extend the window",
        "relax constraints",
        "reduce the scope",
        "accept the risk and close",
    ];
    for told in corrections {
        assert_contains(&told, options);
    }
    // The person decides; then the agent may close.
    let done = stage.answer(CardReply::text("close it")).await;
    assert!(done.is_finished(), "{:?}", done.end);

    // A rule asks the same, with all four options.
    let stage = by_rule(cramped());
    let asked = stage.say("rearrange everything").await;
    assert_eq!(card(&asked).topic, QuestionTopic::AskUser);
    assert_contains(&card(&asked).summary, ["(1)", "(2)", "(3)", "(4)"]);
    let ended = stage.answer(CardReply::text("4")).await;
    assert_eq!(code(&ended), "infeasible");
}

#[tokio::test]
async fn sch_64_a_draft_is_refined_unless_unwanted() {
    use PlacementStatus::{Existing, Suggested};
    let now = |scene: &Turn, id| {
        let agent = scene.state();
        let task = agent.schedule.as_ref().unwrap().task(id).unwrap();
        (task.status, agent.run.unsaved)
    };
    let stage = by_rule(week());
    let asked = stage.say("place everything").await;
    assert!(asked.statuses().contains(&"rough_build_done"));
    assert_eq!(card(&asked).topic, QuestionTopic::Schedule);
    let pinned = asked.state().conversation.pinned(ROUGH_BUILD_DONE);
    assert!(pinned.is_some());
    assert_eq!(now(&asked, FIRST), (Suggested, true));
    assert_eq!(now(&stage.approve().await, FIRST), (Existing, false));

    let draft = by_rule(week()).say("place everything, draft only").await;
    assert!(draft.is_finished());
    let statuses = draft.statuses();
    assert!(statuses.contains(&"rough_build_done_no_refine"));
    assert_eq!(now(&draft, SECOND), (Suggested, true));
}

/// Returns a week in which no item may lie anywhere.
fn full() -> ScheduleState {
    let mut schedule = week();
    for class in &mut schedule.task_classes {
        class.excluded_days_of_week = (1..=7).collect();
    }
    schedule
}

#[tokio::test]
async fn sch_63_what_cannot_be_placed_aborts_with_its_code() {
    let mut no_window = week();
    no_window.window.days.clear();
    for (schedule, expected) in [
        (no_window, "rough_build_window_missing"),
        (full(), "rough_build_pending_remaining"),
    ] {
        let scene = by_rule(schedule).say("place everything").await;
        let outcome = scene.state().run.outcome.as_ref().unwrap();
        assert_eq!(outcome.status, TerminalStatus::Aborted);
        assert_eq!(code(&scene), expected);
        assert!(scene.statuses().contains(&"rough_build_failed"));
        assert_eq!(scene.state().conversation.pinned(ROUGH_BUILD_DONE), None);
    }
}

#[tokio::test]
async fn a_rule_ends_when_its_draft_is_rejected() {
    let stage = by_rule(week());
    stage.say("place everything").await;
    let ended = stage.reject().await;
    assert!(ended.is_finished(), "{:?}", ended.end);
    assert_eq!(code(&ended), "schedule_refused");
    assert!(ended.state().run.unsaved);
    // The next request can take it up again.
    let again = stage.say("rearrange everything").await;
    assert_eq!(card(&again).topic, QuestionTopic::Schedule);
}

#[tokio::test]
async fn sch_c6_a_finished_run_leaves_a_thread_that_goes_on() {
    let (stage, scene) = play([place(FIRST, 1, 3), ends("done"), json!("Done.")]).await;
    assert!(scene.is_finished());
    let undo = call("confirm", "unplace", json!({ "task_id": FIRST }));
    let undone = [undo, ends("done"), json!("Undone.")];
    for said in [task(), plan(["Other"])].iter().chain(&undone) {
        stage.says(said);
    }
    let next = stage.request(always()).await;
    assert!(next.is_finished(), "{:?}", next.end);
    let agent = next.state();
    assert_eq!((agent.phase, agent.plan.steps.len()), (Phase::Done, 1));
    assert_eq!(lies(agent, FIRST), []);
    // The earlier messages are still known, but their loop has left the working area.
    let requests = stage.model.requests();
    assert_lacks(
        &requests[requests.len() - 2].messages[2].content,
        "[call-1]",
    );
    let history = agent.conversation.history.iter();
    let words = history.filter(|message| message.role == Role::User);
    assert_eq!(words.count(), 2);
}
