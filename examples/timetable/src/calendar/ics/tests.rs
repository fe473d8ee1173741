use jiff::civil::date;
use proptest::prelude::*;

use super::*;
use crate::calendar::Lang;

const LONDON: &str = "Europe/London";

/// Returns the file of a calendar with these events.
pub(crate) fn file(events: &[&str]) -> String {
    let events = events
        .iter()
        .map(|event| format!("BEGIN:VEVENT\n{event}\nEND:VEVENT\n"));
    let events: String = events.collect();
    format!("BEGIN:VCALENDAR\n{events}END:VCALENDAR\n")
}

fn parse(events: &[&str]) -> Result<IcsCalendar, IcsError> {
    IcsCalendar::parse("a.ics", file(events).as_bytes())
}

/// Returns the occurrences from March to May 2026, as `name MM-DD HH:MM-HH:MM` on the clock of
/// London.
fn spring(events: &[&str]) -> Vec<String> {
    let home = known(LONDON).expect("an IANA name");
    let calendar = parse(events).expect("the calendar is in order");
    let (found, long) = calendar.occurrences(date(2026, 3, 1), date(2026, 5, 31), &home);
    assert_eq!(long, []);
    let line = |one: &Occurrence| {
        let (start, end) = (one.start.strftime("%m-%d %H:%M"), one.end.strftime("%H:%M"));
        format!("{} {start}-{end}", one.name)
            .trim_start()
            .to_owned()
    };
    found.iter().map(line).collect()
}

fn refused(bytes: &[u8]) -> String {
    IcsCalendar::parse("a.ics", bytes)
        .expect_err("the file is broken")
        .to_string()
}

/// Returns what is noted about the events of a calendar, without the name of the file.
fn noted(events: &[&str]) -> Vec<String> {
    let calendar = parse(events).expect("it is a calendar");
    let problems = calendar.problems().iter();
    problems.map(|problem| problem.say(Lang::En)).collect()
}

const GOOD: &str = "SUMMARY:Good\nDTSTART:20260302T080000";

#[test]
fn what_is_no_calendar_is_refused() {
    let none = "a.ics, line 1: this is no calendar; an iCalendar file starts with BEGIN:VCALENDAR";
    let utf_16: Vec<u8> = "BEGIN:VCALENDAR\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for bytes in [
        &b""[..],
        b"\r\n\r\n",
        b"BEGIN:VCARD\nEND:VCARD\n",
        b"SUMMARY:x\n",
        b"<html>",
        b"\x89PNG\r\n\x1a\n\x00\x00",
        &utf_16,
    ] {
        assert_eq!(refused(bytes), none);
    }
}

#[test]
fn a_file_that_is_cut_off_or_badly_nested_is_read_as_far_as_it_goes() {
    let read = |text: &str| {
        let calendar = IcsCalendar::parse("a.ics", text.as_bytes()).expect("it is a calendar");
        let (found, _) = calendar.occurrences(date(2026, 3, 1), date(2026, 5, 31), &TimeZone::UTC);
        let problems = calendar.problems().iter().map(IcsError::to_string);
        (found.len(), problems.collect::<Vec<_>>())
    };
    let cut = format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\n{GOOD}\n");
    let unclosed = |kind: &str, line| {
        format!(
            "a.ics, line {line}: BEGIN:{kind} is never closed by END:{kind}; is the file cut off?; \
             this line is ignored"
        )
    };
    assert_eq!(
        read(&cut),
        (1, vec![unclosed("VCALENDAR", 1), unclosed("VEVENT", 2)])
    );
    assert_eq!(
        read(&format!("{cut}END:VALARM\nEND:VCALENDAR\n")),
        (
            1,
            vec![
                unclosed("VEVENT", 2),
                "a.ics, line 5: END:VALARM closes nothing; this line is ignored".to_owned(),
            ]
        )
    );
    let bare = format!("BEGIN:VEVENT\n{GOOD}\nEND:VEVENT\n");
    assert_eq!(read(&bare), (1, vec![]));
}

