//! Everything that a model or a person reads is in the language of the conversation.
use std::sync::Arc;

use fugato::{
    llm::Tag,
    prompt::correction,
    state::{Lang, PlanStep, State as _, ToolCall},
    tool::{CatalogueDetail, ToolContext, Visibility, VisibilityUpdate},
};
use scheduler::{
    agent::{AgentState, ContextHook, Request, Update},
    contract, prompts,
    schedule::{Queue, WriteOptions},
    tools::{ToolView, registry},
};
use serde_json::{Value, json};

use crate::common::{ALGEBRA, CHOIR, FIRST, GYM, SECOND, SEMINAR, week};

/// Returns three words in a row of plain letters, which no name of a tool, key or value is.
fn english(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |word: &&str| {
        let word = word.trim_end_matches([',', '.', ';', ':']);
        word.len() > 1 && word.chars().all(|c| c.is_ascii_alphabetic())
    };
    let found = words.windows(3).find(|three| three.iter().all(is_word));
    found.map(|three| three.join(" "))
}

fn chinese(text: &str) -> bool {
    Lang::of(text) == Lang::Zh
}

fn active(domain: &str) -> Visibility {
    let packs = match domain {
        "schedule" => &[
            "mutation",
            "analyze",
            "detail_read",
            "deep_analyze",
            "queue",
            "arrange",
        ][..],
        _ => &["edit"],
    };
    let mut active = Visibility::new();
    active.apply(VisibilityUpdate::Activated {
        domain: domain.into(),
        packs: packs.iter().map(|pack| (*pack).to_owned()).collect(),
    });
    active
}

#[test]
fn sch_115_tools_are_described_in_the_language_of_the_conversation() {
    let registry = registry().unwrap();
    for domain in ["schedule", "taskclass"] {
        let active = active(domain);
        let shown = || registry.catalogue(&active, CatalogueDetail::Full);
        assert!(!chinese(&shown()), "{}", shown());
        let catalogue = Lang::Zh.scope(shown);
        assert_eq!(english(&catalogue), None, "{catalogue}");
        let schemas = || {
            let schemas = registry.schemas(&active).into_iter();
            json!(schemas.map(|it| it.parameters).collect::<Vec<_>>())
        };
        assert!(!chinese(&schemas().to_string()), "{}", schemas());
        for text in descriptions(&Lang::Zh.scope(schemas)) {
            assert!(chinese(&text), "{text}");
        }
    }
}

/// Returns the descriptions of properties and of their values.
fn descriptions(schema: &Value) -> Vec<String> {
    let inner = |value: &Value| match value {
        Value::Object(object) => object.values().flat_map(descriptions).collect::<Vec<_>>(),
        Value::Array(items) => items.iter().flat_map(descriptions).collect(),
        _ => vec![],
    };
    let mut found = inner(schema);
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flat_map(|all| all.values());
    let described = properties.filter_map(|it| it.get("description")?.as_str());
    found.extend(described.map(str::to_owned));
    found
}

/// Calls of all tools, good and bad.
fn calls() -> Vec<(&'static str, Value)> {
    let to =
        |task: u32, day: u16, slot: u8| json!({ "task_id": task, "day": day, "slot_start": slot });
    let moves = |task: u32, day: u16, slot: u8| json!({ "task_id": task, "new_day": day, "new_slot_start": slot });
    vec![
        ("get_overview", json!({})),
        ("find_free", json!({ "duration": 2 })),
        ("find_free", json!({ "duration": 40 })),
        ("find_free", json!({ "duration": 12, "day": 1 })),
        ("find_free", json!({ "duration": 2, "day": 99 })),
        (
            "find_free",
            json!({ "duration": 2, "day": 1, "day_start": 1 }),
        ),
        ("list_tasks", json!({})),
        ("list_tasks", json!({ "category": "none" })),
        ("list_tasks", json!({ "status": "lost" })),
        ("list_tasks", json!({ "colour": "red" })),
        ("query_range", json!({ "day": 2 })),
        (
            "query_range",
            json!({ "day": 2, "slot_start": 3, "slot_end": 4 }),
        ),
        (
            "query_range",
            json!({ "day": 2, "slot_start": 9, "slot_end": 4 }),
        ),
        ("get_task_info", json!({ "task_id": FIRST })),
        ("get_task_info", json!({ "task_id": 99 })),
        ("get_task_info", json!({})),
        ("analyze_health", json!({})),
        ("analyze_rhythm", json!({})),
        ("place", to(FIRST, 2, 3)),
        ("place", to(FIRST, 2, 12)),
        ("place", to(FIRST, 1, 1)),
        ("place", to(GYM, 1, 1)),
        ("move", moves(GYM, 5, 1)),
        ("move", moves(FIRST, 5, 1)),
        ("move", moves(ALGEBRA, 5, 1)),
        ("move", moves(SEMINAR, 5, 1)),
        ("move", moves(GYM, 3, 1)),
        ("swap", json!({ "task_a": GYM, "task_b": CHOIR })),
        ("batch_move", json!({ "moves": [] })),
        (
            "batch_move",
            json!({ "moves": [moves(GYM, 5, 1), moves(GYM, 6, 1)] }),
        ),
        ("unplace", json!({ "task_id": GYM })),
        (
            "arrange",
            json!({ "tasks": [{ "task_id": GYM }, to(SECOND, 5, 1)] }),
        ),
        ("arrange", json!({ "tasks": [] })),
        ("mark_task", json!({ "task_ids": [GYM], "done": true })),
        (
            "mark_task",
            json!({ "task_ids": [GYM], "deadline": "soon" }),
        ),
        ("mark_task", json!({ "task_ids": [] })),
        ("explain_place", json!({ "task_id": GYM })),
        ("queue_pop_head", json!({})),
        ("queue_skip_head", json!({ "reason": "" })),
        (
            "queue_apply_head_move",
            json!({ "new_day": 1, "new_slot_start": 1 }),
        ),
        ("queue_status", json!({})),
        ("query_available_slots", json!({ "span": 2 })),
        ("query_available_slots", json!({ "span": 0 })),
        ("query_available_slots", json!({ "day_of_week": [9] })),
        ("query_target_tasks", json!({ "status": "all" })),
        ("spread_even", json!({ "task_ids": [GYM] })),
        ("upsert_task_class", json!({ "task_class": { "name": "" } })),
        ("web_search", json!({ "query": "x" })),
        ("fly", json!({})),
        ("context_tools_add", json!({ "domain": "moon" })),
        (
            "context_tools_add",
            json!({ "domain": "schedule", "packs": ["core"] }),
        ),
        ("context_tools_remove", json!({ "all": true })),
    ]
}

