use jiff::civil::date;

use crate::schedule::{DayMapping, EventType, PlacementStatus, Slot, Strategy};

use super::super::ics::{known, tests::file};
use super::*;

fn sample(lang: Lang) -> Intake {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("sample")
        .join(lang.pick("en", "zh"));
    // The local zone must not matter: the sample names its own.
    let away = known("Pacific/Auckland").expect("an IANA name");
    open(
        &folder.join("courses.ics"),
        &folder.join("tasks.toml"),
        &away,
        lang,
    )
    .expect("the sample is in order")
}

/// Returns each fixed task as `id name day:sections`; a `~` marks those that a task can be embedded
/// in.
fn fixed_tasks(intake: &Intake) -> Vec<String> {
    let fixed = intake
        .state
        .tasks
        .iter()
        .filter(|task| task.source == Source::Event);
    let lines = fixed.map(|task| {
        let slot = |slot: &Slot| format!(" {}:{}-{}", slot.day, slot.slot_start, slot.slot_end);
        let slots: String = task.slots.iter().map(slot).collect();
        let mark = if task.locked { "" } else { "~" };
        format!("{} {mark}{}{slots}", task.state_id, task.name)
    });
    lines.collect()
}

fn calendar(events: &[&str]) -> IcsCalendar {
    IcsCalendar::parse("courses.ics", file(events).as_bytes()).expect("the calendar is in order")
}

fn classes(more: &str) -> Classes {
    let text = format!("{more}\nwindow = {{ start = 2026-03-04, weeks = 2 }}\n");
    Classes::parse("tasks.toml", text.as_bytes()).expect("the classes are in order")
}

fn imported(events: &[&str], more: &str) -> Intake {
    import(&calendar(events), &classes(more), &TimeZone::UTC, Lang::En)
}

fn said(intake: &Intake, lang: Lang) -> Vec<String> {
    intake
        .remarks
        .iter()
        .map(|remark| remark.say(lang))
        .collect()
}

#[test]
fn the_english_sample_is_imported() {
    let intake = sample(Lang::En);
    let expected = [
        "1 Real Analysis 1:3-4",
        "2 Statistics 1:7-8",
        "3 Organic Chemistry 2:1-2",
        "4 Shift at the library 2:9-10",
        "5 Meeting with the tutor 3:4-4",
        "6 Chemistry Lab 3:6-8",
        "7 Real Analysis 4:3-4",
        "8 Shift at the library 4:9-10",
        "9 ~Academic Writing 5:3-4",
        "10 Phone call with the landlord 5:8-8",
        "11 Real Analysis 8:3-4",
        "12 Statistics 8:7-8",
        "13 Organic Chemistry 9:1-2",
        "14 Dentist 9:6-6",
        "15 Shift at the library 9:9-10",
        "16 Shift at the library 11:9-10",
        "17 ~Academic Writing 12:3-4",
        "18 Day trip to the coast 13:1-12",
        "19 Real Analysis 15:3-4",
        "20 Statistics 15:7-8",
        "21 Shift at the library 16:9-10",
        "22 Organic Chemistry 17:1-2",
        "23 Chemistry Lab 17:6-8",
        "24 Real Analysis 18:3-4",
        "25 Family visit 20:6-12",
        "26 Family visit 21:1-8",
        "27 Real Analysis 22:3-4",
        "28 Statistics 22:7-8",
        "29 Organic Chemistry 23:1-2",
        "30 Shift at the library 23:9-10",
        "31 Real Analysis 25:3-4",
        "32 Shift at the library 25:9-10",
        "33 ~Academic Writing 26:3-4",
    ];
    assert_eq!(fixed_tasks(&intake), expected);
    assert_eq!(
        said(&intake, Lang::En),
        [
            "\"Careers fair\" (line 138), 2026-03-17 00:00, takes no time",
            "\"Running club\" (line 94), 2026-03-08 07:30, lies outside of all sections",
            "\"Running club\" (line 94), 2026-03-22 07:30, lies outside of all sections",
        ]
    );
    assert_eq!(intake.zone.iana_name(), Some("Europe/London"));
}

