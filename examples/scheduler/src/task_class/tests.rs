use serde_json::json;

use super::*;
use crate::schedule::{Level, SubjectType};

fn args(value: Value) -> UpsertTaskClassArgs {
    serde_json::from_value(value).expect("a test writes what can be read")
}

#[test]
fn sch_88_what_a_model_wrote_is_brought_into_one_shape() {
    let written = args(json!({
        "id": 0,
        "task_class": {
            "name": " Essay ",
            "subject_type": "阅读",
            "difficulty_level": "Hard",
            "cognitive_intensity": "medium",
            "config": {
                "start_date": "2026-09-14",
                "end_date": "2026-09-27",
                "total_slots": "6",
                "strategy": "ASAP",
                "excluded_slots": [6, 1, 6],
                "excluded_days_of_week": [7],
            },
        },
        "items": [
            { "title": "Outline" },
            "Draft",
            { "id": 9, "order": 3, "description": "Polish" },
        ],
        "source": "chat",
    }));
    let item = |task, order, content: &str| ClassItem {
        task,
        order,
        content: content.into(),
        terms: None,
    };
    let expected = ClassWrite {
        class: TaskClass {
            id: 0,
            name: "Essay".into(),
            strategy: Strategy::Rapid,
            total_slots: 6,
            allow_filler_course: false,
            excluded_slots: vec![1, 6],
            excluded_days_of_week: vec![7],
            start_date: Some("2026-09-14".into()),
            end_date: Some("2026-09-27".into()),
            subject_type: Some(SubjectType::Reading),
            difficulty_level: Some(Level::High),
            cognitive_intensity: Some(Level::Medium),
            terms: Terms::default(),
        },
        items: vec![
            item(None, 1, "Outline"),
            item(None, 2, "Draft"),
            item(Some(9), 3, "Polish"),
        ],
        dropped: [].into(),
        restored: [].into(),
    };
    assert_eq!(normalised(&written), Ok(expected));
}

#[test]
fn sch_88_everything_that_is_wrong_is_named_at_once() {
    let written = args(json!({
        "task_class": {
            "mode": "often",
            "subject_type": "sport",
            "start_date": "2026-09-20",
            "end_date": "2026-09-14",
            "config": {
                "total_slots": 0,
                "strategy": "lazy",
                "allow_filler_course": "maybe",
                "excluded_slots": [7],
                "excluded_days_of_week": "Sunday",
            },
            "items": [{ "order": 1 }, { "order": 0, "content": "x" }],
        },
    }));
    let issues = normalised(&written).unwrap_err();
    let expected = [
        "mode is neither auto nor manual",
        "name is missing; it needs a text",
        "config.strategy is \"lazy\"; allowed are steady, rapid",
        "config.total_slots is 0; it needs a number from 1 on",
        "config.allow_filler_course is \"maybe\"; allowed are true, false",
        "config.excluded_slots is [7]; it needs a list of numbers from 1 to 6",
        "config.excluded_days_of_week is \"Sunday\"; it needs a list of numbers from 1 to 7",
        "subject_type is \"sport\"; allowed are quantitative, memory, reading, mixed",
        "difficulty_level is missing; allowed are low, medium, high",
        "cognitive_intensity is missing; allowed are low, medium, high",
        "end_date is 2026-09-14; it must not be before start_date, 2026-09-20",
        "items[1].content is missing; it needs a text",
        "items[2] has an order or id that is no whole number from 1 on",
    ];
    assert_eq!(issues, expected);
}

#[test]
fn sch_88_automatic_classes_need_dates_and_every_class_items() {
    let class = |mode: &str| {
        let written = args(json!({
            "task_class": {
                "name": "Essay", "mode": mode, "subject_type": "mixed",
                "difficulty_level": "low", "cognitive_intensity": "low", "total_slots": 99,
            },
            "items": [{ "content": "Outline", "order": 2 }, { "content": "Draft" }],
        }));
        normalised(&written).unwrap_err()
    };
    let twice = "items[2].order is 2, like that of one before it";
    let long = "config.total_slots is 99; no item takes more than a day, so at most 24";
    assert_eq!(class("manual"), [twice, long]);
    assert_eq!(
        class("auto"),
        [
            "start_date is missing; mode auto needs it, as YYYY-MM-DD",
            "end_date is missing; mode auto needs it, as YYYY-MM-DD",
            twice,
            long
        ]
    );
    let none = normalised(&UpsertTaskClassArgs::default()).unwrap_err();
    assert!(
        none.contains(&"items has 0 entries; it needs 1 to 1000".to_owned()),
        "{none:?}"
    );
}
