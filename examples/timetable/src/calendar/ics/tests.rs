use jiff::civil::date;
use proptest::prelude::*;

use super::*;

const LONDON: &str = "Europe/London";

fn parse(events: &[&str]) -> Result<Calendar, IcsError> {
    let event = |event: &&str| {
        format!(
            "BEGIN:VEVENT
{event}
END:VEVENT
"
        )
    };
    let events = events.iter().map(event).collect::<Vec<_>>().concat();
    Calendar::parse(
        "a.ics",
        format!("BEGIN:VCALENDAR\n{events}END:VCALENDAR\n").as_bytes(),
    )
}

/// Returns the occurrences from March to May 2026, as `name MM-DD HH:MM-HH:MM` on the clock of
/// London.
fn spring(events: &[&str]) -> Vec<String> {
    let home = known(LONDON).expect("an IANA name");
    let calendar = parse(events).expect("the calendar is in order");
    let found = calendar
        .occurrences(date(2026, 3, 1), date(2026, 5, 31), &home)
        .expect("the recurrences are short");
    let line = |one: &Occurrence| {
        let (start, end) = (one.start.strftime("%m-%d %H:%M"), one.end.strftime("%H:%M"));
        format!("{} {start}-{end}", one.name)
            .trim_start()
            .to_owned()
    };
    found.iter().map(line).collect()
}

fn refused(bytes: &[u8]) -> String {
    Calendar::parse("a.ics", bytes)
        .expect_err("the file is broken")
        .to_string()
}

fn refused_event(event: &str) -> String {
    parse(&[event])
        .expect_err("the event is broken")
        .to_string()
}

#[test]
fn what_is_no_calendar_is_refused() {
    let none = "a.ics, line 1: this is no calendar; an iCalendar file starts with BEGIN:VCALENDAR";
    assert_eq!(refused(b""), none);
    assert_eq!(refused(b"\r\n\r\n"), none);
    assert_eq!(refused(b"BEGIN:VCARD\nEND:VCARD\n"), none);
    assert_eq!(refused(b"SUMMARY:x\n"), none);
    assert_eq!(
        refused(b"<html>"),
        "a.ics, line 1: `<html>` is no property; allowed is NAME:VALUE or \
         NAME;PARAMETER=VALUE:VALUE"
    );
    let not_text = "a.ics, line 1: this is no UTF-8 text; save the calendar as an iCalendar file \
                    in UTF-8";
    assert_eq!(refused(b"\x89PNG\r\n\x1a\n\x00\x00"), not_text);
    assert_eq!(refused(b"BEGIN:VCAL\x00ENDAR\n"), not_text);
    assert_eq!(
        refused(
            "BEGIN:VCALENDAR\n"
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<_>>()
                .as_slice()
        ),
        not_text
    );
}

