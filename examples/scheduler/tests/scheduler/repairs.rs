//! Repairs, terms, preferences and times kept free, as a client of the server sees them: each is a
//! card, nothing is stored before it is agreed to, and a word takes it back.
use std::sync::Arc;

use expect_test::expect;
use fugato_testkit::{Scripted, ScriptedReply, assert_contains};
use jiff::civil::{Date, date};
use scheduler::{
    agent::CardReply,
    calendar::Lang,
    llm_config::{LlmConfig, OnFailure},
    schedule::{PlacementPreferences, ScheduleState, Slot, TaskClass, Window},
    tools::{EDIT_TASK_CLASS, KEEP_FREE, SET_PREFERENCES},
};
use serde_json::{Value, json};

use crate::{
    common::{ALGEBRA, CHOIR, FIRST, GYM, SECOND, SEMINAR, call, ends, look, plan, task, write},
    evening::{Fixture, agreed, fixture_of, lying},
};

/// Two weeks from a day on, whose first item was planned for that day: its class ends two days
/// later, when nothing is free but a section in the morning and one in the evening.
pub(crate) fn cramped(first: Date) -> ScheduleState {
    let mut week = agreed();
    let mut lab = week.task(ALGEBRA).unwrap().clone();
    (lab.state_id, lab.name, lab.source_id) = (20, "Lab".into(), "event-20".into());
    lab.slots = vec![Slot::new(3, 2, 11)];
    week.tasks.push(lab);
    let gone = [SECOND, GYM, SEMINAR];
    week.tasks.retain(|task| !gone.contains(&task.state_id));
    week.window = Window::starting(first, 14);
    in_their_classes(&mut week);
    let end = &week.window.days[2].date;
    week.task_classes[0].end_date = Some(end.clone());
    week
}

/// Names the classes of items as a store does that wrote them.
fn in_their_classes(week: &mut ScheduleState) {
    for class in &mut week.task_classes {
        let mine = week
            .tasks
            .iter()
            .filter(|task| task.task_class_id == Some(class.id));
        class.total_slots = mine.map(|task| u32::from(task.duration)).sum();
    }
    for task in &mut week.tasks {
        let of = |class: &&TaskClass| Some(class.id) == task.task_class_id;
        if let Some(class) = week.task_classes.iter().find(of) {
            task.category.clone_from(&class.name);
        }
    }
}

fn monday() -> Date {
    date(2054, 9, 14)
}

async fn cards(home: &Fixture, thread: &str) -> Option<String> {
    let shown = home.thread(thread).await;
    let card = shown["interrupts"].get(0)?;
    Some(card["prompt"]["summary"].as_str()?.to_owned())
}

