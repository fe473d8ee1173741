//! Input files of the person, and their errors.
use super::work::Work;
use fugato_testkit::assert_contains;

const TASKS: &str = r#"
zone = "Europe/London"
[window]
start = 2054-03-02
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

const ALGEBRA: (&str, &str, &str) = ("Algebra", "20540302T080000", "20540302T093500");

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
}

#[test]
fn a_calendar_is_replaced_each_week_and_asks_before_it_replaces_what_was_kept() {
    let work = with(&calendar(&[ALGEBRA]), TASKS);
    work.ok(&MINE);
    let kept = work.placed();
    // The next timetable, alone: nothing is replaced before somebody agrees.
    let logic = ("Logic", "20540303T080000", "20540303T093500");
    work.write("new.ics", &calendar(&[ALGEBRA, logic]));
    let asked = work.run(&["--courses", "new.ics"]);
    assert!(!asked.well, "{asked:?}");
    assert_contains(
        &asked.told(),
        ["2 items keep their places", "Replace it?", "--yes"],
    );
    assert_eq!(work.placed(), kept);
    let done = work.ok(&["--courses", "new.ics", "--yes"]);
    assert_contains(
        &done,
        ["2 entries and 0 items to be placed were imported", "Logic"],
    );
    assert_eq!(work.placed(), kept);
    // Other items, alone: the conversation goes on with them, and places what is new.
    work.write(
        "my.toml",
        &TASKS.replace("\"Book 2\"", "\"Book 2\", \"Book 3\""),
    );
    let more = work.ok(&["--tasks", "my.toml", "--yes"]);
    assert_contains(&more, ["1 items placed", "Book 3"]);
    assert_eq!(work.events(), 3);
    assert_eq!(work.calendar(), work.schedule());
    // The last import can be taken back.
    let undone = work.ok(&["--undo-import"]);
    assert_contains(&undone, "The last import is taken back.");
    assert!(
        !work
            .read("scheduler-data/default/tasks.toml")
            .contains("Book 3")
    );
    let none = with(&calendar(&[ALGEBRA]), TASKS);
    assert_contains(
        &none.err(&["--undo-import"]),
        "there is no import to take back",
    );
}

