//! Client requests become updates, and threads become page data.
use fugato_testkit::assert_contains;
use std::sync::Arc;

use crate::common::{GYM, Talk, deps, ends, kept, look, plan, service, task, week};
use fugato::{
    axum::{BadInput, Caller, ServedAgent as _, UserMessage},
    state::{Interrupt, ThreadId},
    stream::Resume,
};
use futures::FutureExt as _;
use jiff::{Timestamp, civil::date, tz::TimeZone};
use scheduler::{
    agent::{CardReply, Request, Update},
    contract::Call,
    served::ServedScheduler,
    service::Service,
    store::{MemoryNote, NoteKind, ScheduleStore, StoreWrite},
};
use serde_json::{Map, Value, json};

async fn served() -> ServedScheduler {
    stored().await.0
}

async fn stored() -> (ServedScheduler, Arc<dyn ScheduleStore>) {
    let (store, folder) = kept("home", week()).await;
    let _ = folder.keep();
    let served = ServedScheduler::new(service(&deps(week())), store.clone(), "home");
    (served, store)
}

fn said(text: &str, extra: Value) -> UserMessage {
    let mut said = UserMessage::new(Caller::default(), text);
    said.extra = match extra {
        Value::Object(extra) => extra,
        _ => Map::new(),
    };
    said
}

async fn request(extra: Value) -> Result<Request, BadInput> {
    match served().await.input(said("Plan", extra)).await?.pop() {
        Some(Update::Requested(request)) => Ok(request),
        other => panic!("{other:?} is no request"),
    }
}

#[tokio::test]
async fn sch_136_what_comes_beside_the_words_is_understood() {
    let plain = request(json!({})).await.expect("a request");
    assert_eq!(plain.task_class_ids, [1, 2, 3], "all there are");
    assert_eq!((plain.always_execute, plain.thinking), (false, None));
    let extra = json!({
        "task_class_ids": [2], "always_execute": true, "thinking": "true", "lang": "zh",
        "somebody_elses": { "field": 1 },
    });
    let full = request(extra).await.expect("a request");
    assert_eq!(full.task_class_ids, [2]);
    assert_eq!((full.always_execute, full.thinking), (true, Some(true)));
    let auto = request(json!({ "thinking": "auto" })).await;
    assert_eq!(auto.expect("a request").thinking, None);
    let call = json!({ "name": "move", "arguments": { "task_id": GYM } });
    let dragged = request(json!({ "change": call })).await.expect("a request");
    let call: Option<Call> = serde_json::from_value(call).ok();
    assert_eq!(dragged.call, call);
}

#[tokio::test]
async fn sch_134_a_request_says_what_the_clock_of_the_person_shows() {
    let clock = |service: Service, request: Request| match service.input(request) {
        Update::Requested(request) => request.now,
        other => panic!("{other:?} is no request"),
    };
    let service = || service(&deps(week()));
    assert_eq!(clock(service(), Request::new("Plan")), None);
    let zone = TimeZone::get("Asia/Shanghai").expect("a known zone");
    let there = || zone.to_datetime(Timestamp::now());
    let before = there();
    let shown = clock(service().zone(zone.clone()), Request::new("Plan"));
    assert!((before..=there()).contains(&shown.expect("a time")));
    // A client that sends the time overrides the clock.
    let mut told = Request::new("Plan");
    told.now = Some(date(2026, 3, 2).at(8, 0, 0, 0));
    assert_eq!(clock(service().zone(zone.clone()), told.clone()), told.now);
}

#[tokio::test]
async fn sch_136_what_cannot_be_used_is_refused_in_words() {
    let refused = async |extra| request(extra).await.expect_err("it is refused").to_string();
    let unknown = refused(json!({ "task_class_ids": [9] })).await;
    assert!(
        unknown.contains('9') && unknown.contains("[1, 2, 3]"),
        "{unknown}"
    );
    let wrong = refused(json!({ "always_execute": "yes" })).await;
    assert_contains(&wrong, "always_execute (a boolean)");
    // Calls by hand are limited to the tools for places.
    let call = json!({ "name": "upsert_task_class", "arguments": {} });
    let other = refused(json!({ "change": call })).await;
    assert_contains(&other, "move, place, swap, unplace");
    let silent = served().await.input(said("  ", json!({}))).await;
    assert_contains(&silent.expect_err("it is refused").to_string(), "no text");
}

