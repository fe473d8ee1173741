//! The sample, moved to the present.
use jiff::{
    ToSpan as _,
    civil::{Date, date},
};
use scheduler::{calendar::Lang, transfer::SAMPLE};

const FILES: [(Lang, &str, &str); 2] = [
    (
        Lang::En,
        include_str!("../../../timetable/sample/en/courses.ics"),
        include_str!("../../../timetable/sample/en/tasks.toml"),
    ),
    (
        Lang::Zh,
        include_str!("../../../timetable/sample/zh/courses.ics"),
        include_str!("../../../timetable/sample/zh/tasks.toml"),
    ),
];

/// The Monday on which the weeks of the files begin.
const BEGIN: Date = date(2026, 3, 2);

/// Returns the timetable and the class file of the sample, whose weeks begin today: all dates are
/// moved by whole weeks, and the window leaves out the days that are over.
pub(crate) fn sample(lang: Lang, today: Date) -> (String, String) {
    let (_, courses, tasks) = FILES
        .iter()
        .find(|(of, ..)| *of == lang)
        .unwrap_or(&FILES[0]);
    let past = i32::from(today.weekday().to_monday_zero_offset());
    let monday = today.checked_sub(past.days()).unwrap_or(today);
    let days = (monday - BEGIN).get_days();
    let tasks = moved(tasks, days);
    let window = format!("start = {monday}");
    // A week that has begun is short, so there is one more.
    let weeks = if past == 0 { 4 } else { 5 };
    let tasks = tasks
        .replacen(&window, &format!("start = {today}"), 1)
        .replacen("weeks = 4", &format!("weeks = {weeks}"), 1);
    (
        moved(courses, days),
        format!("{SAMPLE}: not your own weeks.\n{tasks}"),
    )
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
    use jiff::tz::TimeZone;
    use scheduler::{
        calendar::{Calendar, Classes, import, language},
        schedule::rough_build::rough_build,
    };

    use super::*;

    #[test]
    fn the_sample_of_any_day_begins_then_and_fits() {
        for lang in [Lang::En, Lang::Zh] {
            for n in (0..371).step_by(5) {
                let today = date(2026, 11, 23).checked_add(n.days()).unwrap();
                let (courses, tasks) = sample(lang, today);
                let calendar = Calendar::parse("courses.ics", courses.as_bytes()).unwrap();
                let classes = Classes::parse("tasks.toml", tasks.as_bytes()).unwrap();
                let intake = import(&calendar, &classes, &TimeZone::UTC, language(lang));
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
    fn dates_are_moved_and_nothing_else() {
        let text = "DTSTART;TZID=Europe/London:20260302T110000 start = 2026-03-02 2026 年";
        let week = "DTSTART;TZID=Europe/London:20260309T110000 start = 2026-03-09 2026 年";
        assert_eq!(moved(text, 7), week);
    }
}
