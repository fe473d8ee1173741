use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use crate::calendar::{Classes, IcsCalendar, Intake, import};
use crate::schedule::Slot;

use super::*;

fn sample(lang: Lang) -> Intake {
    let (courses, tasks): (&[u8], &[u8]) = lang.pick(
        (
            include_bytes!("../../../sample/en/courses.ics"),
            include_bytes!("../../../sample/en/tasks.toml"),
        ),
        (
            include_bytes!("../../../sample/zh/courses.ics"),
            include_bytes!("../../../sample/zh/tasks.toml"),
        ),
    );
    let calendar = IcsCalendar::parse("courses.ics", courses).expect("the sample is in order");
    let classes = Classes::parse("tasks.toml", tasks).expect("the sample is in order");
    import(&calendar, &classes, &TimeZone::UTC, lang)
}

/// Places the first items of two classes, the second inside the course that allows it.
fn placed(lang: Lang) -> Intake {
    let mut intake = sample(lang);
    let tasks = &mut intake.state.tasks;
    let host = tasks
        .iter()
        .find(|task| task.can_embed)
        .cloned()
        .expect("the sample has one");
    let mut place = |class: u32, slot: Slot, host: Option<u32>| {
        let task = tasks
            .iter_mut()
            .find(|task| task.task_class_id == Some(class));
        let task = task.expect("the class has items");
        task.slots = vec![slot];
        task.status = PlacementStatus::Suggested;
        task.embed_host = host;
    };
    place(
        1,
        Slot {
            day: 2,
            slot_start: 5,
            slot_end: 5,
        },
        None,
    );
    place(
        4,
        *host.slots.first().expect("it has a place"),
        Some(host.state_id),
    );
    intake
}

fn drawn(lang: Lang, width: u16) -> String {
    let intake = placed(lang);
    let table = WeekTable {
        sections: &intake.sections,
        lang,
        width,
    };
    table.draw(&intake.state, 1)
}

#[test]
fn an_english_week_is_drawn() {
    assert_eq!(drawn(Lang::En, 110), include_str!("week.en.txt"));
}

#[test]
fn a_chinese_week_is_drawn() {
    assert_eq!(drawn(Lang::Zh, 100), include_str!("week.zh.txt"));
}

#[test]
fn every_line_of_a_chinese_table_is_equally_wide() {
    for width in [60, 80, 100, 140] {
        let text = drawn(Lang::Zh, width);
        let lines = text
            .lines()
            .filter(|line| line.starts_with(['┌', '│', '├', '╞', '└']));
        let widths: Vec<usize> = lines.map(UnicodeWidthStr::width).collect();
        let first = widths.first().copied().expect("the table has lines");
        assert!(first <= usize::from(width));
        assert!(widths.iter().all(|&width| width == first), "{text}");
    }
}

#[test]
fn the_weeks_of_the_window_are_listed() {
    assert_eq!(WeekTable::weeks(&sample(Lang::En).state), [1, 2, 3, 4]);
}
