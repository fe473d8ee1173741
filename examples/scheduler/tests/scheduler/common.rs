//! A small week, a scripted model, and an agent over a log, for tests.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{self, StatusCode},
};
use fugato::{
    graph::{Answers, BoxError, RunnerOptions},
    llm::{ChatModel, ChatRequest},
    state::{Interrupt, InterruptId, ThreadId},
    store::MemoryLog,
};
use fugato_testkit::{
    Scripted, ScriptedReply,
    consent::WorldStore,
    session::{self, Session},
};
use scheduler::{
    agent::{AgentState, Card, CardReply, Request, Update},
    deps::{Deps, ScheduleProvider},
    llm_config::{LlmConfig, OnFailure},
    schedule::{
        DayMapping, EventType, Level, PlacementStatus, ScheduleState, ScheduleTask, Slot, Source,
        SubjectType, TaskClass, Window,
    },
    service::Service,
    store::{self, ScheduleStore, StoreWrite},
};
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) const ALGEBRA: u32 = 1;
pub(crate) const SEMINAR: u32 = 2;
pub(crate) const FIRST: u32 = 3;
pub(crate) const SECOND: u32 = 4;
pub(crate) const GYM: u32 = 5;
pub(crate) const CHOIR: u32 = 6;
pub(crate) const LECTURE: u32 = 7;

/// Returns two weeks from Monday, 14 September 2026 on: a course, a seminar that allows a guest,
/// two pending items in order, and two suggested items, the second of which overlaps with a
/// lecture.
pub(crate) fn week() -> ScheduleState {
    let days = (1..=14).map(|day_index| DayMapping {
        day_index,
        week: (day_index - 1) / 7 + 1,
        day_of_week: u8::try_from((day_index - 1) % 7 + 1).expect("at most 7"),
        date: format!("2054-09-{}", 13 + day_index),
    });
    let event = |id, name: &str, slot| ScheduleTask {
        source: Source::Event,
        source_id: format!("event-{id}"),
        status: PlacementStatus::Existing,
        locked: true,
        task_class_id: None,
        event_type: EventType::Course,
        ..item(id, name, 0, 0, Some(slot))
    };
    let mut seminar = event(SEMINAR, "Seminar", Slot::new(2, 3, 4));
    (seminar.locked, seminar.can_embed) = (false, true);
    ScheduleState {
        window: Window {
            days: days.collect(),
            ..Window::default()
        },
        tasks: vec![
            event(ALGEBRA, "Algebra", Slot::new(1, 1, 2)),
            seminar,
            item(FIRST, "Chapter 1", 1, 1, None),
            item(SECOND, "Chapter 2", 1, 2, None),
            item(GYM, "Gym", 2, 0, Some(Slot::new(3, 1, 2))),
            item(CHOIR, "Choir", 3, 0, Some(Slot::new(4, 5, 6))),
            event(LECTURE, "Lecture", Slot::new(4, 6, 7)),
        ],
        task_classes: vec![class(1, "Revision"), class(2, "Sport"), class(3, "Music")],
        ..ScheduleState::default()
    }
}

fn item(id: u32, name: &str, class: u32, order: u32, slot: Option<Slot>) -> ScheduleTask {
    ScheduleTask {
        state_id: id,
        source_id: format!("item-{id}"),
        name: name.into(),
        category: name.into(),
        status: slot.map_or(PlacementStatus::Pending, |_| PlacementStatus::Suggested),
        slots: slot.into_iter().collect(),
        task_class_id: Some(class),
        task_order: order,
        ..ScheduleTask::default()
    }
}

fn class(id: u32, name: &str) -> TaskClass {
    TaskClass {
        id,
        name: name.into(),
        allow_filler_course: true,
        subject_type: Some(SubjectType::Mixed),
        difficulty_level: Some(Level::Low),
        cognitive_intensity: Some(Level::Low),
        ..TaskClass::default()
    }
}

/// A provider of the same schedule for all threads.
#[derive(Debug, Clone)]
pub(crate) struct FixedSchedule(pub(crate) ScheduleState);

#[async_trait]
impl ScheduleProvider for FixedSchedule {
    async fn load(&self, _: &ThreadId) -> Result<ScheduleState, BoxError> {
        Ok(self.0.clone())
    }
}

/// Returns a mind that asks this model, and fails with it.
pub(crate) fn strict(model: impl ChatModel + 'static) -> LlmConfig {
    LlmConfig {
        model: Some(Arc::new(model)),
        on_failure: OnFailure::Error,
        ..LlmConfig::default()
    }
}