#[tokio::test]
async fn sch_115_results_and_refusals_are_in_the_language_of_the_conversation() {
    let registry = registry().unwrap();
    let view = ToolView {
        schedule: Arc::new(week()),
        options: WriteOptions::default(),
        queue: Queue::default(),
        allow_reorder: false,
        free_times: vec![],
    };
    let active = active("schedule");
    for (name, arguments) in calls() {
        let call = ToolCall::new("c1", name, arguments);
        let cx = ToolContext::new(&view).visibility(&active);
        let en = registry.call(&call, cx).await;
        assert!(!chinese(&en.text), "{call:?}: {}", en.text);
        let zh = Lang::Zh.scope_future(registry.call(&call, cx)).await;
        for text in [&zh.text, &zh.summary] {
            assert_eq!(english(text), None, "{call:?}: {text}");
        }
        // A result of figures alone has no words.
        let has_words = english(&en.text).is_some();
        assert!(!has_words || chinese(&zh.text), "{call:?}: {}", zh.text);
        assert_eq!(en.status, zh.status, "{call:?}");
    }
}

#[test]
fn sch_115_prompts_are_in_the_language_of_the_conversation() {
    let mut agent = AgentState::default();
    agent.apply(Update::Requested(Request::new("帮我安排复习").classes([1])));
    let step = PlanStep {
        content: "安排第一章".into(),
        done_when: "它有位置".into(),
    };
    agent.finish_plan(vec![step], false, vec![], ContextHook::schedule("plan"));
    agent.confirm_plan();
    agent.apply(Update::Loaded(Arc::new(week())));
    agent.apply(Update::HookUsed);
    let tag = Tag::around("decision", "k7");
    let catalogue = Lang::Zh.scope(|| {
        let registry = registry().unwrap();
        registry.catalogue(&agent.active_tools(), CatalogueDetail::LITE)
    });
    let stages = [
        prompts::chat(&agent, &tag),
        prompts::route(&agent, &tag),
        prompts::deep_answer(&agent),
        prompts::plan(&agent, &tag, true),
        prompts::execute(&agent, &tag, &catalogue),
        prompts::deliver(&agent, "安排了两项。"),
    ];
    for message in stages.iter().flatten() {
        let text = &message.content;
        assert_eq!(english(text), None, "{text}");
    }
}

#[test]
fn sch_115_corrections_are_in_the_language_of_the_conversation() {
    let answers = [
        "",
        "hm",
        "[]",
        r#"{"action":"#,
        r#"{"action": "fly"}"#,
        r#"{"action": "confirm"}"#,
        r#"{"action": "done", "colour": 1}"#,
        r#"{"action": "abort", "abort": {"user_message": ""}}"#,
        r#"{"action": "continue|done"}"#,
        r#"{"action": "ask_user", "speak": ""}"#,
    ];
    for answer in answers {
        let contract = contract::ExecutorDecision::contract(true);
        let corrected = || match contract.read(answer) {
            Ok(read) => format!("{read:?}"),
            Err(rejected) => correction(&format!("{rejected}\n{}", rejected.correction())).content,
        };
        let english_text = corrected();
        assert!(!chinese(&english_text), "{answer}: {english_text}");
        let text = Lang::Zh.scope(corrected);
        assert!(chinese(&text), "{answer}: {text}");
        assert_eq!(english(&text), None, "{answer}: {text}");
    }
}