#[test]
fn the_chinese_sample_has_the_same_shape() {
    let intake = sample(Lang::Zh);
    let pending: Vec<(&str, u32)> = intake
        .state
        .task_classes
        .iter()
        .map(|class| {
            let of = |task: &&ScheduleTask| task.task_class_id == Some(class.id);
            let count = intake.state.tasks.iter().filter(of).count();
            (
                class.name.as_str(),
                u32::try_from(count).expect("there are few"),
            )
        })
        .collect();
    assert_eq!(
        pending,
        [
            ("高数复习", 6),
            ("物理复习", 6),
            ("程序设计大作业", 4),
            ("英语阅读", 5)
        ]
    );
    assert_eq!(fixed_tasks(&intake).len(), 41);
    assert_eq!(
        said(&intake, Lang::Zh),
        [
            "“植树节”（第 130 行，2026-03-12 00:00）不占用时间",
            "“和房东通电话”（第 117 行，2026-03-06 12:30）不在任何节次内",
        ]
    );
    assert_eq!(intake.sections, Sections::default());
}

#[test]
fn sch_69_the_window_maps_days_to_dates() {
    let intake = imported(&[], "");
    let days = &intake.state.window.days;
    let mapping = |day_index, week, day_of_week, date: Date| DayMapping {
        day_index,
        week,
        day_of_week,
        date: date.to_string(),
    };
    // From a Wednesday to the Sunday of the second week.
    assert_eq!(days.len(), 12);
    assert_eq!(days.first(), Some(&mapping(1, 1, 3, date(2026, 3, 4))));
    assert_eq!(days.get(5), Some(&mapping(6, 2, 1, date(2026, 3, 9))));
    assert_eq!(days.last(), Some(&mapping(12, 2, 7, date(2026, 3, 15))));
    assert_eq!(
        said(&intake, Lang::En),
        ["nothing of the calendar lies in the window"]
    );
}

#[test]
fn sch_69_a_state_is_made_of_events_and_items() {
    let event = "UID:a\nSUMMARY:Writing\nDTSTART:20260304T080000Z\nDTEND:20260304T094000Z";
    let more = "embeddable = [\" writing \"]\nclasses = [{ name = \"Maths\", total_slots = 3, \
                items = [\"One\", { content = \"Two\", order = 7 }] }]";
    let intake = imported(&[event], more);
    let item = |state_id, name: &str, task_order| ScheduleTask {
        state_id,
        source_id: format!("Maths/{task_order}"),
        name: name.to_owned(),
        category: "Maths".to_owned(),
        duration: 1,
        task_class_id: Some(1),
        task_order,
        ..ScheduleTask::default()
    };
    let course = ScheduleTask {
        state_id: 1,
        source: Source::Event,
        source_id: "a/20260304T080000".to_owned(),
        name: "Writing".to_owned(),
        category: "Writing".to_owned(),
        status: PlacementStatus::Existing,
        slots: vec![Slot::new(1, 1, 2)],
        can_embed: true,
        event_type: EventType::Course,
        ..ScheduleTask::default()
    };
    assert_eq!(
        intake.state.tasks,
        [course, item(2, "One", 1), item(3, "Two", 7)]
    );
    let class = intake
        .state
        .task_classes
        .first()
        .expect("there is one class");
    assert_eq!((class.total_slots, class.strategy), (3, Strategy::Steady));
}

#[test]
fn sch_70_a_pending_duration_is_the_share_of_the_total_or_two() {
    let duration = |total: &str| {
        let more = format!("classes = [{{ name = \"M\", {total} items = [\"1\", \"2\", \"3\"] }}]");
        let intake = imported(&[], &more);
        let class = intake
            .state
            .task_classes
            .first()
            .expect("there is one class");
        (
            intake
                .state
                .tasks
                .iter()
                .map(|task| task.duration)
                .collect::<Vec<_>>(),
            class.total_slots,
        )
    };
    assert_eq!(duration(""), (vec![2, 2, 2], 6));
    assert_eq!(duration("total_slots = 9,"), (vec![3, 3, 3], 9));
    assert_eq!(duration("total_slots = 2,"), (vec![1, 1, 1], 2));
}

