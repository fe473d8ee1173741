use jiff::civil::date;

use super::*;

const FULL: &str = r#"
zone = "Asia/Shanghai"
embeddable = ["College English"]

[window]
start = 2026-03-02
weeks = 4

[[classes]]
name = "Algebra"
strategy = "rapid"
total_slots = 6
allow_filler_course = true
excluded_slots = [6, 1, 6]
excluded_days_of_week = [7]
start_date = "2026-03-03"
end_date = 2026-03-20
subject_type = "quantitative"
difficulty_level = "high"
cognitive_intensity = "high"
items = ["Limits", { content = "Series", order = 5 }, "Integrals"]
"#;

fn refused(text: &str) -> String {
    let error = Classes::parse("tasks.toml", text.as_bytes()).expect_err("the file is wrong");
    error.to_string()
}

#[test]
fn toml_and_json_say_the_same() {
    let item = |content: &str, order| Item {
        content: content.to_owned(),
        order,
        ..Item::default()
    };
    let expected = Classes {
        start: date(2026, 3, 2),
        weeks: 4,
        zone: known_zone("Asia/Shanghai"),
        sections: Sections::default(),
        embeddable: vec!["College English".to_owned()],
        preferences: PlacementPreferences::default(),
        ignore: Vec::new(),
        classes: vec![Class {
            name: "Algebra".to_owned(),
            strategy: Strategy::Rapid,
            total_slots: Some(6),
            allow_filler_course: true,
            excluded_slots: vec![1, 6],
            excluded_days_of_week: vec![7],
            start_date: Some(date(2026, 3, 3)),
            end_date: Some(date(2026, 3, 20)),
            subject_type: Some(SubjectType::Quantitative),
            difficulty_level: Some(Level::High),
            cognitive_intensity: Some(Level::High),
            minutes: None,
            priority: None,
            not: vec![],
            items: vec![item("Limits", 1), item("Series", 5), item("Integrals", 6)],
        }],
    };
    assert_eq!(
        Classes::parse("tasks.toml", FULL.as_bytes()),
        Ok(expected.clone())
    );
    let json = r#"{
        "zone": "Asia/Shanghai", "embeddable": ["College English"],
        "window": {"start": "2026-03-02", "weeks": 4},
        "classes": [{"name": "Algebra", "strategy": "rapid", "total_slots": 6,
            "allow_filler_course": true, "excluded_slots": [6, 1], "excluded_days_of_week": [7],
            "start_date": "2026-03-03", "end_date": "2026-03-20",
            "subject_type": "quantitative", "difficulty_level": "high",
            "cognitive_intensity": "high",
            "items": ["Limits", {"content": "Series", "order": 5}, "Integrals"]}]
    }"#;
    assert_eq!(Classes::parse("tasks.json", json.as_bytes()), Ok(expected));
}

fn known_zone(name: &str) -> Option<TimeZone> {
    crate::calendar::ics::known(name)
}

#[test]
fn days_of_the_week_have_names_and_wrong_ones_are_refused_in_words() {
    let named = FULL.replace(
        "excluded_days_of_week = [7]",
        "excluded_days_of_week = [\"周日\"]",
    );
    assert_ne!(named, FULL);
    assert_eq!(
        Classes::parse("tasks.toml", named.as_bytes()),
        Classes::parse("tasks.toml", FULL.as_bytes())
    );
    let wrong = FULL.replace(
        "excluded_days_of_week = [7]",
        "excluded_days_of_week = [\"someday\"]",
    );
    let told = refused(&wrong);
    let expected = "invalid value: string \"someday\", expected a day of the week, 1 (Monday) to 7 \
        (Sunday) or its name, such as \"Sunday\"";
    assert!(told.ends_with(expected), "{told}");
    let block = refused(&FULL.replace("excluded_slots = [6", "excluded_slots = [600"));
    let expected = "invalid value: integer `600`, expected the number of a pair of sections, 1 \
        (sections 1 and 2) to 6 (11 and 12)";
    assert!(block.ends_with(expected), "{block}");
}

#[test]
fn unknown_keys_are_refused_with_the_place_and_what_is_allowed() {
    assert_eq!(
        refused(&FULL.replace("strategy", "stategy")),
        "tasks.toml, line 11, column 1: unknown field `stategy`, expected one of `name`, \
         `strategy`, `total_slots`, `allow_filler_course`, `excluded_slots`, \
         `excluded_days_of_week`, `start_date`, `end_date`, `subject_type`, `difficulty_level`, \
         `cognitive_intensity`, `minutes`, `priority`, `not`, `items`"
    );
    assert_eq!(
        refused(&FULL.replace("order = 5", "rank = 5")),
        "tasks.toml, line 21, column 42: unknown field `rank`, expected one of `content`, \
         `order`, `minutes`, `split`, `earliest`, `deadline`, `priority`, `at`, `after`, `not`"
    );
    assert_eq!(
        refused("{\n  \"window\": {\"start\": \"2026-03-02\", \"days\": 4}}"),
        "tasks.toml, line 2, column 42: unknown field `days`, expected `start` or `weeks`"
    );
}