#[test]
fn an_odd_event_or_line_costs_only_itself() {
    let cases = [
        (
            "SUMMARY:Gym",
            "line 2, event \"Gym\": the event has no DTSTART; it needs a date or a time at which \
             it starts; the entry is left out",
        ),
        (
            "UID:7\nDTSTART:2026-03-02",
            "line 4, event \"7\": `2026-03-02` is no time for DTSTART; allowed are 20260302, \
             20260302T080000 and 20260302T080000Z; the entry is left out",
        ),
        (
            "DTSTART:20260302\nDURATION:one hour",
            "line 4: `one hour` is no duration; allowed are durations such as PT1H30M, P1D and \
             P2W; the entry is left out",
        ),
        (
            "DTSTART:20260302\nRRULE:FREQ=WEEKLY;UNTIL=summer",
            "line 4: the recurrence `FREQ=WEEKLY;UNTIL=summer` cannot be followed: UNTIL is not \
             written as 20260628 or 20260628T155959Z; the entry is left out",
        ),
        (
            "DTSTART:20260302\nRRULE:FREQ=WEEKLY;COUNT=0",
            "line 4: the recurrence `FREQ=WEEKLY;COUNT=0` cannot be followed: COUNT is no whole \
             number from 1; the entry is left out",
        ),
    ];
    for (event, message) in cases {
        assert_eq!(noted(&[event, GOOD]), [message]);
        assert_eq!(spring(&[event, GOOD]), ["Good 03-02 08:00-08:00"]);
    }
    for rule in [
        "FREQ=FORTNIGHTLY",
        "FREQ=WEEKLY;BYDAY=XX",
        "BYDAY=MO",
        "FREQ=DAILY;WHEN=9",
    ] {
        let event = format!("DTSTART:20260302\nRRULE:{rule}");
        let start = format!("line 4: the recurrence `{rule}` cannot be followed: ");
        let notes = noted(&[&event, GOOD]);
        assert!(
            matches!(&notes[..], [one] if one.starts_with(&start)),
            "{notes:?}"
        );
        assert_eq!(spring(&[&event, GOOD]), ["Good 03-02 08:00-08:00"]);
    }
    let event = "SUMMARY:Gym\nX-APPLE BROKEN\nDTSTART:20260302T080000\nRRULE:\n\
                 EXDATE:tomorrow,20260303\nRDATE:20260304T080000/-PT1H";
    assert_eq!(spring(&[event]), ["Gym 03-02 08:00-08:00"]);
    assert_eq!(
        noted(&[event]),
        [
            "line 4: `X-APPLE BROKEN` is no property; allowed is NAME:VALUE or \
             NAME;PARAMETER=VALUE:VALUE; this line is ignored",
            "line 6, event \"Gym\": `RRULE:` is no property; allowed is NAME:VALUE or \
             NAME;PARAMETER=VALUE:VALUE; this line is ignored",
            "line 7, event \"Gym\": `tomorrow` is no time for EXDATE; allowed are 20260302, \
             20260302T080000 and 20260302T080000Z; this line is ignored",
            "line 8, event \"Gym\": `-PT1H` is no time for RDATE; allowed are 20260302, \
             20260302T080000 and 20260302T080000Z; this line is ignored",
        ]
    );
}

#[test]
fn a_swapped_start_and_an_unknown_zone_are_read_all_the_same() {
    let swapped = "SUMMARY:Gym\nDTSTART:20260302T080000\nDTEND:20260302T070000";
    assert_eq!(spring(&[swapped]), ["Gym 03-02 07:00-08:00"]);
    assert_eq!(
        noted(&[swapped]),
        [
            "line 2, event \"Gym\": the event ends before it starts; the two are read the other \
             way round"
        ]
    );
    let far = "SUMMARY:Gym\nDTSTART;TZID=Mars/Base:20260302T080000";
    assert_eq!(spring(&[far, far]), ["Gym 03-02 08:00-08:00"; 2]);
    assert_eq!(
        noted(&[far, far]),
        [
            "line 4: the time zone `Mars/Base` is neither known nor defined in the file; its \
             times are read as local ones"
        ]
    );
}

#[test]
fn problems_are_told_in_chinese_too() {
    let calendar = parse(&["SUMMARY:体育\nRRULE:FREQ=DAILY"]).expect("it is a calendar");
    let problems = calendar.problems().iter();
    assert_eq!(
        problems.map(|one| one.say(Lang::Zh)).collect::<Vec<_>>(),
        ["第 2 行，日程“体育”：缺少 DTSTART，不知道何时开始；该日程未导入"]
    );
}

