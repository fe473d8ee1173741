//! A term with many items ends in a card, and what does not fit is accounted for.
use std::fmt::Write as _;

use fugato_testkit::{assert_contains, assert_lacks, share};
use jiff::{ToSpan as _, Zoned, civil::Date};

use super::work::Work;

const WEEKS: i32 = 18;

/// Returns the Monday after today.
fn monday() -> Date {
    let today = Zoned::now().date();
    let ahead = 7 - today.weekday().to_monday_zero_offset();
    today.checked_add(ahead.days()).unwrap()
}

/// Writes a term with 20 course sessions a week.
fn courses(work: &Work, start: Date) {
    const TIMES: [(&str, &str); 4] = [
        ("080000", "094000"),
        ("100000", "114000"),
        ("140000", "154000"),
        ("160000", "174000"),
    ];
    let mut ics = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:test\r\n".to_owned();
    for day in 0..5 {
        let date = start.checked_add(day.days()).unwrap().strftime("%Y%m%d");
        for (nth, (from, to)) in TIMES.iter().enumerate() {
            write!(
                ics,
                "BEGIN:VEVENT\r\nUID:{day}-{nth}\r\nSUMMARY:Course {day}{nth}\r\n\
                 DTSTART:{date}T{from}\r\nDTEND:{date}T{to}\r\n\
                 RRULE:FREQ=WEEKLY;COUNT={WEEKS}\r\nEND:VEVENT\r\n"
            )
            .unwrap();
        }
    }
    work.write("term.ics", &(ics + "END:VCALENDAR\r\n"));
}

/// Returns a class of the file.
fn class(name: &str, items: usize, more: &str) -> String {
    let items: Vec<String> = (1..=items).map(|n| format!("\"{name} {n}\"")).collect();
    format!(
        "[[classes]]\nname = \"{name}\"\nsubject_type = \"quantitative\"\n\
         difficulty_level = \"high\"\ncognitive_intensity = \"high\"\n{more}items = [{}]\n",
        items.join(", ")
    )
}

/// Writes the classes of a term.
fn classes(work: &Work, start: Date, classes: &[String]) {
    let window = format!("[window]\nstart = {start}\nweeks = {WEEKS}\n");
    work.write("term.toml", &(window + &classes.concat()));
}

fn load(items: usize) -> Work {
    let (work, start) = (Work::new(), monday());
    courses(&work, start);
    let named = ["Algebra", "History", "Physics", "Law", "Biology"];
    classes(
        &work,
        start,
        &named.map(|name| class(name, items / named.len(), "")),
    );
    work
}

const FILES: [&str; 5] = ["--courses", "term.ics", "--tasks", "term.toml", "--yes"];

#[test]
fn sch_61_many_items_end_in_a_card_that_yes_agrees_to() {
    for items in [150, 300].into_iter().step_by(share()) {
        let work = load(items);
        let said = work.ok(&FILES);
        assert_contains(
            &said,
            [
                &*format!("{items} placed, 0 moved, 0 taken out, 0 still pending"),
                "Shall I keep this schedule?",
                "It is stored in the calendar.",
            ],
        );
        assert_eq!(work.events(), items);
    }
}

#[test]
fn sch_52_items_beyond_the_room_are_named_with_four_choices_and_the_rest_is_kept() {
    let work = load(500);
    // Nobody agreed: nothing is kept.
    let asked = work.ok(&["--courses", "term.ics", "--tasks", "term.toml"]);
    assert_contains(
        &asked,
        [
            "396 placed, 0 moved, 0 taken out, 104 still pending",
            "104 of 500 items do not fit",
            "(1) extend the window",
            "(2) relax constraints",
            "(3) reduce the scope",
            "(4) accept the risk",
        ],
    );
    assert!(!work.path("scheduler-data/default/schedule.ics").exists());
    let said = work.ok(&["--yes"]);
    assert_contains(&said, "It is stored in the calendar.");
    assert_eq!(work.events(), 396);
}