/// A memory that always fails.
struct Amnesia;

#[async_trait::async_trait]
impl scheduler::recall::NoteSearch for Amnesia {
    async fn recall(&self, _: &str) -> Result<Vec<String>, fugato::graph::BoxError> {
        Err("the index is gone".into())
    }
}

#[tokio::test]
async fn sch_132_what_was_noted_is_pinned_before_the_graph_runs() {
    let (served, store) = stored().await;
    for text in ["Never on a Friday afternoon", "The bakery closes at six"] {
        let (kind, text) = (NoteKind::Note, text.to_owned());
        let note = StoreWrite::Note(MemoryNote { kind, text });
        store
            .write("home", &format!("{note:?}"), &note)
            .await
            .expect("a note");
    }
    let request = async |served: &ServedScheduler| {
        let updates = served.input(said("Plan Friday, please", json!({}))).await;
        match updates.expect("a request").pop() {
            Some(Update::Requested(request)) => request,
            other => panic!("{other:?} is no request"),
        }
    };
    let known = request(&served).await;
    let friday = Some("- Never on a Friday afternoon\n");
    assert_eq!(known.memory.as_deref(), friday);
    let mut agent = scheduler::agent::AgentState::default();
    fugato::state::State::apply(&mut agent, Update::Requested(known));
    let pinned = agent.conversation.pinned("memory_context");
    assert_eq!(pinned, friday);
    // Without its memory the agent still works.
    let forgetful = request(&served.memory(Amnesia)).await;
    assert_eq!(forgetful.memory, None);
    fugato::state::State::apply(&mut agent, Update::Requested(forgetful));
    assert_eq!(agent.conversation.pinned("memory_context"), None);
}

#[tokio::test]
async fn sch_23_answers_of_all_protocols_become_replies() {
    let served = served().await;
    let question =
        json!({ "id": "q", "task": "interrupt#1", "key": "answer", "prompt": {}, "schema": {} });
    let asked: Interrupt = serde_json::from_value(question).expect("a question");
    let thread = ThreadId::new("home").expect("a name");
    let reply = |resume: Resume| {
        let answered = resume.answers.into_iter().next().expect("an answer");
        let caller = Caller::default();
        let value = served.answer(&thread, &caller, &asked, answered);
        let value = value.now_or_never().expect("it waits for nothing");
        let value = value.expect("an answer");
        serde_json::from_value::<CardReply>(value).expect("a reply")
    };
    let openai = |text: &str, action: &str| {
        let resume = json!({ "interaction_id": "q", "type": "confirm", "action": action });
        let messages = [json!({ "role": "user", "content": text })];
        let request = json!({ "messages": messages, "ext": { "resume": resume } });
        reply(Resume::openai(&request).expect("an answer"))
    };
    assert_eq!(openai("", "approve"), CardReply::approve());
    let because = CardReply::reject(Some("not on Friday".into()));
    assert_eq!(openai("not on Friday", "reject"), because);
    assert_eq!(openai("", "cancel"), CardReply::reject(None));
    let page = |answer: Value| {
        let request = json!({ "answers": { "q": answer } });
        reply(Resume::by_id(&request).expect("an answer"))
    };
    assert_eq!(page(json!("next week")), CardReply::text("next week"));
    assert_eq!(page(json!(true)), CardReply::approve());
    assert_eq!(
        page(json!({ "action": "reject", "text": "not on Friday" })),
        because
    );
}

#[tokio::test]
async fn a_timeline_tells_what_was_said_and_done_and_no_corrections() {
    let stage = Talk::new([
        json!("no JSON at all"),
        task(),
        plan(["Look"]),
        look("get_overview", json!({})),
        ends("done"),
        json!("That was it."),
    ]);
    stage.say("What does my week look like?").await;
    stage.approve().await;
    let agent = stage.state().await;
    let served = served().await;
    let title = served.title(&agent);
    assert_eq!(title.as_deref(), Some("What does my week look like?"));
    let timeline = serde_json::to_value(served.timeline(&agent)).expect("JSON");
    let items = timeline.as_array().expect("a list").iter();
    let kinds: Vec<_> = items.filter_map(|item| item["kind"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"user_text"));
    assert!(
        kinds.contains(&"tool_call") && kinds.contains(&"tool_result"),
        "{kinds:?}"
    );
    assert!(!timeline.to_string().contains("no JSON at all"));
}
