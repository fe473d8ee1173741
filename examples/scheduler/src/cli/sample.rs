//! The sample, moved to the present.
use jiff::{
    ToSpan as _,
    civil::{Date, DateTime, date},
    tz::TimeZone,
};
use scheduler::{calendar::Lang, transfer::SAMPLE};

/// The files of each language, and the zone that they name.
const FILES: [(Lang, &str, &str, &str); 2] = [
    (
        Lang::En,
        include_str!("../../../timetable/sample/en/courses.ics"),
        include_str!("../../../timetable/sample/en/tasks.toml"),
        "Europe/London",
    ),
    (
        Lang::Zh,
        include_str!("../../../timetable/sample/zh/courses.ics"),
        include_str!("../../../timetable/sample/zh/tasks.toml"),
        "Asia/Shanghai",
    ),
];

/// The Monday on which the weeks of the files begin.
const BEGIN: Date = date(2026, 3, 2);

/// Returns the timetable and the class file of the sample, whose weeks begin today: all dates are
/// moved by whole weeks, the window leaves out the days that are over, and all times are local.
pub(crate) fn sample(lang: Lang, today: Date) -> (String, String) {
    let (_, courses, tasks, zone) = FILES
        .iter()
        .find(|(of, ..)| *of == lang)
        .unwrap_or(&FILES[0]);
    let past = i32::from(today.weekday().to_monday_zero_offset());
    let monday = today.checked_sub(past.days()).unwrap_or(today);
    let days = (monday - BEGIN).get_days();
    let tasks = moved(tasks, days);
    let named = format!("zone = {zone:?}");
    let window = format!("start = {monday}");
    // A week that has begun is short, so there is one more.
    let weeks = if past == 0 { 4 } else { 5 };
    let tasks = tasks
        .replacen(&window, &format!("start = {today}"), 1)
        .replacen("weeks = 4", &format!("weeks = {weeks}"), 1)
        .replacen(&named, &format!("# {named}"), 1);
    (
        moved(&local(courses, zone), days),
        format!("{SAMPLE}: not your own weeks.\n{tasks}"),
    )
}

/// Returns a timetable whose times are the same ones on the clock of whoever reads it, wherever that
/// is: a sample of another country is over or not yet begun at the wrong hour.
fn local(courses: &str, zone: &str) -> String {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    let lines = courses
        .lines()
        .filter(|line| !line.starts_with("X-WR-TIMEZONE:"));
    let lines = lines.map(|line| {
        if line.starts_with("DTSTAMP") {
            return line.to_owned();
        }
        let mut line = line.to_owned();
        if let Some((head, (_, times))) = line
            .split_once(";TZID=")
            .and_then(|(head, tail)| Some((head, tail.split_once(':')?)))
        {
            line = format!("{head}:{times}");
        }
        let universal = line.find('Z').and_then(|end| {
            let text = line.get(end.checked_sub(15)?..end)?;
            let time = DateTime::strptime("%Y%m%dT%H%M%S", text).ok()?;
            let at = TimeZone::UTC.to_timestamp(time).ok()?;
            Some((format!("{text}Z"), zone.to_datetime(at)))
        });
        match universal {
            Some((text, at)) => line.replacen(&text, &at.strftime("%Y%m%dT%H%M%S").to_string(), 1),
            None => line,
        }
    });
    lines.map(|line| line + "\r\n").collect()
}

/// Moves each date of the year of the sample by some days.
fn moved(text: &str, days: i32) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("2026") {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let read = [(8, "%Y%m%d"), (10, "%Y-%m-%d")]
            .into_iter()
            .find_map(|(length, form)| {
                let text = found.get(..length)?;
                let date = Date::strptime(form, text).ok()?;
                let moved = date.checked_add(days.days()).ok()?;
                Some((length, moved.strftime(form).to_string()))
            });
        let (length, date) = read.unwrap_or_else(|| (4, "2026".to_owned()));
        out.push_str(&date);
        rest = found.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use scheduler::{
        calendar::{Classes, IcsCalendar, import, language},
        schedule::rough_build::rough_build,
    };

    use super::*;

    #[test]
    fn the_sample_of_any_day_begins_then_and_fits() {
        for lang in [Lang::En, Lang::Zh] {
            for n in (0..371).step_by(5) {
                let today = date(2026, 11, 23).checked_add(n.days()).unwrap();
                let (courses, tasks) = sample(lang, today);
                let calendar = IcsCalendar::parse("courses.ics", courses.as_bytes()).unwrap();
                let classes = Classes::parse("tasks.toml", tasks.as_bytes()).unwrap();
                let here = TimeZone::get(if n % 2 == 0 { "UTC" } else { "Asia/Tokyo" }).unwrap();
                let intake = import(&calendar, &classes, &here, language(lang));
                assert_eq!(intake.zone, here);
                let told = intake
                    .remarks
                    .iter()
                    .map(|remark| remark.say(language(lang)));
                let told: String = told.collect();
                assert!(
                    !told.contains("same time") && !told.contains("重叠"),
                    "{told}"
                );
                let state = intake.state;
                let first = state.window.days.first().unwrap();
                assert_eq!(first.date, today.to_string());
                let ids: Vec<u32> = state.task_classes.iter().map(|class| class.id).collect();
                let built = rough_build(&state, &ids);
                let built = built.unwrap_or_else(|error| panic!("{today}: {error}"));
                assert_eq!(built.placements.len(), 21, "{today}");
            }
        }
    }

    #[test]
    fn times_are_those_of_the_clock_on_the_wall() {
        for (line, local_line) in [
            (
                "DTSTART;TZID=Asia/Shanghai:20260302T080000",
                "DTSTART:20260302T080000",
            ),
            ("DTSTART:20260309T080000Z", "DTSTART:20260309T160000"),
            (
                "RRULE:FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20260628T155959Z",
                "RRULE:FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20260628T235959",
            ),
            ("DTSTAMP:20260220T010000Z", "DTSTAMP:20260220T010000Z"),
            ("SUMMARY:Zoology", "SUMMARY:Zoology"),
        ] {
            assert_eq!(local(line, "Asia/Shanghai"), format!("{local_line}\r\n"));
        }
        assert_eq!(local("X-WR-TIMEZONE:Asia/Shanghai", "Asia/Shanghai"), "");
    }

    #[test]
    fn dates_are_moved_and_nothing_else() {
        let text = "DTSTART;TZID=Europe/London:20260302T110000 start = 2026-03-02 2026 年";
        let week = "DTSTART;TZID=Europe/London:20260309T110000 start = 2026-03-09 2026 年";
        assert_eq!(moved(text, 7), week);
    }
}