#[test]
fn a_file_that_is_cut_off_or_badly_nested_is_refused() {
    assert_eq!(
        refused(b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x\n"),
        "a.ics, line 2: BEGIN:VEVENT is never closed by END:VEVENT; is the file cut off?"
    );
    assert_eq!(
        refused(b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\n"),
        "a.ics, line 3: END:VCALENDAR closes nothing; allowed here is END:VEVENT"
    );
    assert_eq!(
        refused(b"BEGIN:VCALENDAR\nEND:VCALENDAR\nEND:VCALENDAR\n"),
        "a.ics, line 3: END:VCALENDAR closes nothing; nothing is open"
    );
}

#[test]
fn broken_events_are_refused_with_line_and_name() {
    let cases = [
        (
            "SUMMARY:Gym",
            "line 2, event \"Gym\": the event has no DTSTART; it needs a date or a time at which \
             it starts",
        ),
        (
            "UID:7\nDTSTART:2026-03-02",
            "line 4, event \"7\": `2026-03-02` is no time for DTSTART; allowed are 20260302, \
             20260302T080000 and 20260302T080000Z",
        ),
        (
            "DTSTART:20260302T080000\nDTEND:20260302T070000",
            "line 4: the event ends before it starts",
        ),
        (
            "DTSTART:20260302\nDURATION:one hour",
            "line 4: `one hour` is no duration; allowed are durations such as PT1H30M, P1D and \
             P2W",
        ),
        (
            "SUMMARY:Gym\nDTSTART;TZID=Mars/Base:20260302T080000",
            "line 4, event \"Gym\": the time zone `Mars/Base` is not known; allowed are IANA \
             names such as Europe/Berlin, Windows names such as China Standard Time, and a \
             VTIMEZONE in the file with X-LIC-LOCATION or with one constant offset",
        ),
        (
            "DTSTART:20260302\nRRULE:FREQ=HOURLY",
            "line 4: the recurrence part `FREQ=HOURLY` cannot be followed; allowed is \
             FREQ=DAILY, WEEKLY, MONTHLY or YEARLY",
        ),
        (
            "DTSTART:20260302\nRRULE:FREQ=DAILY;BYHOUR=9",
            "line 4: the recurrence part `BYHOUR=9` cannot be followed; allowed is FREQ, \
             INTERVAL, COUNT, UNTIL, BYDAY, BYMONTHDAY, BYMONTH, BYSETPOS and WKST",
        ),
        (
            "DTSTART:20260302\nRRULE:FREQ=WEEKLY;INTERVAL=0",
            "line 4: the recurrence part `INTERVAL=0` cannot be followed; allowed is a whole \
             number from 1",
        ),
        (
            "DTSTART:20260302\nRRULE:FREQ=WEEKLY;BYDAY=2MO",
            "line 4: the recurrence part `BYDAY=2MO` cannot be followed; allowed is a number \
             before a day only with FREQ=MONTHLY or FREQ=YEARLY",
        ),
        (
            "DTSTART:20260302\nRRULE:FREQ=WEEKLY;UNTIL=summer",
            "line 4: the recurrence part `UNTIL=summer` cannot be followed; allowed is 20260628 \
             or 20260628T155959Z",
        ),
        (
            "DTSTART:20260302\nEXRULE:FREQ=WEEKLY",
            "line 4: EXRULE cannot be followed; allowed is EXDATE with each date",
        ),
        (
            "DTSTART:20260302\nRECURRENCE-ID;RANGE=THISANDFUTURE:20260302",
            "line 4: RANGE=THISANDFUTURE cannot be followed; allowed is RECURRENCE-ID without \
             RANGE, one for each changed occurrence",
        ),
    ];
    for (event, message) in cases {
        assert_eq!(refused_event(event), format!("a.ics, {message}"));
    }
}

#[test]
fn huge_recurrences_are_refused() {
    let event = "SUMMARY:Old\nDTSTART:16000101T080000Z\nRRULE:FREQ=DAILY";
    let calendar = parse(&[event; 4]).expect("the calendar is in order");
    let error = calendar
        .occurrences(date(2026, 3, 1), date(2026, 3, 31), &TimeZone::UTC)
        .expect_err("that is too much");
    assert_eq!(
        error.to_string(),
        "a.ics, line 20, event \"Old\": the recurrences of this file take more than 500000 steps \
         to follow; give the old ones an UNTIL, or a DTSTART near the window"
    );
    let many = "BEGIN:VEVENT\nDTSTART:20260302\nEND:VEVENT\n".repeat(20_001);
    assert_eq!(
        refused(format!("BEGIN:VCALENDAR\n{many}END:VCALENDAR\n").as_bytes()),
        "a.ics, line 60002: the file has more than 20000 events, the most that is read"
    );
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
    let calendar = Calendar::parse("a.ics", text.as_bytes()).expect("it is in order");
    let found = calendar
        .occurrences(date(2026, 3, 2), date(2026, 3, 2), &TimeZone::UTC)
        .expect("nothing recurs");
    assert_eq!(
        found.first().map(|one| one.start),
        Some(date(2026, 3, 2).at(0, 0, 0, 0))
    );
    assert_eq!(
        calendar.zone().and_then(TimeZone::iana_name),
        Some("Asia/Shanghai")
    );
    let unknown = text.replace("China Standard Time", "Nowhere");
    assert!(refused(unknown.as_bytes()).starts_with("a.ics, line 2: the time zone `Nowhere`"));
}

const SAMPLE: &[u8] = include_bytes!("../../../sample/en/courses.ics");
const SAMPLE_ZH: &[u8] = include_bytes!("../../../sample/zh/courses.ics");

/// Reads and expands a file as far as possible; the test is that nothing panics.
fn follow(bytes: &[u8]) -> Option<usize> {
    let calendar = Calendar::parse("a.ics", bytes).ok()?;
    let home = known(LONDON)?;
    let found = calendar
        .occurrences(date(2026, 3, 1), date(2026, 3, 31), &home)
        .ok()?;
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
    fn no_rule_panics(rule in "(FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY))(;(INTERVAL=[0-9]{1,10}|COUNT=[0-9]{1,5}|UNTIL=[0-9]{8}(T[0-9]{6}Z?)?|BYDAY=(-?[0-9]{0,2}(MO|SU|FR),?){1,3}|BYMONTHDAY=-?[0-9]{1,2}|BYMONTH=[0-9]{1,2}|BYSETPOS=-?[0-9]{1,3}|WKST=SU)){0,4}", day in "(1[6-9]|20|89)[0-9]{2}(0[1-9]|1[0-2])[0-3][0-9]") {
        let event = format!("DTSTART:{day}T233000\nDURATION:P1DT2H\nRRULE:{rule}");
        if let Ok(calendar) = parse(&[&event]) {
            let found = calendar.occurrences(date(2026, 3, 1), date(2026, 3, 31), &TimeZone::UTC);
            // At most one starts on a day, and those of two days before still touch the first.
            prop_assert!(found.is_ok_and(|found| found.len() <= 33));
        }
    }
}