#[test]
fn huge_recurrences_cost_their_event() {
    let event = "SUMMARY:Old\nDTSTART:16000101T080000Z\nRRULE:FREQ=DAILY";
    let calendar = parse(&[event; 4]).expect("the calendar is in order");
    let (found, long) = calendar.occurrences(date(2026, 3, 1), date(2026, 3, 31), &TimeZone::UTC);
    assert_eq!(found.len(), 3 * 31);
    let long: Vec<String> = long.iter().map(IcsError::to_string).collect();
    assert_eq!(
        long,
        [
            "a.ics, line 20, event \"Old\": the recurrences of this file take more than 500000 \
          steps to follow; give the old ones an UNTIL, or a DTSTART near the window; the entry is \
          left out"
        ]
    );
    let many = "BEGIN:VEVENT\nDTSTART:20260302\nEND:VEVENT\n".repeat(20_001);
    assert_eq!(
        refused(format!("BEGIN:VCALENDAR\n{many}END:VCALENDAR\n").as_bytes()),
        "a.ics, line 60002: the file has more than 20000 events, the most that is read"
    );
}

#[test]
fn rules_of_every_kind_are_followed() {
    let starts = |rule: &str| {
        let event = format!("DTSTART:20260302T080000\nRRULE:{rule}");
        spring(&[&event])
            .join(", ")
            .replace("-08:00", "")
            .replace("-09:00", "")
    };
    for (rule, expected) in [
        (
            "FREQ=DAILY;BYHOUR=8,9;COUNT=3",
            "03-02 08:00, 03-02 09:00, 03-03 08:00",
        ),
        (
            "FREQ=YEARLY;BYWEEKNO=10,11;BYDAY=MO",
            "03-02 08:00, 03-09 08:00",
        ),
        ("FREQ=YEARLY;BYYEARDAY=61,-215", "03-02 08:00, 05-31 08:00"),
        (
            "FREQ=WEEKLY;COUNT=-1;UNTIL=20260310",
            "03-02 08:00, 03-09 08:00",
        ),
        ("FREQ=DAILY\\;COUNT=2", "03-02 08:00, 03-03 08:00"),
        (
            "freq=weekly;byday=MO, WE;until=20260305",
            "03-02 08:00, 03-04 08:00",
        ),
        (
            "FREQ=WEEKLY;BYDAY=WE;COUNT=3",
            "03-02 08:00, 03-04 08:00, 03-11 08:00",
        ),
        (
            "FREQ=MONTHLY;BYDAY=1MO,-1MO;COUNT=3",
            "03-02 08:00, 03-30 08:00, 04-06 08:00",
        ),
        (
            "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1;COUNT=2",
            "03-02 08:00, 03-31 08:00",
        ),
        (
            "FREQ=WEEKLY;INTERVAL=2;COUNT=3;BYDAY=SU,MO;WKST=SU",
            "03-02 08:00, 03-15 08:00, 03-16 08:00",
        ),
        (
            "FREQ=HOURLY;INTERVAL=12;COUNT=2",
            "03-02 08:00, 03-02 20:00-20:00",
        ),
    ] {
        assert_eq!(starts(rule), expected, "{rule}");
    }
    let without = "DTSTART:20260302T080000\nRRULE:FREQ=DAILY;COUNT=5\nEXRULE:FREQ=DAILY;INTERVAL=2";
    assert_eq!(
        spring(&[without]),
        ["03-03 08:00-08:00", "03-05 08:00-08:00"]
    );
}

#[test]
fn until_in_utc_is_compared_with_the_clock_of_the_event() {
    let event = "DTSTART;TZID=Asia/Shanghai:20260302T080000\n\
                 RRULE:FREQ=DAILY;UNTIL=20260303T000000Z";
    assert_eq!(spring(&[event]), ["03-02 00:00-00:00", "03-03 00:00-00:00"]);
}

