"""Compares occurrences, as JSON on the standard input, with those of recurring-ical-events."""

import collections
import datetime
import json
import sys
import warnings
import zoneinfo
from pathlib import Path

import icalendar
import recurring_ical_events

warnings.simplefilter("ignore")

# Files in which the two differ, the paragraph of RFC 5545 that says so, and the reason.
DIFFERENCES = {
    "tutorials/example.ics": "3.8.4.7: a UID used twice is a mistake of the file; both events stay",
    "calendars/example.ics": "3.8.2.2: DTEND is not after DTSTART; an all-day event takes its day",
    "Germany_Holidays.ics": "3.8.2.2: the same",
    "issue_1633_rdate_with_dates.ics": "3.8.5.2: dates stay dates; the other makes times in UTC",
    "issue_1633_rdate_with_dates_and_tzid.ics": "3.8.5.2: the same",
    "issue_201_mixed_datetime_and_date.ics": "3.8.2.2: DTEND has the type of DTSTART, a date",
    "issue_201_test_matrix.ics": "3.8.2.2: the same",
    "issue_165_missing_event.ics": "3.3.10: the other cannot read a rule with blanks, and drops it",
    "issue_178_custom_component_contains_other.ics": "3.6: an event in an unknown component is read",
    "parsing_error.ics": "3.1: the other drops an event with a broken line",
    "issue_464_invalid_rdate.ics": "3.8.5.2: the other drops an event with a broken RDATE",
    "events/event_with_recurrence.ics": "3.3.5: a floating start is no time in UTC, as EXDATE is",
    "fixtures/recurrence.ics": "3.3.5: the same",
    "issue_28_rrule_with_UTC_endinginZ.ics": "3.3.10: UNTIL has another type; its day is included",
    "issue_75_range_parameter.ics": "3.3.10: UNTIL is a date; that day is included",
    "multiple_rrule.ics": "3.8.5.3: DTSTART counts as the first of COUNT, for each rule",
    "badline.ics": "3.3.5: a time that the clock skips is an hour later; the other keeps it",
    "vobject_0050.ics": "3.8.2.2: the other cannot read DTEND with a blank, and drops the event",
}


def clock(value, zone):
    if not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value if value.tzinfo is None else value.astimezone(zone).replace(tzinfo=None)


def calendars(path):
    """The calendars of a file; events outside of any are put into one."""
    bare, found = icalendar.Calendar(), []
    for component in icalendar.Calendar.from_ical(path.read_bytes(), multiple=True):
        if component.name == "VEVENT":
            bare.add_component(component)
        elif component.name == "VCALENDAR":
            found.append(component)
    return [*found, bare]


def theirs(calendar, window):
    zone = zoneinfo.ZoneInfo(window["zone"])
    day = lambda name: datetime.datetime.fromisoformat(window[name]).replace(tzinfo=zone)
    series = recurring_ical_events.of(calendar, skip_bad_series=True)
    for event in series.between(day("first"), day("last") + datetime.timedelta(days=1)):
        if str(event.get("STATUS", "")).upper() == "CANCELLED":
            continue
        start = clock(event["DTSTART"].dt, zone)
        end = clock(event["DTEND"].dt, zone) if "DTEND" in event else start
        name = str(event.get("SUMMARY", "")).strip()
        yield start.isoformat(), max(start, end).isoformat(), name


def main():
    count = collections.Counter()
    slowest, wrong, differing = (0, ""), [], set()
    for row in map(json.loads, sys.stdin):
        path, read = Path(row["file"]), row["read"]
        count["files"] += 1
        slowest = max(slowest, (row["seconds"], path.name))
        if "error" in read:
            count["without a calendar"] += 1
            if b"BEGIN:VEVENT" in path.read_bytes().upper():
                wrong.append(f"{path} holds an event and is refused: {read['error']}")
            continue
        count["with remarks"] += bool(read["problems"])
        try:
            expected = calendars(path)
        except ValueError:
            count["that the other cannot read"] += 1
            continue
        for window in read["windows"]:
            ours = collections.Counter((start, end, name) for start, end, _, name in window["found"])
            try:
                them = collections.Counter(
                    event for calendar in expected for event in theirs(calendar, window)
                )
            except (AttributeError, KeyError, TypeError):
                count["windows in which the other fails"] += 1
                continue
            count["windows"] += 1
            count["occurrences"] += ours.total()
            if ours == them:
                continue
            known = next((name for name in DIFFERENCES if f"/{path}".endswith(f"/{name}")), None)
            if known:
                count["windows with a listed difference"] += 1
                differing.add(known)
            else:
                only = f"only ours {list(ours - them)[:3]}, only theirs {list(them - ours)[:3]}"
                wrong.append(f"{path}, {window['first']}, {window['zone']}: {only}")
    wrong += [f"{name} does not differ any more" for name in DIFFERENCES if name not in differing]
    for name in sorted(differing):
        print(f"{name} differs by RFC 5545, {DIFFERENCES[name]}")
    print(", ".join(f"{number} {what}" for what, number in count.items()))
    print(f"the slowest file is {slowest[1]}, {slowest[0]:.2f} s")
    if wrong or not count["windows"]:
        sys.exit("\n".join(["", *wrong]))


main()