#[test]
fn wrong_shapes_are_refused_with_the_place() {
    assert_eq!(
        refused(&FULL.replace("\"rapid\"", "\"fast\"")),
        "tasks.toml, line 11, column 12: unknown variant `fast`, expected `steady` or `rapid`"
    );
    assert_eq!(
        refused(&FULL.replace("\"Limits\"", "7")),
        "tasks.toml, line 21, column 10: invalid type: integer `7`, expected a text, or a table \
         with `content` and perhaps `order`"
    );
    assert_eq!(
        refused(&FULL.replace("2026-03-02", "\"2 March\"")),
        "tasks.toml, line 6, column 9: invalid value: string \"2 March\", expected a date such \
         as 2026-03-02"
    );
    assert_eq!(
        refused(&FULL.replace("2026-03-02", "\"2026-02-30\"")),
        "tasks.toml, line 6, column 9: invalid value: string \"2026-02-30\", expected a date \
         such as 2026-03-02"
    );
    assert!(refused("[window\nstart = 1").starts_with("tasks.toml, line 1, column "));
    assert!(refused("").contains("missing field `window`"));
    let binary = Classes::parse("tasks.toml", b"\xff\xfe\x00").expect_err("that is no text");
    assert_eq!(
        binary,
        ClassesError::NotText {
            file: "tasks.toml".to_owned()
        }
    );
}

#[test]
fn values_are_refused_with_what_is_allowed() {
    let cases = [
        (
            "weeks = 4",
            "weeks = 0",
            "window.weeks is 0; allowed are 1 to 53",
        ),
        (
            "[6, 1, 6]",
            "[6, 7]",
            "classes[1].excluded_slots[2] is 7; allowed are 1 to 6",
        ),
        (
            "[7]",
            "[0]",
            "classes[1].excluded_days_of_week[1] is 0; allowed are 1 to 7",
        ),
        (
            "total_slots = 6",
            "total_slots = 0",
            "classes[1].total_slots is 0; allowed are 1 to 36",
        ),
        (
            "end_date = 2026-03-20",
            "end_date = 2026-03-01",
            "classes[1].end_date is 2026-03-01; it must not be before start_date, 2026-03-03",
        ),
        (
            "\"Algebra\"",
            "\" \"",
            "classes[1].name is empty; it needs a text",
        ),
        (
            "\"Integrals\"",
            "\"\"",
            "classes[1].items[3].content is empty; it needs a text",
        ),
        (
            "order = 5",
            "order = 1",
            "classes[1].items[2].order is 1, the order of `Limits` before it",
        ),
        (
            "Asia/Shanghai",
            "Atlantis",
            "zone is `Atlantis`, which is not known; allowed are IANA names such as Asia/Shanghai",
        ),
        (
            "[window]",
            "sections = []\n[window]",
            "sections: there are 0 sections; allowed are 1 to 48",
        ),
    ];
    for (from, to, message) in cases {
        assert_eq!(
            refused(&FULL.replace(from, to)),
            format!("tasks.toml: {message}")
        );
    }
    let twice = format!("{FULL}\n[[classes]]\nname = \"Algebra\"\nitems = [\"More\"]\n");
    assert_eq!(
        refused(&twice),
        "tasks.toml: classes[2].name is `Algebra`, the name of a class before it"
    );
    let none = FULL.replace("items = [", "items = []\n# ");
    assert_eq!(
        refused(&none),
        "tasks.toml: classes[1].items has 0 entries; allowed are 1 to 1000"
    );
}