#[tokio::test]
async fn a_later_end_and_parts_are_cards_of_their_own_and_undone_by_a_word() {
    let home = fixture_of(cramped(monday()), Lang::En, LlmConfig::default()).await;
    let before = lying(&home.store).await;
    home.pass(9).await;
    let waiting = home.waiting().await;
    let [evening] = waiting.as_slice() else {
        panic!("{waiting:?} wait");
    };
    expect![[r"
        Planned and not done: “Chapter 1” (Mon 2054-09-14, 14:00–15:40).
        1. A later end (“Revision” 2054-09-16 → 2054-09-17): “Chapter 1” Mon 2054-09-14, 14:00–15:40 → Thu 2054-09-17, 16:00–17:40.
        2. In two parts: “Chapter 1” Mon 2054-09-14, 14:00–15:40 → Wed 2054-09-16, 08:00–08:45 and Wed 2054-09-16, 21:45–22:30.
        Each is asked about by itself; “undo” takes back what you agree to."]]
    .assert_eq(&home.told(evening).await);
    // The later end is asked about first; whoever refuses it is asked about the parts.
    assert_contains(&cards(&home, evening).await.unwrap(), "2054-09-17");
    home.answer(evening, CardReply::reject(None)).await;
    assert_eq!(lying(&home.store).await, before);
    assert_contains(&cards(&home, evening).await.unwrap(), "in two parts");
    home.answer(evening, CardReply::approve()).await;
    let parts = lying(&home.store).await.task(FIRST).unwrap().slots.clone();
    assert_eq!(parts, [Slot::new(3, 1, 1), Slot::new(3, 12, 12)]);
    home.say(evening, "undo").await;
    home.answer(evening, CardReply::approve()).await;
    assert_eq!(lying(&home.store).await, before);
}

#[tokio::test]
async fn a_later_end_is_agreed_to_step_by_step_and_undone_as_one() {
    let home = fixture_of(cramped(monday()), Lang::En, LlmConfig::default()).await;
    let before = lying(&home.store).await;
    home.pass(9).await;
    let evening = home.waiting().await.remove(0);
    home.answer(&evening, CardReply::approve()).await;
    assert_contains(&cards(&home, &evening).await.unwrap(), "Thu 2054-09-17");
    home.answer(&evening, CardReply::approve()).await;
    // Of two ways for the same item the first that is agreed to counts.
    assert_eq!(home.waiting().await, Vec::<String>::new());
    let after = lying(&home.store).await;
    assert_eq!(after.task(FIRST).unwrap().slots, [Slot::new(4, 7, 8)]);
    let end = after.task_classes[0].end_date.as_deref();
    assert_eq!(end, Some("2054-09-17"));
    home.say(&evening, "undo").await;
    home.answer(&evening, CardReply::approve()).await;
    home.answer(&evening, CardReply::approve()).await;
    assert_eq!(lying(&home.store).await, before);
}

#[tokio::test]
async fn a_kept_item_that_is_moved_by_hand_is_asked_about_also_while_another_card_waits() {
    for lang in ["en", "zh"] {
        let home = fixture_of(agreed(), Lang::En, LlmConfig::default()).await;
        let before = lying(&home.store).await;
        let to = |task: u32, day: u16| {
            let place = json!({ "task_id": task, "new_day": day, "new_slot_start": 3 });
            json!({ "name": "move", "arguments": place })
        };
        let moved = |schedule: &ScheduleState| {
            [GYM, CHOIR].map(|task| schedule.task(task).unwrap().slots[0].day)
        };
        let extra = json!({ "lang": lang, "change": to(GYM, 5) });
        let said = json!({ "text": "Move Gym to Friday", "extra": extra });
        home.follow("/threads/desk/runs", said).await;
        assert_contains(&cards(&home, "desk").await.unwrap(), ["Gym", "2054-09-18"]);
        assert_eq!(lying(&home.store).await, before);
        let other = CardReply::reject(Some("Move Choir to Saturday".into()));
        let call = serde_json::from_value(to(CHOIR, 6)).unwrap();
        home.answer("desk", other.by_hand(call)).await;
        assert_contains(
            &cards(&home, "desk").await.unwrap(),
            ["Choir", "2054-09-19"],
        );
        assert_eq!(lying(&home.store).await, before);
        home.answer("desk", CardReply::approve()).await;
        assert_eq!(moved(&lying(&home.store).await), [3, 6]);
        // What was asked about first is asked about again.
        assert_contains(&cards(&home, "desk").await.unwrap(), ["Gym", "2054-09-18"]);
        home.answer("desk", CardReply::reject(None)).await;
        assert_eq!(cards(&home, "desk").await, None);
        assert_eq!(moved(&lying(&home.store).await), [3, 6]);
        // An impossible one is refused with the reason, and asks nothing.
        let place = json!({ "task_id": GYM, "new_day": 1, "new_slot_start": 1 });
        let call = json!({ "name": "move", "arguments": place });
        let said = json!({ "text": "Move Gym", "extra": { "lang": lang, "change": call } });
        home.follow("/threads/desk/runs", said).await;
        assert_eq!(cards(&home, "desk").await, None);
        assert_eq!(moved(&lying(&home.store).await), [3, 6]);
    }
}

#[tokio::test]
async fn an_item_in_one_piece_is_not_split() {
    let mut week = cramped(monday());
    week.task_classes[0].terms.split = Some(false);
    let home = fixture_of(week, Lang::En, LlmConfig::default()).await;
    home.pass(9).await;
    let evening = home.waiting().await.remove(0);
    let told = home.told(&evening).await;
    assert!(!told.contains("two parts"), "{told}");
}

/// Returns a server whose model has a script.
async fn scripted<R: Into<ScriptedReply>>(
    script: impl IntoIterator<Item = R>,
    on_failure: OnFailure,
) -> Fixture {
    let mind = LlmConfig {
        model: Some(Arc::new(Scripted::new(script))),
        on_failure,
        ..LlmConfig::default()
    };
    let mut week = agreed();
    in_their_classes(&mut week);
    week.preferences = None;
    fixture_of(week, Lang::En, mind).await
}

fn tools(domain: &str, pack: &str) -> Value {
    let packs = json!({ "domain": domain, "packs": [pack], "mode": "replace" });
    look("context_tools_add", packs)
}

/// Returns what the server keeps: the stored calendar, and the times that are kept free.
async fn kept(home: &Fixture) -> (ScheduleState, Value) {
    let state = home.ask("GET", "/threads/desk/state", Value::Null).await;
    let state: Value = serde_json::from_str(&state).unwrap();
    let free = state["state"]["free_times"].clone();
    (lying(&home.store).await, free)
}

#[tokio::test]
async fn what_a_model_changes_of_terms_and_wishes_is_a_card_and_undone_by_a_word() {
    let terms = json!([{ "task_id": FIRST, "minutes": 150, "split": false }]);
    let sundays = json!([{ "days_of_week": [7], "time": "08:00-12:00", "liking": "avoid" }]);
    for (domain, pack, name, arguments, shown) in [
        (
            "taskclass",
            "edit",
            EDIT_TASK_CLASS,
            json!({ "class_id": 1, "terms": terms }),
            "“Chapter 1” is done in one piece",
        ),
        (
            "schedule",
            "arrange",
            SET_PREFERENCES,
            json!({ "times": sundays }),
            "Sun 08:00–11:40: only if there is no other place",
        ),
        (
            "schedule",
            "arrange",
            KEEP_FREE,
            json!({ "days": [5] }),
            "Fri 2054-09-18 is kept free",
        ),
    ] {
        let script = [
            task(),
            plan(["Change it"]),
            tools(domain, pack),
            write(name, arguments),
            ends("done"),
            json!("It is changed."),
        ];
        let home = scripted(script, OnFailure::Error).await;
        home.say("desk", "Change it, please").await;
        home.answer("desk", CardReply::approve()).await;
        let before = kept(&home).await;
        let Some(card) = cards(&home, "desk").await else {
            panic!("{name}: {}", home.thread("desk").await);
        };
        assert_contains(&card, shown);
        home.answer("desk", CardReply::approve()).await;
        assert_ne!(kept(&home).await, before, "{name}");
        // A word, and no model, takes it back.
        home.say("desk", "undo").await;
        while cards(&home, "desk").await.is_some() {
            home.answer("desk", CardReply::approve()).await;
        }
        let (schedule, free) = kept(&home).await;
        assert_eq!(schedule, before.0, "{name}");
        assert!(free.as_array().is_none_or(Vec::is_empty), "{name}: {free}");
    }
}

#[tokio::test]
async fn a_model_that_misbehaves_with_these_tools_changes_nothing() {
    let wrong = [
        // A write without a card.
        (
            EDIT_TASK_CLASS,
            json!({ "class_id": 1, "end_date": "2054-09-20" }),
            "continue",
        ),
        (KEEP_FREE, json!({ "days": [5] }), "continue"),
        (SET_PREFERENCES, json!({ "weekend": "avoid" }), "continue"),
        // Arguments that are none, or of another calendar.
        (
            EDIT_TASK_CLASS,
            json!({ "class_id": 99, "terms": [{ "minutes": 30 }] }),
            "confirm",
        ),
        (
            EDIT_TASK_CLASS,
            json!({ "class_id": 1, "terms": [{ "task_id": GYM, "minutes": 30 }] }),
            "confirm",
        ),
        (
            EDIT_TASK_CLASS,
            json!({ "class_id": 1, "terms": [{ "split": "yes" }] }),
            "confirm",
        ),
        (
            SET_PREFERENCES,
            json!({ "evening": "never", "weekends": true }),
            "confirm",
        ),
        (
            SET_PREFERENCES,
            json!({ "times": [{ "days_of_week": [9], "liking": "avoid" }] }),
            "confirm",
        ),
        (KEEP_FREE, json!({ "days": [99] }), "confirm"),
        (
            KEEP_FREE,
            json!({ "days": [1], "sections": [0] }),
            "confirm",
        ),
        // Something that nobody asked for, twice.
        (KEEP_FREE, json!({ "days": [3] }), "confirm"),
        (KEEP_FREE, json!({ "days": [3] }), "confirm"),
    ];
    for (name, arguments, action) in wrong {
        let domain = if name == EDIT_TASK_CLASS {
            ("taskclass", "edit")
        } else {
            ("schedule", "arrange")
        };
        let bad = call(action, name, arguments.clone());
        let script = [
            task(),
            plan(["Look at it"]),
            tools(domain.0, domain.1),
            bad.clone(),
            bad.clone(),
            bad.clone(),
            bad,
        ];
        let home = scripted(script, OnFailure::Rules).await;
        let before = lying(&home.store).await;
        home.say("desk", "What does my week look like?").await;
        home.answer("desk", CardReply::approve()).await;
        // Every card is refused, however often it comes.
        for _ in 0..8 {
            if cards(&home, "desk").await.is_none() {
                break;
            }
            home.answer("desk", CardReply::reject(None)).await;
        }
        let (after, free) = kept(&home).await;
        assert_eq!(after, before, "{name} {arguments}");
        assert!(
            free.as_array().is_none_or(Vec::is_empty),
            "{name} {arguments}: {free}"
        );
    }
}

#[tokio::test]
async fn words_about_wishes_are_undone_by_a_word_where_there_were_none() {
    for said in ["weekends off", "keep next Friday free"] {
        let mut week = agreed();
        week.preferences = None;
        let home = fixture_of(week, Lang::En, LlmConfig::default()).await;
        let before = lying(&home.store).await;
        home.say("desk", said).await;
        while cards(&home, "desk").await.is_some() {
            home.answer("desk", CardReply::approve()).await;
        }
        assert_ne!(
            kept(&home).await.0.preferences.is_some(),
            kept(&home).await.1.is_array()
        );
        home.say("desk", "undo").await;
        while cards(&home, "desk").await.is_some() {
            home.answer("desk", CardReply::approve()).await;
        }
        let (after, free) = kept(&home).await;
        assert_eq!(after, before, "{said}");
        assert_eq!(after.preferences, None::<PlacementPreferences>);
        assert!(free.as_array().is_none_or(Vec::is_empty), "{said}: {free}");
    }
}