#[test]
fn sch_70_a_course_is_locked_unless_something_can_be_embedded() {
    let events = [
        "SUMMARY:Writing\nDTSTART:20260304T080000Z\nDTEND:20260304T094000Z",
        "SUMMARY:Physics\nDTSTART:20260304T100000Z\nDTEND:20260304T114000Z",
    ];
    let intake = imported(&events, "embeddable = [\"Writing\"]");
    assert_eq!(
        fixed_tasks(&intake),
        ["1 ~Writing 1:1-2", "2 Physics 1:3-4"]
    );
}

#[test]
fn overlapping_entries_are_simply_busy() {
    let events = [
        "SUMMARY:Physics\nDTSTART:20260304T080000Z\nDTEND:20260304T094000Z\nRRULE:FREQ=DAILY",
        "SUMMARY:Dentist\nDTSTART:20260304T090000Z\nDTEND:20260304T110000Z",
        "SUMMARY:Holiday\nDTSTART;VALUE=DATE:20260305\nDTEND;VALUE=DATE:20260307",
    ];
    let intake = imported(&events, "");
    assert_eq!(
        fixed_tasks(&intake).get(..5).map(<[String]>::to_vec),
        Some(
            [
                "1 Physics 1:1-2",
                "2 Dentist 1:3-4",
                "3 Holiday 2:1-12",
                "4 Holiday 3:1-12",
                "5 Physics 4:1-2",
            ]
            .map(str::to_owned)
            .to_vec()
        )
    );
    assert_eq!(
        said(&intake, Lang::En),
        [
            "\"Dentist\" (line 8), 2026-03-04 09:00, is at the same time as \"Physics\" (line 2), \
             1× in the window; the time is busy",
            "\"Physics\" (line 2), 2026-03-05 08:00, is at the same time as \"Holiday\" (line 13), \
             2× in the window; the time is busy",
        ]
    );
}

#[test]
fn nothing_is_placed_inside_a_course_that_is_at_the_same_time_as_another() {
    let events = [
        "SUMMARY:Writing\nDTSTART:20260304T080000Z\nDTEND:20260304T094000Z",
        "SUMMARY:Dentist\nDTSTART:20260304T085500Z\nDTEND:20260304T094000Z",
    ];
    assert_eq!(
        fixed_tasks(&imported(&events, "embeddable = [\"Writing\"]")),
        ["1 ~Writing 1:1-1", "2 Dentist 1:2-2"]
    );
}

#[test]
fn entries_that_only_share_a_section_are_kept() {
    let events = [
        "SUMMARY:Call\nDTSTART:20260304T100000Z\nDTEND:20260304T102000Z",
        "SUMMARY:Talk\nDTSTART:20260304T102000Z\nDTEND:20260304T114000Z",
        "SUMMARY:Chat\nDTSTART:20260304T102000Z\nDTEND:20260304T102000Z",
        "SUMMARY:Call\nDTSTART:20260304T100000Z\nDTEND:20260304T102000Z",
    ];
    let intake = imported(&events, "");
    assert_eq!(fixed_tasks(&intake), ["1 Call 1:3-3", "2 Talk 1:4-4"]);
    assert_eq!(
        said(&intake, Lang::En),
        [
            "\"Call\" (line 17), 2026-03-04 10:00, is there twice; one of them counts",
            "\"Chat\" (line 12), 2026-03-04 10:20, lies outside of all sections",
            "\"Talk\" (line 7), 2026-03-04 10:20, shares a section with \"Call\"",
        ]
    );
}

#[test]
fn a_start_off_its_rule_and_a_missing_name_are_handled() {
    let event = "DTSTART:20260304T080000Z\nDTEND:20260304T094000Z\nRRULE:FREQ=WEEKLY;BYDAY=TH";
    let intake = imported(&[event], "");
    assert_eq!(
        fixed_tasks(&intake),
        ["1 Untitled 1:1-2", "2 Untitled 2:1-2", "3 Untitled 9:1-2",]
    );
    assert_eq!(
        said(&intake, Lang::En),
        [
            "\"Untitled\" (line 2), 2026-03-04 08:00, is on a day that its recurrence does not name; \
             it counts as the first"
        ]
    );
}