#[test]
fn a_timetable_alone_begins_a_conversation() {
    let work = with(&calendar(&[ALGEBRA]), TASKS);
    let said = work.ok(&["--courses", "my.ics", "--yes"]);
    assert_contains(&said, ["nothing of the calendar lies in the window"]);
    assert!(
        work.read("scheduler-data/default/tasks.toml")
            .contains("[window]")
    );
    let items = Work::new();
    items.write("my.toml", TASKS);
    assert_contains(
        &items.ok(&["--tasks", "my.toml", "--yes"]),
        "2 items placed",
    );
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_at_once() {
    let work = with(&calendar(&[ALGEBRA]), TASKS);
    let made = std::process::Command::new("mkfifo")
        .arg(work.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    std::fs::create_dir(work.path("folder")).unwrap();
    for name in ["pipe", "folder"] {
        let error = work.err(&["--courses", name, "--tasks", "my.toml"]);
        assert_contains(&error, [name, "is no file"]);
    }
}

#[test]
fn the_sample_says_that_it_is_one_and_begins_today() {
    let work = Work::new();
    let said = work.ok(&["--yes"]);
    assert_contains(&said, "These are the weeks of a sample, beginning today.");
    let today = jiff::Zoned::now()
        .with_time_zone(jiff::tz::TimeZone::UTC)
        .date();
    let tasks = work.read("scheduler-data/default/tasks.toml");
    let started = [today, today.yesterday().unwrap()];
    assert!(
        started
            .iter()
            .any(|day| tasks.contains(&format!("start = {day}"))),
        "{tasks}"
    );
    let begin = today.yesterday().unwrap().strftime("%Y%m%d").to_string();
    let ics = work.read("scheduler-data/default/schedule.ics");
    for start in ics.lines().filter_map(|line| line.strip_prefix("DTSTART:")) {
        assert!(start >= begin.as_str(), "{start} is before {begin}");
    }
    let zh = Work::new().ok(&["--yes", "--lang", "zh"]);
    assert_contains(&zh, "这是示例日程，从今天开始。");
    let own = with(&calendar(&[ALGEBRA]), TASKS).ok(&MINE);
    assert!(!own.contains("sample"), "{own}");
}

#[test]
fn bad_input_names_the_place_and_what_is_allowed() {
    let good = calendar(&[ALGEBRA]);
    for (courses, tasks, words) in [
        ("no calendar at all", TASKS, &["my.ics"][..]),
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
}

#[test]
fn a_calendar_as_it_is_exported_is_used_and_its_oddities_are_named() {
    let zone = "BEGIN:VTIMEZONE\r\nTZID:Customized Time Zone\r\nBEGIN:STANDARD\r\n\
                DTSTART:16010101T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\n\
                RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\n\
                BEGIN:DAYLIGHT\r\nDTSTART:16010101T020000\r\nTZOFFSETFROM:+0100\r\n\
                TZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nEND:DAYLIGHT\r\n\
                END:VTIMEZONE\r\n";
    let events = [
        ("Physics", "20540302T085000", "20540302T101500"),
        ("Odd", "monday", "20540302T101500"),
        ("Old", "20540303T080000", "20540303T094000"),
        ("New", "20540305T080000", "20540305T094000"),
        ("Abroad", "20540306T110000", "20540306T124000"),
    ];
    let courses = calendar(&[&[ALGEBRA][..], &events].concat())
        .replace("VERSION:2.0\r\n", &format!("VERSION:2.0\r\n{zone}"))
        .replace("UID:Old-20540303T080000", "UID:same\r\nSEQUENCE:1")
        .replace("UID:New-20540305T080000", "UID:same\r\nSEQUENCE:2")
        .replace(
            "DTSTART:20540306",
            "DTSTART;TZID=Customized Time Zone:20540306",
        )
        .replace("DTEND:20540306", "DTEND;TZID=Customized Time Zone:20540306");
    let tasks = TASKS.replace("[window]", "embeddable = [\"Academic Writing\"]\n[window]");
    let said = with(&courses, &tasks).ok(&MINE);
    assert_contains(
        &said,
        [
            "is at the same time as \"Algebra\"",
            "event \"Odd\": `monday` is no time for DTSTART",
            "event \"Old\": the file has a newer version of this event",
            "`embeddable` names \"Academic Writing\", which is not in the calendar",
            "2 items placed",
            "Physics",
            "New",
            "Abroad",
        ],
    );
}

#[test]
fn sch_120_a_failure_is_summed_up_in_the_language_of_the_person() {
    let closed = "excluded_days_of_week = [1, 2, 3, 4, 5, 6, 7]\ntotal_slots = 4";
    let tasks = TASKS.replace("total_slots = 4", closed);
    let work = with(&calendar(&[ALGEBRA]), &tasks);
    let said = work.ok(&MINE);
    assert_contains(&said, ["It cannot be placed", "Reading"]);
    assert!(said.contains("2 still pending"), "{said}");
    let zh = with(&calendar(&[ALGEBRA]), &tasks).ok(&[&MINE[..], &["--lang", "zh"]].concat());
    assert_contains(&zh, ["无法排下：“Reading”：每一天都被排除"]);
    assert!(!zh.contains("excluded"), "{zh}");
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

#[test]
fn a_gap_of_summer_time_and_the_last_years_of_the_calendar_lose_nothing_else() {
    let night = ("Night", "20270327T023000", "20270327T033000");
    let far = ("Far", "99991231T100000", "99991231T230000");
    let courses = calendar(&[night, far])
        .replace("UID:Night", "RRULE:FREQ=DAILY;COUNT=3\r\nUID:Night")
        .replace("DTSTART:2027", "DTSTART;TZID=Europe/Berlin:2027")
        .replace("DTEND:2027", "DTEND;TZID=Europe/Berlin:2027");
    let tasks = TASKS
        .replace("Europe/London", "Europe/Berlin")
        .replace("2054-03-02", "2027-03-22");
    let said = with(&courses, &tasks).ok(&MINE);
    // At half past two there is no such time on the second day, so it begins an hour later.
    assert_contains(
        &said,
        [
            "2027-03-27 02:30",
            "2027-03-28 03:30",
            "event \"Far\": `99991231T100000` is no time for DTSTART",
            "2 items placed",
        ],
    );
    let late = TASKS.replace("2054-03-02", "9999-12-27");
    let error = with(&courses, &late).err(&MINE);
    assert_contains(&error, ["9999-12-27", "allowed are years 1900 to 2200"]);
}