/// A turn of a conversation with the agent.
pub(crate) type Turn = session::Turn<AgentState>;

/// A conversation with the agent, whose model has a script.
pub(crate) struct Talk {
    pub(crate) model: Scripted,
    service: Arc<OnceLock<Service>>,
    session: Session<AgentState>,
}

impl Deref for Talk {
    type Target = Session<AgentState>;

    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

impl Talk {
    /// Begins a conversation in memory, over [`week`].
    pub(crate) fn new<R: Into<ScriptedReply>>(script: impl IntoIterator<Item = R>) -> Self {
        Self::about(week(), script)
    }

    pub(crate) fn about<R: Into<ScriptedReply>>(
        schedule: ScheduleState,
        script: impl IntoIterator<Item = R>,
    ) -> Self {
        let model = Scripted::new(script);
        Self::with(&deps(schedule).mind(strict(model.clone())), model)
    }

    /// Begins a conversation with a mind that has a script of its own.
    pub(crate) fn minded(mind: LlmConfig) -> Self {
        Self::with(&deps(week()).mind(mind), Scripted::new([""; 0]))
    }

    /// Begins a conversation without a model.
    pub(crate) fn by_rule(schedule: ScheduleState) -> Self {
        Self::with(&deps(schedule), Scripted::new([""; 0]))
    }

    pub(crate) fn with(deps: &Deps, model: Scripted) -> Self {
        Self::over(WorldStore::in_memory(), deps, model, 30)
    }

    pub(crate) fn over(
        store: impl Into<Arc<WorldStore>>,
        deps: &Deps,
        model: Scripted,
        max_rounds: u64,
    ) -> Self {
        let deps = deps.clone();
        let service = Arc::new(OnceLock::new());
        let first = service.clone();
        let open = move |log| {
            let opened = Service::new(&deps, log, RunnerOptions::default(), max_rounds);
            let opened = opened.expect("the wiring is checked");
            first.get_or_init(|| opened.clone());
            opened.runner().clone()
        };
        let words = move |text: &str| {
            let request = Request::new(text).classes([1]);
            Update::Requested(request.max_rounds(max_rounds))
        };
        Self {
            model,
            service,
            session: Session::new(open, words)
                .thread_named("test")
                .over(store)
                .button(press),
        }
    }

    /// Returns the service, as the first process opened it.
    pub(crate) fn service(&self) -> Service {
        self.runner();
        self.service.get().expect("it is open").clone()
    }

    pub(crate) fn says(&self, said: &Value) {
        self.model.push(said.clone());
    }

    /// Answers a card of this id in the form of the wire.
    pub(crate) async fn resume(&self, id: &str, answer: Value) -> Turn {
        let answers = Answers::to(InterruptId::from(id), answer).expect("it is JSON");
        let service = self.service();
        self.follow(service.runner().resume(self.thread(), answers))
            .await
    }

    pub(crate) async fn request(&self, request: Request) -> Turn {
        let input = self.service().input(request);
        self.start(input).await
    }
}

/// Agrees to every card of a simulation; each is one to agree to.
pub(crate) fn approves(interrupt: &Interrupt) -> Option<Value> {
    let card: Card = serde_json::from_value(interrupt.question.prompt.clone()).ok()?;
    assert_eq!(card.kind, "confirm", "{card:?}");
    serde_json::to_value(CardReply::approve()).ok()
}

fn press(agrees: bool) -> Value {
    let reply = if agrees {
        CardReply::approve()
    } else {
        CardReply::reject(None)
    };
    json!(reply)
}

/// Returns the card that a turn ends with.
pub(crate) fn card(turn: &Turn) -> Card {
    serde_json::from_value(turn.card().question.prompt.clone()).expect("a card")
}

/// Returns the corrections that the model got for its rejected answers.
pub(crate) fn refusals(turn: &Turn) -> Vec<&str> {
    let history = turn.state().conversation.history.iter();
    let told = history.filter(|told| fugato::prompt::is_correction(told));
    told.map(|told| told.content.as_str()).collect()
}

pub(crate) fn deps(schedule: ScheduleState) -> Deps {
    Deps::new()
        .expect("the tools are well-formed")
        .provider(FixedSchedule(schedule))
}

/// Opens a store in a folder of its own, with a calendar.
pub(crate) async fn kept(
    calendar: &str,
    schedule: ScheduleState,
) -> (Arc<dyn ScheduleStore>, tempfile::TempDir) {
    let folder = fugato_testkit::tempdir().unwrap();
    let path = folder.path().join("schedule.db").display().to_string();
    let store = store::open(&path).await.unwrap();
    let filled = StoreWrite::Import { schedule };
    store.write(calendar, "import", &filled).await.unwrap();
    (store, folder)
}

/// Returns the service over the small week and a new log.
pub(crate) fn service(deps: &Deps) -> Service {
    let log = Arc::new(MemoryLog::default());
    Service::new(deps, log, RunnerOptions::default(), 30).expect("the wiring is checked")
}

/// Asks a router as a client that reads `accept`, and returns the status and the text of the answer.
pub(crate) async fn ask(
    app: &Router,
    (method, path): (&str, &str),
    accept: &str,
    body: String,
) -> (StatusCode, String) {
    let request = http::Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json");
    let request = request.header("accept", accept).body(Body::from(body));
    let response = app.clone().oneshot(request.unwrap()).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8_lossy(&body).into_owned())
}