#[test]
fn preferences_are_read_by_the_clock_and_may_be_switched_off() {
    let with = |text: &str| {
        let file = format!("{FULL}\n[preferences]\n{text}");
        Classes::parse("tasks.toml", file.as_bytes()).map(|classes| classes.preferences)
    };
    let mine = with("late_from = \"19:30\"\nweekend = 0\nquiet_days = [\"Friday\"]\n");
    assert_eq!(
        mine,
        Ok(PlacementPreferences {
            late_from: 10,
            weekend: 0,
            quiet_days: vec![5],
            ..PlacementPreferences::default()
        })
    );
    let lunch = with("neutral = true\nlunch_time = \"11:00-14:30\"\nlunch = 9\n");
    let lunch = lunch.expect("it is right");
    assert_eq!(
        (lunch.lunch_sections, lunch.lunch, lunch.late),
        (vec![4, 5], 9, 0)
    );
    for (text, told) in [
        (
            "late_from = \"evening\"",
            "preferences.late_from is `evening`; allowed are times such as \"18:00\"",
        ),
        (
            "late = 20000",
            "preferences.late is 20000; allowed are 0 to 10000",
        ),
        (
            "quiet_days = [8]",
            "preferences.quiet_days has 8; allowed are 1 to 7",
        ),
        ("teatime = 4", "unknown field `teatime`"),
    ] {
        let error = with(text).expect_err(text).to_string();
        assert!(error.contains(told), "{error}");
    }
}

/// An item with every term, in the words of both languages.
const TERMS: &str = r#"{ content = "Series", order = 5, minutes = 60, earliest = 2026-03-04, deadline = "2026-03-18", priority = "high", at = "周三 10:00", after = "Limits", not = ["Tuesday evening", "12:00-14:00"] }"#;

fn with_terms(from: &str, to: &str) -> String {
    let terms = TERMS.replace(from, to);
    assert!(from == to || terms != TERMS, "{from} is not there");
    FULL.replace("{ content = \"Series\", order = 5 }", &terms)
}

#[test]
fn an_item_may_have_terms_of_its_own() {
    let classes = Classes::parse("tasks.toml", with_terms("", "").as_bytes()).expect("it is right");
    let time = |hour| jiff::civil::time(hour, 0, 0, 0);
    let expected = Item {
        content: "Series".to_owned(),
        order: 5,
        minutes: Some(60),
        split: None,
        earliest: Some(date(2026, 3, 4)),
        deadline: Some(date(2026, 3, 18)),
        priority: Some(Level::High),
        at: Some(FixedTime {
            date: None,
            day_of_week: Some(3),
            time: time(10),
        }),
        after: vec!["Limits".to_owned()],
        not: vec![
            ClosedTime {
                days_of_week: vec![2],
                from: time(18),
                to: jiff::civil::time(23, 59, 0, 0),
            },
            ClosedTime {
                days_of_week: vec![],
                from: time(12),
                to: time(14),
            },
        ],
    };
    assert_eq!(
        classes.classes.first().and_then(|class| class.items.get(1)),
        Some(&expected)
    );
}

#[test]
fn wrong_terms_are_refused_with_what_is_allowed() {
    let cases = [
        (
            "minutes = 60",
            "minutes = 1",
            "expected a length in minutes, 5 to 10000",
        ),
        (
            "minutes = 60",
            "minutes = \"long\"",
            "expected a length in minutes, 5 to 10000",
        ),
        (
            "minutes = 60",
            "minutes = 900",
            "classes[1].items[2].minutes is 900; a day holds at most 870, and `split` makes parts of \
             a longer item",
        ),
        (
            "minutes = 60",
            "split = 60",
            "classes[1].items[2].split is the length of the parts; it needs `minutes`, the whole \
             length",
        ),
        (
            "\"2026-03-18\"",
            "2026-03-03",
            "classes[1].items[2].deadline is 2026-03-03; it must not be before earliest, 2026-03-04",
        ),
        (
            "周三 10:00",
            "10:10",
            "classes[1].items[2].at is 10:10, when no section begins; allowed are 08:00, 08:55, \
             10:00, 10:55, 14:00, 14:55, 16:00, 16:55, 19:00, 19:55, 20:50, 21:45",
        ),
        (
            "周三 10:00",
            "soon",
            "expected a time such as \"14:00\", \"Tuesday 14:00\" or \"2026-03-10 14:00\"",
        ),
        (
            "Tuesday evening",
            "Teusday evening",
            "expected a time such as \"Tuesday evening\", \"周二 18:00-22:30\", \"Saturday\" or \
             \"12:00-14:00\"",
        ),
        (
            "\"Limits\"",
            "\"Nothing\"",
            "classes[1].items `Series`.after is `Nothing`; no item has that text",
        ),
        (
            "\"Limits\"",
            "\"Integrals\"",
            "classes[1].items `Series`.after makes a circle: by it, the item has to follow itself",
        ),
        (
            "\"high\"",
            "\"urgent\"",
            "expected one of `low`, `medium`, `high`",
        ),
    ];
    for (from, to, message) in cases {
        let told = refused(&with_terms(from, to));
        assert!(told.ends_with(message), "{to}: {told}");
        let line = told.starts_with("tasks.toml, line 21, column ");
        assert!(
            line || told.starts_with("tasks.toml: classes[1].items"),
            "{told}"
        );
    }
}
