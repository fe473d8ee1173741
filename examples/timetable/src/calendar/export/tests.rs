use jiff::civil::date;

use crate::calendar::{Classes, IcsCalendar, Lang, import};
use crate::schedule::TaskClass;

use super::*;

const COURSES: &[u8] = include_bytes!("../../../sample/en/courses.ics");
const TASKS: &[u8] = include_bytes!("../../../sample/en/tasks.toml");

fn intake() -> crate::calendar::Intake {
    let calendar = IcsCalendar::parse("courses.ics", COURSES).expect("the sample is in order");
    let classes = Classes::parse("tasks.toml", TASKS).expect("the sample is in order");
    import(&calendar, &classes, &TimeZone::UTC, Lang::En)
}

fn place(state: &mut ScheduleState, name: &str, day: u16, slot_start: u8, status: PlacementStatus) {
    let task = state
        .tasks
        .iter_mut()
        .find(|task| task.name == name)
        .expect("it is in the sample");
    task.slots = vec![Slot {
        day,
        slot_start,
        slot_end: slot_start + 1,
    }];
    task.status = status;
}

/// Returns an intake with items before, on and after the clock change, one of them inside a course.
fn placed() -> crate::calendar::Intake {
    let mut intake = intake();
    let state = &mut intake.state;
    place(
        state,
        "Limits of sequences",
        1,
        1,
        PlacementStatus::Existing,
    );
    place(
        state,
        "Past paper, Analysis",
        28,
        5,
        PlacementStatus::Suggested,
    );
    place(
        state,
        "Middlemarch, book 1",
        5,
        3,
        PlacementStatus::Suggested,
    );
    let host = state
        .tasks
        .iter()
        .find(|task| task.name == "Academic Writing")
        .expect("a course");
    let host = host.state_id;
    let guest = state
        .tasks
        .iter_mut()
        .find(|task| task.name == "Middlemarch, book 1");
    guest.expect("it is in the sample").embed_host = Some(host);
    intake
}

fn exported(intake: &crate::calendar::Intake, lang: Lang) -> Result<String, ExportError> {
    let stamp = "2026-02-28T12:00:00Z".parse().expect("a time");
    let (sections, zone) = (&intake.sections, &intake.zone);
    export(
        &intake.state,
        &Export {
            sections,
            zone,
            stamp,
            schedule: "spring",
            lang,
        },
    )
}

#[test]
fn what_was_placed_is_written() {
    let expected = "\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//fugato//scheduler//EN
CALSCALE:GREGORIAN
METHOD:PUBLISH
X-WR-TIMEZONE:Europe/London
BEGIN:VEVENT
UID:spring/Analysis revision/1@fugato-scheduler
DTSTAMP:20260228T120000Z
DTSTART:20260302T090000Z
DTEND:20260302T105000Z
SUMMARY:Limits of sequences
CATEGORIES:Analysis revision
DESCRIPTION:Analysis revision\\, sections 1 to 2
STATUS:CONFIRMED
TRANSP:OPAQUE
END:VEVENT
BEGIN:VEVENT
UID:spring/Analysis revision/6@fugato-scheduler
DTSTAMP:20260228T120000Z
DTSTART:20260329T120000Z
DTEND:20260329T135000Z
SUMMARY:Past paper\\, Analysis
CATEGORIES:Analysis revision
DESCRIPTION:Analysis revision\\, sections 5 to 6
STATUS:TENTATIVE
TRANSP:OPAQUE
END:VEVENT
BEGIN:VEVENT
UID:spring/Literature reading/1@fugato-scheduler
DTSTAMP:20260228T120000Z
DTSTART:20260306T110000Z
DTEND:20260306T125000Z
SUMMARY:Middlemarch\\, book 1
CATEGORIES:Literature reading
DESCRIPTION:Literature reading\\, sections 3 to 4\\, during Academic Writing
STATUS:TENTATIVE
TRANSP:OPAQUE
END:VEVENT
END:VCALENDAR
";
    let written = exported(&placed(), Lang::En).expect("every day has a date");
    assert_eq!(written, expected.replace('\n', "\r\n"));
}

