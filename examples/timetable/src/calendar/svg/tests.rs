use jiff::tz::TimeZone;

use crate::calendar::{Classes, IcsCalendar, import};
use crate::schedule::{PlacementStatus, Slot};

use super::*;

const COURSES: &[u8] = include_bytes!("../../../sample/zh/courses.ics");
const TASKS: &[u8] = include_bytes!("../../../sample/zh/tasks.toml");

fn place(state: &mut ScheduleState, name: &str, day: u16, slot_start: u8) {
    let task = state
        .tasks
        .iter_mut()
        .find(|task| task.name == name)
        .expect("it is in the sample");
    task.slots = vec![Slot {
        day,
        slot_start,
        slot_end: slot_start + 1,
    }];
    task.status = PlacementStatus::Suggested;
}

/// Returns two schedules with three placed items; in the second, one item is in another place and
/// one is inside a course.
fn pair() -> (ScheduleState, ScheduleState) {
    let calendar = IcsCalendar::parse("courses.ics", COURSES).expect("the sample is in order");
    let classes = Classes::parse("tasks.toml", TASKS).expect("the sample is in order");
    let intake = import(&calendar, &classes, &TimeZone::UTC, Lang::Zh);
    let mut before = intake.state;
    place(&mut before, "极限与连续", 1, 5);
    place(&mut before, "质点运动学", 1, 7);
    let mut after = before.clone();
    place(&mut after, "质点运动学", 3, 3);
    place(&mut after, "精读 Unit 1", 4, 7);
    let host = after
        .tasks
        .iter()
        .find(|task| task.can_embed)
        .map(|task| task.state_id);
    let guest = after
        .tasks
        .iter_mut()
        .find(|task| task.name == "精读 Unit 1");
    guest.expect("it is in the sample").embed_host = host;
    (before, after)
}

fn drawn(title: &str, (before, after): &(ScheduleState, ScheduleState)) -> String {
    let sections = Sections::default();
    Picture {
        title,
        sections: &sections,
        lang: Lang::Zh,
    }
    .draw(before, after)
}

#[test]
fn what_moved_is_outlined_where_it_lies_and_where_it_lay() {
    let (before, after) = pair();
    let outlines = |svg: &str| {
        let dashed = svg.matches("stroke-dasharray").count();
        // The legend has one of each.
        (
            dashed - 1,
            svg.matches("stroke-width=\"2.2\"").count() - dashed - 1,
        )
    };
    assert_eq!(outlines(&drawn("周", &(before.clone(), after))), (1, 1));
    assert_eq!(outlines(&drawn("周", &(before.clone(), before))), (0, 0));
}

#[test]
fn each_week_is_drawn_once_two_in_a_row() {
    let (before, after) = pair();
    let weeks = after
        .window
        .days
        .iter()
        .map(|day| day.week)
        .max()
        .unwrap_or(0);
    let svg = drawn("周", &(before, after));
    let titles = (1..=weeks).map(|week| svg.matches(&format!(">第 {week} 周<")).count());
    assert_eq!(titles.sum::<usize>(), usize::from(weeks));
    let rows = u32::from(weeks).div_ceil(COLUMNS);
    let height = TOP + rows * (WEEK_TITLE + Panel::height(12)) + MARGIN;
    assert!(svg.contains(&format!("height=\"{height}\"")), "{svg:.200}");
}

#[test]
fn names_cannot_break_the_picture() {
    let (mut before, after) = pair();
    for task in &mut before.tasks {
        task.name = "</title><script>\u{1}&\"".to_owned();
    }
    let svg = drawn("<&>", &(before, after));
    assert!(!svg.contains("<script") && !svg.contains('\u{1}'));
    assert!(svg.contains("<title>&lt;&amp;&gt;</title>"));
}

#[test]
fn places_outside_of_the_day_are_not_drawn() {
    let (mut before, mut after) = pair();
    let blocks = |svg: String| svg.matches("<g>").count();
    let whole = blocks(drawn("周", &(before.clone(), after.clone())));
    let outside = vec![
        Slot {
            day: 1,
            slot_start: 0,
            slot_end: 2,
        },
        Slot {
            day: 1,
            slot_start: 12,
            slot_end: 13,
        },
        Slot {
            day: 1,
            slot_start: 5,
            slot_end: 3,
        },
    ];
    for state in [&mut before, &mut after] {
        let mut tasks = state.tasks.iter_mut();
        let task = tasks.find(|task| task.name == "极限与连续");
        task.expect("it is in the sample")
            .slots
            .clone_from(&outside);
    }
    assert_eq!(blocks(drawn("周", &(before, after))), whole - 1);
}