#[test]
fn a_name_that_the_calendar_does_not_have_is_remarked() {
    let event = "SUMMARY:Writing\nDTSTART:20260304T080000Z\nDTEND:20260304T094000Z";
    let intake = imported(
        &[event],
        "embeddable = [\"Writing\", \"Wrting\"]\nignore = [\"Gym\"]",
    );
    assert_eq!(fixed_tasks(&intake), ["1 ~Writing 1:1-2"]);
    assert_eq!(
        said(&intake, Lang::En),
        [
            "`embeddable` names \"Wrting\", which is not in the calendar",
            "`ignore` names \"Gym\", which is not in the calendar",
        ]
    );
}

#[test]
fn many_problems_are_counted() {
    let events = ["SUMMARY:Bad"; 25];
    let said = said(&imported(&events, ""), Lang::En);
    assert_eq!(said.len(), 22);
    assert_eq!(
        said.get(20..),
        Some(
            &[
                "and 5 more entries or lines that could not be read".to_owned(),
                "nothing of the calendar lies in the window".to_owned(),
            ][..]
        )
    );
}

#[test]
fn the_terms_of_items_reach_the_schedule() {
    let file = r#"
window = { start = 2026-03-02, weeks = 53 }
sections = ["08:00-08:30", "08:30-09:00", "09:00-09:30", "09:30-10:00", "10:00-10:30"]

[[classes]]
name = "Essay"
minutes = 30
not = "Sunday"
items = [
  { content = "Read" },
  { content = "Write", minutes = 150, split = 60, deadline = 2026-03-20 },
  { content = "Polish", after = "Cite" },
]

[[classes]]
name = "Notes"
items = [{ content = "Cite", after = "Write", at = "09:00" }]
"#;
    let classes = Classes::parse("tasks.toml", file.as_bytes()).expect("it is right");
    let calendar = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Gym\nDTSTART:20260302T080000\nDTEND:20260302T090000\nEND:VEVENT\nEND:VCALENDAR";
    let calendar = IcsCalendar::parse("my.ics", calendar).expect("it is right");
    let intake = import(&calendar, &classes, &TimeZone::UTC, Lang::En);
    let state = &intake.state;
    assert_eq!(
        (state.window.days.len(), state.window.sections.count()),
        (371, 5)
    );
    let told: Vec<_> = state
        .tasks
        .iter()
        .map(|task| {
            let (source, order) = (task.source_id.as_str(), task.task_order);
            (
                task.name.as_str(),
                source,
                order,
                task.duration,
                state.minutes(task),
            )
        })
        .collect();
    let gym = told
        .first()
        .map(|(name, .., duration, minutes)| (*name, *duration, *minutes));
    assert_eq!(gym, Some(("Gym", 2, None)));
    assert_eq!(
        told.get(1..),
        Some(
            &[
                ("Read", "Essay/1", 1, 1, Some(30)),
                ("Write (1/3)", "Essay/2/1", 2, 2, Some(60)),
                ("Write (2/3)", "Essay/2/2", 3, 2, Some(60)),
                ("Write (3/3)", "Essay/2/3", 4, 1, Some(30)),
                ("Polish", "Essay/3", 5, 1, Some(30)),
                ("Cite", "Notes/1", 1, 2, None),
            ][..]
        )
    );
    let after: Vec<_> = state
        .tasks
        .iter()
        .map(|task| task.terms.after.clone())
        .collect();
    assert_eq!(
        after,
        [
            vec![],
            vec![],
            vec![],
            vec![],
            vec![],
            vec![7],
            vec![3, 4, 5]
        ]
    );
    let deadlines = state
        .tasks
        .iter()
        .filter(|task| task.marks.deadline.is_some());
    assert_eq!(deadlines.count(), 3);
}