#[test]
fn what_is_written_is_read_back_the_same() {
    let intake = placed();
    let written = exported(&intake, Lang::Zh).expect("every day has a date");
    let calendar = IcsCalendar::parse("out.ics", written.as_bytes()).expect("it was just written");
    let (found, _) = calendar.occurrences(date(2026, 3, 2), date(2026, 3, 29), &intake.zone);
    let read: Vec<(String, u16, Vec<u8>)> = found
        .into_iter()
        .map(|one| {
            let day = intake
                .state
                .window
                .days
                .iter()
                .find(|d| d.date == one.start.date().to_string());
            let covered = intake
                .sections
                .covered(one.start.date(), one.start, one.end);
            let day = day.expect("it lies in the window").day_index;
            (one.name, day, covered.into_iter().collect())
        })
        .collect();
    assert_eq!(
        read,
        [
            ("Limits of sequences".to_owned(), 1, vec![1, 2]),
            ("Middlemarch, book 1".to_owned(), 5, vec![3, 4]),
            ("Past paper, Analysis".to_owned(), 28, vec![5, 6]),
        ]
    );
}

/// An independent reader of the format.
#[test]
fn another_program_reads_what_is_written() {
    use icalendar::Component;

    let mut intake = placed();
    let long = "复习；\\ 第一章, ".repeat(40);
    let task = intake
        .state
        .tasks
        .iter_mut()
        .find(|task| task.name == "Limits of sequences");
    task.expect("it is in the sample").name.clone_from(&long);
    let written = exported(&intake, Lang::Zh).expect("every day has a date");
    let calendar: icalendar::Calendar = written.parse().expect("it is well formed");
    let names: Vec<&str> = calendar
        .components
        .iter()
        .filter_map(|c| c.as_event()?.get_summary())
        .collect();
    assert_eq!(
        names,
        [&long, "Past paper, Analysis", "Middlemarch, book 1"]
    );
    let longest = written.split("\r\n").map(str::len).max();
    assert!(
        longest.is_some_and(|octets| (73..=75).contains(&octets)),
        "{longest:?}"
    );
}

#[test]
fn a_schedule_without_dates_or_sections_is_refused() {
    let mut intake = placed();
    intake
        .state
        .window
        .days
        .iter_mut()
        .for_each(|day| day.date.clear());
    assert_eq!(
        exported(&intake, Lang::En)
            .expect_err("there are no dates")
            .to_string(),
        "day 1 of the schedule has no date; allowed are dates such as 2026-03-02"
    );
    let mut intake = placed();
    place(
        &mut intake.state,
        "Limits of sequences",
        1,
        12,
        PlacementStatus::Suggested,
    );
    assert_eq!(
        exported(&intake, Lang::En)
            .expect_err("there is no section 13")
            .to_string(),
        "\"Limits of sequences\" lies in sections 12 to 13; allowed are those of the section table, \
         in order"
    );
}

#[test]
fn a_schedule_without_placed_items_is_an_empty_calendar() {
    let mut intake = intake();
    intake.state.task_classes = Vec::<TaskClass>::new();
    let written = exported(&intake, Lang::En).expect("there is nothing to refuse");
    assert!(!written.contains("VEVENT"), "{written}");
}

#[test]
fn an_item_ends_after_its_minutes() {
    let mut intake = placed();
    for task in &mut intake.state.tasks {
        if task.name == "Limits of sequences" {
            task.terms.minutes = Some(60);
        }
    }
    let stamp = "2026-02-01T12:00:00Z".parse().expect("a time");
    let options = Export {
        sections: &intake.sections,
        zone: &TimeZone::UTC,
        stamp,
        schedule: "spring",
        lang: Lang::En,
    };
    let text = export(&intake.state, &options).expect("it has dates");
    let event = text
        .split("BEGIN:VEVENT")
        .find(|event| event.contains("Limits of sequences"));
    let event = event.expect("it is placed");
    let begin = event.lines().find_map(|line| line.strip_prefix("DTSTART:"));
    let end = event.lines().find_map(|line| line.strip_prefix("DTEND:"));
    assert_eq!(
        (begin, end),
        (Some("20260302T090000Z"), Some("20260302T100000Z"))
    );
}
