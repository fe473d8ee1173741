"""Looks at the files that the scheduler wrote into a folder."""

import json
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

REMEMBERED = ".first-run.json"


def found(folder, name):
    # Its input lies beside its output, so that the name matters.
    files = sorted(folder.rglob(name))
    if not files:
        sys.exit(f"no {name} was written into {folder.resolve()}")
    return files


def placed(folder):
    """What is placed where: the lines of each event that say so."""
    events = []
    for path in found(folder, "schedule.ics"):
        # A line that begins with a blank goes on with the one before it.
        text = path.read_text(encoding="utf-8").replace("\r\n ", "").replace("\n ", "")
        for event in text.split("BEGIN:VEVENT")[1:]:
            lines = event.split("END:VEVENT")[0].splitlines()
            told = [line for line in lines if line.startswith(("UID", "DTSTART", "DTEND"))]
            events.append(sorted(told))
    if not events:
        sys.exit("the calendar that was written holds no event")
    return sorted(events)


def remember(folder):
    pictures = found(folder, "schedule.svg")
    for picture in pictures:
        xml.parse(picture)
    (folder / REMEMBERED).write_text(json.dumps(placed(folder)), encoding="utf-8")


def check(folder):
    first = json.loads((folder / REMEMBERED).read_text(encoding="utf-8"))
    second = placed(folder)
    if first != second:
        sys.exit(f"the second run changed what was placed\nfirst:  {first}\nsecond: {second}")
    print(f"{len(second)} events are placed once and stay where they were")


def import_calendar(folder):
    import icalendar

    for path in found(folder, "schedule.ics"):
        calendar = icalendar.Calendar.from_ical(path.read_bytes())
        uids = [str(event["UID"]) for event in calendar.walk("VEVENT")]
        if not uids or len(uids) != len(set(uids)):
            sys.exit(f"{path.name}: {len(uids)} events with {len(set(uids))} names")
        print(f"{path.name}: {len(uids)} events were imported")


if __name__ == "__main__":
    command, folder = sys.argv[1], Path(sys.argv[2])
    {"remember": remember, "check": check, "import": import_calendar}[command](folder)