// The answers of a model.

pub(crate) fn task() -> Value {
    json!({ "intent": "task" })
}

pub(crate) fn plan<const N: usize>(steps: [&str; N]) -> Value {
    let steps = steps.map(|content| json!({ "content": content, "done_when": "it is so" }));
    json!({ "action": "plan_done", "speak": "Here is the plan.", "plan_steps": steps.to_vec() })
}

pub(crate) fn look(name: &str, arguments: Value) -> Value {
    call("continue", name, arguments)
}

pub(crate) fn write(name: &str, arguments: Value) -> Value {
    call("confirm", name, arguments)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it reads better where it is called"
)]
pub(crate) fn call(action: &str, name: &str, arguments: Value) -> Value {
    json!({ "action": action, "tool_call": { "name": name, "arguments": arguments } })
}

pub(crate) fn place(task: u32, day: u16, slot: u8) -> Value {
    write(
        "place",
        json!({ "task_id": task, "day": day, "slot_start": slot }),
    )
}

pub(crate) fn ask_user(speak: &str) -> Value {
    json!({ "action": "ask_user", "speak": speak })
}

pub(crate) fn ends(action: &str) -> Value {
    json!({ "action": action, "goal_check": "the result shows it" })
}

/// Returns the place of a task.
pub(crate) fn lies(agent: &AgentState, task: u32) -> Vec<Slot> {
    let schedule = agent.schedule.as_ref().expect("a loaded schedule");
    schedule.task(task).expect("a known task").slots.clone()
}

/// Asserts that every call is followed by exactly one result.
pub(crate) fn assert_paired(agent: &AgentState) {
    let history = &agent.conversation.history;
    let calls = history
        .iter()
        .flat_map(|m| m.tool_calls.iter().map(|call| &call.id));
    let calls: Vec<_> = calls.map(ToString::to_string).collect();
    let results = history.iter().filter_map(|m| m.tool_call_id.as_ref());
    let results: Vec<_> = results.map(ToString::to_string).collect();
    assert_eq!(calls, results);
}

/// Returns all messages of a request as one text.
pub(crate) fn told(request: &ChatRequest) -> String {
    let texts = request
        .messages
        .iter()
        .map(|message| message.content.as_str());
    texts.collect::<Vec<_>>().join("\n---\n")
}

/// Weeks whose mornings are full of courses, and classes with pending items.
pub(crate) fn term(classes: u32, items: u32, weeks: u16) -> ScheduleState {
    let mut state = week();
    state.window.days = (1..=weeks * 7)
        .map(|day_index| DayMapping {
            day_index,
            week: (day_index - 1) / 7 + 1,
            day_of_week: u8::try_from((day_index - 1) % 7 + 1).expect("at most 7"),
            date: String::new(),
        })
        .collect();
    state.tasks = (1..=weeks * 7)
        .filter(|day| day % 7 < 6 && day % 7 > 0)
        .map(|day| ScheduleTask {
            source: Source::Event,
            status: PlacementStatus::Existing,
            locked: true,
            event_type: EventType::Course,
            task_class_id: None,
            ..item(u32::from(day), "Lecture", 0, 0, Some(Slot::new(day, 1, 4)))
        })
        .collect();
    for of in 1..=classes {
        let items = (1..=items).map(|order| ScheduleTask {
            category: format!("Class {of}"),
            ..item(
                of * 1000 + order,
                &format!("Item {of}.{order}"),
                of,
                order,
                None,
            )
        });
        state.tasks.extend(items);
    }
    state.task_classes = (1..=classes)
        .map(|of| TaskClass {
            total_slots: items * 2,
            ..class(of, &format!("Class {of}"))
        })
        .collect();
    state
}
