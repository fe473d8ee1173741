//! Input files of the person, and their errors.
use super::work::Work;
use fugato_testkit::assert_contains;

const TASKS: &str = r#"
zone = "Europe/London"
[window]
start = 2026-03-02
weeks = 1
[[classes]]
name = "Reading"
strategy = "rapid"
total_slots = 4
subject_type = "reading"
difficulty_level = "low"
cognitive_intensity = "low"
items = ["Book 1", "Book 2"]
"#;

fn calendar(events: &[(&str, &str, &str)]) -> String {
    let event = |(name, from, to): &(&str, &str, &str)| {
        format!(
            "BEGIN:VEVENT\r\nUID:{name}-{from}\r\nSUMMARY:{name}\r\nDTSTART:{from}\r\nDTEND:{to}\r\nEND:VEVENT\r\n"
        )
    };
    let events: String = events.iter().map(event).collect();
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n")
}

const ALGEBRA: (&str, &str, &str) = ("Algebra", "20260302T080000", "20260302T093500");

fn with(courses: &str, tasks: &str) -> Work {
    let work = Work::new();
    work.write("my.ics", courses);
    work.write("my.toml", tasks);
    work
}

const MINE: [&str; 5] = ["--yes", "--courses", "my.ics", "--tasks", "my.toml"];

#[test]
fn input_of_ones_own_is_scheduled_and_remembered() {
    let work = with(&calendar(&[ALGEBRA]), TASKS);
    let said = work.ok(&MINE);
    assert_contains(&said, ["2 items placed", "Algebra"]);
    // Later commands need no input, and the same command is no contradiction.
    assert!(work.ok(&[]).contains("Algebra"));
    work.ok(&MINE);
    // Other input is another conversation: this one would not see it.
    work.write("my.toml", &TASKS.replace("Book 2", "Book 3"));
    let error = work.err(&MINE);
    assert_contains(&error, ["my.toml differs", "--thread NAME"]);
    assert!(work.ok(&[]).contains("Book 2"));
}

#[test]
fn bad_input_names_the_place_and_what_is_allowed() {
    let good = calendar(&[ALGEBRA]);
    let zone = good.replace("DTSTART:", "DTSTART;TZID=Middle/Earth:");
    for (courses, tasks, words) in [
        (
            "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n",
            TASKS,
            &["my.ics"][..],
        ),
        ("no calendar at all", TASKS, &["my.ics"]),
        (&zone, TASKS, &["Middle/Earth"]),
        (&good, "[window", &["my.toml"]),
        (
            &good,
            &TASKS.replace("rapid", "hasty"),
            &["my.toml", "rapid"],
        ),
        (
            &good,
            &TASKS.replace("Europe/London", "Mars/Base"),
            &["Mars/Base"],
        ),
    ] {
        let work = with(courses, tasks);
        let error = work.err(&MINE);
        assert!(
            words.iter().all(|word| error.contains(word)),
            "{words:?}: {error}"
        );
        assert!(!work.path("scheduler-data/default/schedule.ics").exists());
    }
    let work = with(&good, TASKS);
    let missing = work.err(&["--courses", "none.ics", "--tasks", "my.toml"]);
    assert!(missing.contains("none.ics"), "{missing}");
    let half = work.err(&["--courses", "my.ics"]);
    assert!(half.contains("--tasks"), "{half}");
}

#[test]
fn overlapping_events_are_named_with_what_can_be_done() {
    let overlap = ("Physics", "20260302T085000", "20260302T101500");
    let work = with(&calendar(&[ALGEBRA, overlap]), TASKS);
    let error = work.err(&MINE);
    assert_contains(
        &error,
        [
            "\"Algebra\" (line 3)",
            "\"Physics\" (line 9)",
            "08:50–09:35",
            "ignore",
        ],
    );
    assert!(!work.path("scheduler-data/default/schedule.ics").exists());
}

#[test]
fn what_does_not_fit_is_said_and_nothing_is_placed() {
    let many: Vec<String> = (1..=60).map(|n| format!("\"Book {n}\"")).collect();
    let tasks = TASKS
        .replace("total_slots = 4", "total_slots = 120")
        .replace("\"Book 1\", \"Book 2\"", &many.join(", "));
    let work = with(&calendar(&[ALGEBRA]), &tasks);
    let said = work.ok(&MINE);
    assert_contains(&said, ["It cannot be placed", "Reading"]);
    assert!(said.contains("60 still pending"), "{said}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let work = Work::new();
    work.write("file", "");
    let error = work.err(&["--yes", "--dir", "file/data"]);
    assert_contains(&error, "cannot make the folder file/data");
    let error = work.err(&["--yes", "--dir", "/proc/scheduler"]);
    assert_contains(&error, "cannot make the folder /proc/scheduler");
}