#[test]
fn sch_52_one_impossible_item_does_not_spoil_the_others() {
    let (work, start) = (Work::new(), monday());
    courses(&work, start);
    let closed = "excluded_days_of_week = [1, 2, 3, 4, 5, 6, 7]\n";
    let impossible = class("Impossible", 1, closed);
    classes(&work, start, &[class("Algebra", 9, ""), impossible]);
    let said = work.ok(&FILES);
    assert_contains(
        &said,
        [
            "9 placed, 0 moved, 0 taken out, 1 still pending",
            "1 of 10 items do not fit",
            "Impossible: 1 of 1",
            "every day of its weeks is excluded",
            "It is stored in the calendar.",
        ],
    );
    assert_lacks(&said, "I had to stop");
    assert_eq!(work.events(), 9);
}

/// Returns the first times of all events of the calendar file.
fn starts(work: &Work) -> Vec<String> {
    let ics = work.read("scheduler-data/default/schedule.ics");
    let lines = ics.lines().filter_map(|line| line.strip_prefix("DTSTART"));
    lines
        .filter_map(|line| line.rsplit(':').next())
        .map(|time| time.trim_end_matches('Z').to_owned())
        .collect()
}

#[test]
fn nothing_is_planned_before_now_in_weeks_that_have_begun() {
    let work = Work::new();
    let start = monday().checked_sub(21.days()).unwrap();
    courses(&work, start);
    classes(
        &work,
        start,
        &[
            class("Algebra", 20, ""),
            class("Law", 20, "strategy = \"rapid\"\n"),
        ],
    );
    let now = Zoned::now().in_tz("UTC").unwrap();
    let begun = now.strftime("%Y%m%dT%H%M%S").to_string();
    assert_contains(&work.ok(&FILES), "40 placed");
    let starts = starts(&work);
    assert_eq!(starts.len(), 40);
    let past: Vec<&String> = starts.iter().filter(|start| **start < begun).collect();
    assert_eq!(past, [""; 0], "it is {begun}");
}

#[test]
fn what_cannot_lie_in_the_future_is_said() {
    let (work, start) = (Work::new(), monday());
    courses(&work, start);
    let yesterday = Zoned::now().date().checked_sub(1.days()).unwrap();
    let late = class("Late", 3, &format!("end_date = {yesterday}\n"));
    let begin = start.checked_sub(28.days()).unwrap();
    classes(&work, begin, &[class("Algebra", 4, ""), late]);
    let said = work.ok(&FILES);
    assert_contains(
        &said,
        [
            "4 placed, 0 moved, 0 taken out, 3 still pending",
            "Late: 3 of 3, because all its days are over",
        ],
    );
    // Weeks that are over take nothing at all.
    let over = Work::new();
    courses(&over, start);
    let long_ago = start.checked_sub(400.days()).unwrap();
    classes(&over, long_ago, &[class("Algebra", 4, "")]);
    assert_contains(&over.ok(&FILES), "“Algebra”: all its days are over");
}

#[test]
fn late_evenings_and_weekends_are_used_last_and_why_names_what_forced_them() {
    let work = load(10);
    work.ok(&FILES);
    let (starts, monday) = (starts(&work), monday());
    let day = |start: &String| {
        let date: Date = start.split('T').next().unwrap().parse().unwrap();
        (date - monday).get_days() % 7
    };
    // Courses end at 17:40, so every weekday has two evening blocks, and weekends are empty.
    let odd = |start: &&String| start[9..].parse::<u32>().unwrap() >= 200_000 || day(start) > 4;
    let odd: Vec<&String> = starts.iter().filter(odd).collect();
    assert_eq!(odd, [""; 0]);
    let why = work.ok(&["--request", "why is Algebra 1 there?"]);
    assert_contains(
        &why,
        [
            "The place costs 4 points: in the evening (4).",
            "Cheaper places are closed: ",
            "taken by courses",
            "It could also lie on ",
        ],
    );
    let zh = work.ok(&["--request", "为什么 Algebra 1 排在那天？"]);
    assert_contains(&zh, ["这个位置的代价是 4 分：在晚上（4）", "被课程占用"]);
}