#[test]
fn the_highest_sequence_counts() {
    let version = |sequence: u8, more: &str| {
        format!(
            "UID:a\nSEQUENCE:{sequence}\nSUMMARY:v{sequence}\nDTSTART:20260302T080000\n\
             RRULE:FREQ=WEEKLY;COUNT=2{more}"
        )
    };
    let [old, new] = [version(1, ""), version(2, "\nEXDATE:20260309T080000")];
    assert_eq!(spring(&[&old, &new]), ["v2 03-02 08:00-08:00"]);
    assert_eq!(
        noted(&[&new, &old]),
        [
            "line 10, event \"v1\": the file has a newer version of this event, with a higher \
             SEQUENCE; the entry is left out"
        ]
    );
    // A change of an occurrence that the newer version no longer has goes with it.
    let change = "UID:a\nSEQUENCE:1\nRECURRENCE-ID:20260309T080000\nDTSTART:20260310T080000";
    assert_eq!(spring(&[change, &new]), ["v2 03-02 08:00-08:00"]);
    assert_eq!(
        spring(&[change, change, &old]),
        ["03-10 08:00-08:00", "v1 03-02 08:00-08:00"]
            .map(str::to_owned)
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_change_may_be_of_all_later_occurrences() {
    let series =
        "UID:a\nSUMMARY:Old\nDTSTART:20260302T080000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=4";
    let change = "UID:a\nSUMMARY:New\nRECURRENCE-ID;RANGE=THISANDFUTURE:20260316T080000\n\
                  DTSTART:20260317T100000\nDURATION:PT2H";
    assert_eq!(
        spring(&[series, change]),
        [
            "Old 03-02 08:00-09:00",
            "Old 03-09 08:00-09:00",
            "New 03-17 10:00-12:00",
            "New 03-24 10:00-12:00",
        ]
    );
}

#[test]
fn a_start_that_the_clock_skips_is_an_hour_later_and_so_is_its_end() {
    let event = "DTSTART;TZID=Europe/London:20260328T013000\nDURATION:PT1H\n\
                 RRULE:FREQ=DAILY;COUNT=3";
    assert_eq!(
        spring(&[event]),
        [
            "03-28 01:30-02:30",
            "03-29 02:30-03:30",
            "03-30 01:30-02:30"
        ]
    );
}

#[test]
fn a_floating_exception_is_read_on_the_clock_of_the_event() {
    let zoned = "DTSTART;TZID=Asia/Tokyo:20260302T200000\nRRULE:FREQ=DAILY;COUNT=2\n\
                 EXDATE:20260303T200000";
    assert_eq!(spring(&[zoned]), ["03-02 11:00-11:00"]);
    let floating = "DTSTART:20260302T200000\nRRULE:FREQ=DAILY;COUNT=2\nEXDATE:20260303T200000Z";
    assert_eq!(spring(&[floating]), ["03-02 20:00-20:00"]);
}

#[test]
fn ends_and_durations_may_be_missing() {
    assert_eq!(
        spring(&["DTSTART;VALUE=DATE:20260302"]),
        ["03-02 00:00-00:00"]
    );
    assert_eq!(spring(&["DTSTART:20260302T080000"]), ["03-02 08:00-08:00"]);
    assert_eq!(
        spring(&["DTSTART:20260302T080000\nDURATION:PT90M"]),
        ["03-02 08:00-09:30"]
    );
    assert_eq!(
        spring(&["DTSTART;VALUE=DATE:20260302\nDTEND;VALUE=DATE:20260302"]),
        ["03-02 00:00-00:00"]
    );
}

#[test]
fn an_event_that_began_before_the_window_is_seen() {
    assert_eq!(
        spring(&["DTSTART:20260228T200000\nDURATION:PT8H"]),
        ["02-28 20:00-04:00"]
    );
    assert_eq!(
        spring(&["DTSTART:20260228T200000\nDURATION:PT4H"]),
        [] as [&str; 0]
    );
}

#[test]
fn exceptions_extra_dates_and_overrides_are_followed() {
    let master = "UID:a\nSUMMARY:Seminar\nDTSTART;TZID=Europe/London:20260302T100000\n\
                  DTEND;TZID=Europe/London:20260302T110000\nRRULE:FREQ=WEEKLY;COUNT=6\n\
                  EXDATE;TZID=Europe/London:20260309T100000,20260316T100000\n\
                  RDATE;TZID=Europe/London:20260304T100000\n\
                  RDATE;VALUE=PERIOD:20260305T100000Z/PT30M,20260306T100000Z/20260306T103000Z";
    let moved = "UID:a\nSUMMARY:Seminar, moved\nRECURRENCE-ID:20260323T100000Z\n\
                 DTSTART;TZID=Europe/London:20260324T150000\nDURATION:PT1H";
    let cancelled = "UID:a\nSUMMARY:Seminar\nRECURRENCE-ID;VALUE=DATE:20260330\n\
                     STATUS:CANCELLED\nDTSTART;TZID=Europe/London:20260330T100000";
    assert_eq!(
        spring(&[master, moved, cancelled]),
        [
            "Seminar 03-02 10:00-11:00",
            "Seminar 03-04 10:00-11:00",
            "Seminar 03-05 10:00-10:30",
            "Seminar 03-06 10:00-10:30",
            "Seminar, moved 03-24 15:00-16:00",
            "Seminar 04-06 10:00-11:00",
        ]
    );
    let gone = "UID:b\nSTATUS:CANCELLED\nDTSTART:20260302T100000\nRRULE:FREQ=DAILY";
    assert_eq!(spring(&[gone]), [] as [&str; 0]);
}

#[test]
fn a_change_of_the_clock_moves_only_what_is_in_another_zone() {
    // London changes on 29 March, New York on 8 March.
    let at = |zone: &str| {
        let event = format!(
            "DTSTART;TZID={zone}:20260301T150000\nDURATION:PT1H\n\
             RRULE:FREQ=WEEKLY;BYDAY=SU;COUNT=5"
        );
        spring(&[&event])
    };
    assert_eq!(
        at("Europe/London"),
        [
            "03-01 15:00-16:00",
            "03-08 15:00-16:00",
            "03-15 15:00-16:00",
            "03-22 15:00-16:00",
            "03-29 15:00-16:00",
        ]
    );
    assert_eq!(
        at("Eastern Standard Time"),
        [
            "03-01 20:00-21:00",
            "03-08 19:00-20:00",
            "03-15 19:00-20:00",
            "03-22 19:00-20:00",
            "03-29 20:00-21:00",
        ]
    );
    let utc = "DTSTART:20260328T150000Z\nDTEND:20260328T160000Z\nRRULE:FREQ=DAILY;COUNT=2";
    assert_eq!(spring(&[utc]), ["03-28 15:00-16:00", "03-29 16:00-17:00"]);
}

#[test]
fn a_zone_of_the_file_is_used() {
    let text = "BEGIN:VCALENDAR\nX-WR-TIMEZONE:China Standard Time\nBEGIN:VTIMEZONE\nTZID:Campus\n\
                BEGIN:STANDARD\nTZOFFSETFROM:+0800\nTZOFFSETTO:+0800\nEND:STANDARD\n\
                END:VTIMEZONE\nBEGIN:VEVENT\nDTSTART;TZID=Campus:20260302T080000\n\
                BEGIN:VALARM\nTRIGGER:-PT10M\nDURATION:nonsense\nEND:VALARM\nEND:VEVENT\n\
                END:VCALENDAR";
    let calendar = IcsCalendar::parse("a.ics", text.as_bytes()).expect("it is in order");
    let (found, _) = calendar.occurrences(date(2026, 3, 2), date(2026, 3, 2), &TimeZone::UTC);
    assert_eq!(
        found.first().map(|one| one.start),
        Some(date(2026, 3, 2).at(0, 0, 0, 0))
    );
    assert_eq!(
        calendar.zone().and_then(TimeZone::iana_name),
        Some("Asia/Shanghai")
    );
    let unknown = text.replace("China Standard Time", "Nowhere");
    let calendar = IcsCalendar::parse("a.ics", unknown.as_bytes()).expect("it is a calendar");
    assert_eq!(calendar.zone(), None);
    let problems = calendar.problems().iter().map(IcsError::to_string);
    assert_eq!(
        problems.collect::<Vec<_>>(),
        [
            "a.ics, line 2: the time zone `Nowhere` is neither known nor defined in the file; its \
             times are read as local ones"
        ]
    );
}

#[test]
fn a_zone_of_the_file_may_have_summer_time() {
    let part = |kind: &str, month: u8, from: &str, to: &str| {
        format!(
            "BEGIN:{kind}\nDTSTART:16010101T020000\nTZOFFSETFROM:{from}\nTZOFFSETTO:{to}\n\
             RRULE:FREQ=YEARLY;BYMONTH={month};BYDAY=-1SU\nEND:{kind}\n"
        )
    };
    let zone = format!(
        "BEGIN:VTIMEZONE\nTZID:GMT +0100 (Standard) / GMT +0200 (Daylight)\n{}{}END:VTIMEZONE\n",
        part("STANDARD", 10, "+0200", "+0100"),
        part("DAYLIGHT", 3, "+0100", "+0200"),
    );
    let event = "BEGIN:VEVENT\n\
                 DTSTART;TZID=\"GMT +0100 (Standard) / GMT +0200 (Daylight)\":20260327T090000\n\
                 RRULE:FREQ=DAILY;COUNT=4\nEND:VEVENT\n";
    let text = format!("BEGIN:VCALENDAR\n{zone}{event}END:VCALENDAR\n");
    let calendar = IcsCalendar::parse("a.ics", text.as_bytes()).expect("it is in order");
    assert_eq!(calendar.problems(), []);
    let (found, _) = calendar.occurrences(date(2026, 3, 1), date(2026, 4, 30), &TimeZone::UTC);
    let starts = found
        .iter()
        .map(|one| one.start.strftime("%d %H").to_string());
    assert_eq!(
        starts.collect::<Vec<_>>(),
        ["27 08", "28 08", "29 07", "30 07"]
    );
}

const SAMPLE: &[u8] = include_bytes!("../../../sample/en/courses.ics");
const SAMPLE_ZH: &[u8] = include_bytes!("../../../sample/zh/courses.ics");

/// Reads and expands a file as far as possible; the test is that nothing panics.
fn follow(bytes: &[u8]) -> Option<usize> {
    let calendar = IcsCalendar::parse("a.ics", bytes).ok()?;
    let home = known(LONDON)?;
    let (found, _) = calendar.occurrences(date(2026, 3, 1), date(2026, 3, 31), &home);
    assert!(found.iter().all(|one| one.start <= one.end));
    Some(found.len())
}

#[test]
fn the_samples_can_be_followed() {
    assert_eq!(follow(SAMPLE), Some(39));
    assert_eq!(follow(SAMPLE_ZH), Some(46));
}

proptest! {
    #[test]
    fn no_mutation_of_a_calendar_panics(
        chinese: bool,
        edits in prop::collection::vec((0_usize..6_000, any::<u8>(), 0_usize..4), 1..12),
    ) {
        let mut bytes = if chinese { SAMPLE_ZH } else { SAMPLE }.to_vec();
        for (place, byte, kind) in edits {
            let place = place % bytes.len().max(1);
            match kind {
                0 => bytes.insert(place, byte),
                1 => { bytes.remove(place); }
                2 => bytes.truncate(place.max(1)),
                // A digit in the place of another reaches further than a random byte.
                _ => if let Some(old) = bytes.get_mut(place) { *old = b'0' + byte % 10; },
            }
            if bytes.is_empty() { break; }
        }
        follow(&bytes);
    }

    #[test]
    fn no_rule_panics(
        rule in "FREQ=(HOURLY|DAILY|WEEKLY|MONTHLY|YEARLY)(;(INTERVAL=[0-9]{1,5}|COUNT=-?[0-9]{1,5}|\
                 UNTIL=[0-9]{8}(T[0-9]{6}Z?)?|BYDAY=(-?[0-9]{0,2}(MO|SU|FR),?){1,3}|BYHOUR=[0-9]{1,2}|\
                 BYMONTHDAY=-?[0-9]{1,2}|BYMONTH=[0-9]{1,2}|BYWEEKNO=-?[0-9]{1,2}|\
                 BYYEARDAY=-?[0-9]{1,3}|BYSETPOS=-?[0-9]{1,3}|WKST=SU)){0,4}",
        noise in "[ -~]{0,12}",
        day in "(1[6-9]|20|89)[0-9]{2}(0[1-9]|1[0-2])[0-3][0-9]",
    ) {
        for rule in [format!("{rule}{noise}"), noise, rule] {
            let event = format!("DTSTART:{day}T233000\nDURATION:P1DT2H\nRRULE:{rule}");
            let calendar = parse(&[&event]).expect("it is a calendar");
            let (found, _) =
                calendar.occurrences(date(2026, 3, 1), date(2026, 3, 31), &TimeZone::UTC);
            prop_assert!(found.iter().all(|one| one.start.date() <= date(2026, 3, 31)));
        }
    }
}
